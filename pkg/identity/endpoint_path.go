package identity

import (
	"strings"
)

// settlePath takes in the endpoint flag or variable.
func (p *Process) settlePath() {
	syntax := p.Module.Syntax
	if syntax == NoEndpoint {
		return
	}
	v := p.Told(FlagEndpoint)
	if !v.Told() || v.Text == "" && v.Sure == Proven && p.Module.EmptyEndpoint && syntax != BareName {
		return
	}
	p.Path = v
	text := v.raw
	if v.Sure == Proven && !syntax.wellFormed(text) {
		p.Malformed = true
		if syntax != TargetPath {
			p.Endpoint = Value{}
		}
		if syntax == FullPath || syntax == SchemePath {
			p.Component = Value{}
		}
		return
	}
	switch syntax {
	case BareName:
		if !p.Told(FlagStage).Told() {
			p.Endpoint = v
		}
		return
	case TargetPath:
		p.settleTarget(text)
		return
	}
	namespace, component, endpoint, ok := syntax.splitPath(text)
	if !ok {
		p.Namespace, p.Component, p.Endpoint, p.Registered = v.part(""), v.part(""), v.part(""), ""
		return
	}
	p.Namespace, p.Component, p.Endpoint = v.part(namespace), v.part(component), v.part(endpoint)
	p.Registered = p.Namespace.Text
	if s := p.Suffix.Text; s != "" && p.Registered != "" {
		p.Namespace.Text = strings.TrimSuffix(p.Registered, "-"+s)
	}
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
