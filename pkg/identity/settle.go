package identity

import (
	"strconv"

	"github.com/dynawire/dynawire/pkg/wiring"
)

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
	unsure := p.Told(FlagConfig).Told() && !p.Told(FlagMode).Told() // the mode may stand in the file
	for i := range m.Roles {
		rule := &m.Roles[i]
		why, applies := p.applies(rule)
		if why.Told() && why.Sure == Unknown {
			unsure = true
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
	if unsure {
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
