package identity

import (
	"strconv"
	"strings"

	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// Process is what one container runs, as far as discovery is concerned.
type Process struct {
	Container *pod.Container
	// At is the container.
	At Field
	// Module is nil where the command is no module that the table knows.
	Module  *Module
	Release Release

	// Namespace is what the process is told: by an endpoint path, a flag or a variable, without a worker suffix. Nothing
	// where it would take what the mutation gives it, or the default.
	Namespace Value
	// Registered is the full namespace that goes with Namespace: with the suffix, where one is appended.
	Registered string
	// Suffix is DYN_NAMESPACE_WORKER_SUFFIX where the module appends it.
	Suffix Value
	// Component, Endpoint and Role are what the process is told, else its module's default.
	Component, Endpoint, Role Value
	// Path is the endpoint flag or variable as it was written; Malformed tells that the module does not take it.
	Path      Value
	Malformed bool

	// Runtime: it starts a Dynamo runtime.
	Runtime bool
	// Registers: it writes metadata for an endpoint of its own.
	Registers bool
	// Follower: a rank that serves nothing, or that only the running pod knows.
	Follower bool
	// Lost are words of the container that never reach the module, because they stand behind a shell string that does not
	// use them.
	Lost []string
	// ReadyAlone: /health becomes 200 without DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS.
	ReadyAlone bool

	env    environment
	tuning wiring.Tuning
	given  []given
}

// Variable is what the container or its command sets a variable to.
func (p *Process) Variable(name string) Value {
	text, ok := p.env.get(name)
	if !ok {
		return Value{}
	}
	return p.value(Env, p.At.Env(name), name, text)
}

// Told is what a flag, or the variable behind it, says.
func (p *Process) Told(f Flag) Value {
	if g := p.flag(f); g != nil {
		at := p.At.Args()
		if g.inCommand {
			at = p.At.Command()
		}
		v := p.value(Argument, at, g.name, g.value)
		if g.open {
			v.Text, v.Sure = "", Unknown
		}
		if g.value != "" || f != FlagNamespace { // an empty --namespace falls back to the variable
			return v
		}
	}
	if p.Module == nil {
		return Value{}
	}
	for i := range p.Module.Flags {
		if name := &p.Module.Flags[i]; name.Flag == f && name.Env != "" {
			if v := p.Variable(name.Env); v.Told() && !p.mirrors(f, name.Env) {
				return v
			}
		}
	}
	return Value{}
}

// flag is the last occurrence of a flag; nil where it is not given.
func (p *Process) flag(f Flag) *given {
	for i := len(p.given) - 1; i >= 0; i-- {
		if p.given[i].flag == f {
			return &p.given[i]
		}
	}
	return nil
}

// mirrors reports whether the variable behind a flag takes the very label that the flag's value becomes, which the pod
// does not have yet: it says nothing by itself.
func (p *Process) mirrors(f Flag, name string) bool {
	switch f {
	case FlagNamespace, FlagNamespacePrefix:
		return p.env.mirrors(name, wiring.LabelNamespace)
	case FlagComponent:
		return p.env.mirrors(name, wiring.LabelComponent)
	}
	return false
}

// Switch reports whether a flag without a value is on, and what says so.
func (p *Process) Switch(f Flag) (Value, bool) {
	v := p.Told(f)
	if g := p.flag(f); g != nil {
		return v, !g.off
	}
	switch strings.ToLower(v.Text) {
	case "1", "true", "yes", "on":
		return v, true
	}
	return v, false
}

func (p *Process) value(how How, at Field, name, text string) Value {
	v := Value{Text: text, How: how, Sure: Proven, Field: at, Name: name, raw: text}
	if isHidden(text) || hasVariable(text) {
		v.Text, v.Sure = "", Unknown
	}
	return v
}

// settleOpen takes back the defaults of a process that may have more arguments than can be read.
func (p *Process) settleOpen() {
	unread := Value{How: Argument, Field: p.At.Args()}
	for _, v := range [...]*Value{&p.Component, &p.Endpoint, &p.Role} {
		if v.How == ModuleDefault {
			*v = unread
		}
	}
	if !p.Namespace.Told() || p.Namespace.How == Env {
		p.Namespace, p.Registered = unread, ""
	}
	p.ReadyAlone = false
}

// begin sets the process up before its command is read.
func (p *Process) begin(env environment, c *pod.Container, at Field) {
	env.c = c
	p.Container, p.At, p.env = c, at, env
	p.Release = ReleaseOf(c.Image)
}

// read reads the container's command; false where it is no module that the table knows.
func (p *Process) read(ns wiring.Settings) bool {
	var buf [64]string
	if !p.readWords(buf[:0]) {
		return false
	}
	given := p.env.namespace
	if p.Module.Namespace != OwnNamespace {
		// $(DYN_NAMESPACE) stands for nothing where the mutation does not give the process DYN_NAMESPACE.
		p.reread("", buf[:0])
	}
	if p.Module.Namespace == Scope && !p.TellsScope() && exactScope(p.env.pod, ns) {
		if p.reread(given, buf[:0]); p.TellsScope() {
			p.reread("", buf[:0])
		}
	}
	return true
}

// reread reads the command again with another value of DYN_NAMESPACE, where the command depends on that.
func (p *Process) reread(namespace string, buf []string) {
	p.env.namespace = namespace
	if p.env.used {
		p.readWords(buf)
	}
}

// readWords reads the command with what is known of the environment.
func (p *Process) readWords(buf []string) bool {
	words := p.env.words(buf)
	inv := p.env.recognise(words, len(p.Container.Command), nil, 0)
	if inv.module == nil {
		return false
	}
	p.Module = inv.module
	p.env.set, p.env.cleared, p.Lost = inv.set, inv.cleared, inv.lost
	var open bool
	p.given, open = inv.module.flags(inv.words, inv.fromCommand)
	p.settle()
	if open {
		p.settleOpen()
	}
	return true
}

// settleUnrecognised takes what a program of the user's own is told in Dynamo's variables.
func (p *Process) settleUnrecognised() {
	if !p.mirrors(FlagNamespace, wiring.EnvNamespace) {
		p.Namespace = p.Variable(wiring.EnvNamespace)
	}
	if !p.mirrors(FlagComponent, wiring.EnvComponent) {
		p.Component = p.Variable(wiring.EnvComponent)
	}
	p.Registered = p.Namespace.Text
	if text := p.env.pod.Metadata.Annotations[wiring.AnnotationEndpoint]; text != "" {
		p.Endpoint = Value{
			Text: text, How: Annotation, Sure: Proven, Name: wiring.AnnotationEndpoint,
			Field: Field{kind: annotationField, key: wiring.AnnotationEndpoint},
		}
	}
}

// settle derives what the module makes of its arguments and its environment.
func (p *Process) settle() {
	m := p.Module
	p.Runtime, p.Registers, p.ReadyAlone = m.Runtime, m.Registers, m.ReadyAlone
	p.settleRole()
	p.settleRank()
	p.Endpoint = byDefault(m.Endpoint)
	if m.Suffix {
		p.Suffix = p.Variable(wiring.EnvWorkerSuffix)
	}
	if v := p.Told(FlagComponent); v.Told() {
		p.Component = v
	}
	p.settleNamespace()
	p.settlePath()
}

// byDefault is a module's own choice; nothing where it has none.
func byDefault(text string) Value {
	if text == "" {
		return Value{}
	}
	return Value{Text: text, How: ModuleDefault, Sure: Default}
}

// settleRole finds the component and the role that the flags ask for.
func (p *Process) settleRole() {
	m := p.Module
	p.Role, p.Component = byDefault(m.Role), byDefault(m.Component)
	if len(m.Roles) == 0 {
		if v := p.Told(FlagStage); v.Told() {
			p.Component = Value{} // the stage's name is in a file
		}
		return
	}
	inFile := p.Told(FlagConfig).Told() && !p.Told(FlagMode).Told()
	for i := range m.Roles {
		rule := &m.Roles[i]
		why, applies := p.applies(rule)
		if why.Told() && why.Sure == Unknown {
			inFile = true
			break
		}
		if !applies {
			continue
		}
		if rule.Component != "" {
			p.Component = byDefault(rule.Component)
		}
		if rule.Role != "" {
			p.Role = Value{Text: rule.Role, How: why.How, Sure: Proven, Field: why.Field, Name: why.Name}
		}
		p.ReadyAlone = p.ReadyAlone && !rule.Mute
		return
	}
	if inFile {
		p.Role, p.Component, p.ReadyAlone = Value{}, Value{}, false
	}
}

// applies reports whether a rule's flag is given, and what gives it. What gives it may be unreadable.
func (p *Process) applies(rule *RoleRule) (Value, bool) {
	if p.Release.Before(rule.From.Major, rule.From.Minor) {
		return Value{}, false
	}
	if rule.Value != "" {
		v := p.Told(rule.Flag)
		return v, v.Text == rule.Value
	}
	v, on := p.Switch(rule.Flag)
	if v.How == Env && rule.EnvBefore.Known() && !p.Release.Before(rule.EnvBefore.Major, rule.EnvBefore.Minor) {
		return Value{}, false
	}
	return v, on
}

// settleRank finds out whether this is a rank that serves nothing.
func (p *Process) settleRank() {
	if _, on := p.Switch(FlagHeadless); on {
		p.Runtime, p.Registers, p.Follower = false, false, true
		return
	}
	rank := p.Told(FlagNodeRank)
	if !rank.Told() {
		return
	}
	if rank.Sure == Unknown {
		p.Follower = true
		return
	}
	if n, err := strconv.Atoi(rank.Text); err == nil && n > 0 {
		p.Registers, p.Follower = false, true
	}
}

// settleNamespace finds the namespace that a flag or a variable gives; an endpoint path comes later and wins.
func (p *Process) settleNamespace() {
	v := p.Told(FlagNamespace)
	switch p.Module.Namespace {
	case NoNamespace:
		return
	case FlagNamespaceOnly:
		if !v.Told() {
			v = byDefault(wiring.DefaultNamespace)
		}
	case Scope:
		if v.Told() && v.Text == "" && v.Sure == Proven {
			v = Value{} // empty is unset: the frontend sees all
		}
		if prefix := p.Told(FlagNamespacePrefix); !v.Told() && (prefix.Text != "" || prefix.Sure == Unknown) {
			v = prefix
		}
	case TargetNamespace:
		if v.Sure == Proven && v.Text == "" || p.Release.Before(1, 5) {
			v = Value{}
		}
	}
	p.Namespace, p.Registered = v, v.Text
	if v.Text != "" && p.Suffix.Told() {
		p.Registered = ""
		if p.Suffix.Sure == Proven {
			p.Registered = withSuffix(v.Text, p.Suffix.Text)
		}
	}
}

func withSuffix(namespace, suffix string) string {
	if suffix == "" {
		return namespace
	}
	return namespace + "-" + suffix
}

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
