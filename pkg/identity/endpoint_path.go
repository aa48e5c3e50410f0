package identity

import (
	"strings"

	"github.com/dynawire/dynawire/pkg/wiring"
)

// settlePath takes in the endpoint flag or variable.
func (p *Process) settlePath() {
	syntax := p.Module.Syntax
	if syntax == NoEndpoint {
		return
	}
	v := p.Told(FlagEndpoint)
	if !v.Told() || v.Text == "" && v.Sure == Proven && p.Module.EmptyEndpoint && !syntax.isName() {
		if syntax == SchemePath {
			p.settleFolded()
		}
		return
	}
	p.Path = v
	text := v.raw
	if v.Sure == Proven && !syntax.wellFormed(text) {
		p.Malformed = true
		p.settleMalformed(v)
		return
	}
	switch {
	case syntax.isName():
		if !p.Told(FlagStage).Told() {
			p.Endpoint = v
		}
		return
	case syntax == TargetPath:
		p.settleTarget(text)
		return
	}
	namespace, component, endpoint, ok := syntax.splitPath(text)
	if !ok || v.Unread() != "" { // what was meant for one part may be meant for another
		p.Namespace, p.Component, p.Endpoint, p.Registered = v.part(""), v.part(""), v.part(""), ""
		return
	}
	p.settleParts(v, namespace, component, endpoint)
}

// settleParts takes the three parts of a path.
func (p *Process) settleParts(v Value, namespace, component, endpoint string) {
	p.Namespace, p.Component, p.Endpoint = v.part(namespace), v.part(component), v.part(endpoint)
	p.Registered = p.Namespace.Text
	p.Namespace.Text = p.withoutSuffix(p.Registered)
}

// withoutSuffix is a namespace as the label has it.
func (p *Process) withoutSuffix(namespace string) string {
	if p.Suffix.Text == "" || namespace == "" {
		return namespace
	}
	return strings.TrimSuffix(namespace, "-"+p.Suffix.Text)
}

// settleMalformed is what becomes of a path that the module does not take: nothing that it could name is known, for the
// process ends. The mocker's runtime goes on with something else.
func (p *Process) settleMalformed(v Value) {
	syntax := p.Module.Syntax
	if path, schemed := strings.CutPrefix(v.raw, scheme); schemed && syntax == SchemePath {
		p.Folded = true
		namespace, component, endpoint := fold(path)
		p.settleParts(v, namespace, component, endpoint)
		return
	}
	if syntax != TargetPath {
		p.Endpoint = Value{}
	}
	if syntax == FullPath || syntax == SchemePath {
		p.Component = Value{}
	}
}

// settleFolded does what the mocker does without --endpoint: it makes a path of its namespace, and an empty one or one
// with a separator in it makes other parts. Namespace stays what the process is told.
func (p *Process) settleFolded() {
	v := p.Namespace
	if !v.Told() {
		v = Value{How: Env, Field: p.At.Env(wiring.EnvNamespace), Name: wiring.EnvNamespace}
	}
	whole := p.unfolded(p.env.namespace)
	if v.Sure == Unknown && p.Namespace.Told() || !refolds(whole) {
		return
	}
	part := func(v Value) string {
		if v.Known() {
			return v.Text
		}
		return hidden
	}
	namespace, component, endpoint := fold(whole + "." + part(p.Component) + "." + part(p.Endpoint))
	p.Folded = true
	p.Component, p.Endpoint = v.part(component), v.part(endpoint)
	if p.Namespace.Told() {
		p.Registered = v.part(namespace).Text
	}
}

// refolds reports whether a namespace does not stay one part of the path that the mocker makes of it.
func refolds(namespace string) bool {
	return namespace == "" || strings.ContainsAny(namespace, "./") || namespace[0] == ' '
}

// settleTarget takes a router's own namespace from its target's, where DYN_NAMESPACE does not come first.
func (p *Process) settleTarget(text string) {
	if p.Namespace.Told() {
		return
	}
	namespace, _, _, ok := p.Module.Syntax.splitPath(text)
	if ok {
		p.Namespace = p.Path.part(namespace)
		p.Registered = p.Namespace.Text
		return
	}
	p.Namespace = p.Path.part("")
}

// part is a piece of a value: known where it has no variable in it, even if the rest has.
func (v Value) part(text string) Value {
	v.Text, v.Sure = text, Proven
	if text == "" || hasVariable(text) || isHidden(text) {
		v.Text, v.Sure = "", Unknown
	}
	return v
}
