package identity

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/dynawire/dynawire/pkg/wiring"
)

// settle derives what the module makes of its arguments and its environment.
func (p *Process) settle() {
	m := p.Module
	p.Runtime, p.Registers, p.ReadyAlone = m.Runtime, m.Registers, m.ReadyAlone
	p.settleRole()
	p.settleRank()
	p.Endpoint = byDefault(m.Endpoint)
	if m.Suffix != NoSuffix {
		p.Suffix = p.Variable(wiring.EnvWorkerSuffix)
	}
	if v := p.Told(FlagComponent); v.Told() {
		p.Component = v
	}
	p.settleNamespace()
	p.settlePath()
	p.settleRefused()
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
		p.Role, p.ReadyAlone = Value{}, false
		for i := range m.Roles {
			if m.Roles[i].Component != "" {
				p.Component = Value{}
			}
		}
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
	if config := p.configured(); config.Told() {
		v = config
	}
	switch p.Module.Namespace {
	case NoNamespace:
		return
	case FlagNamespaceOnly, OwnNamespace:
		if !v.Told() && (p.Module.Namespace == FlagNamespaceOnly || !p.reaches(wiring.EnvNamespace)) {
			v = byDefault(wiring.DefaultNamespace) // the mutation cannot give it another
		}
	case Scope:
		if v.Told() && v.Text == "" && v.Sure == Proven {
			v = Value{} // empty is unset: the frontend sees all
		}
		if prefix := p.Told(FlagNamespacePrefix); prefix.Text != "" || prefix.Told() && prefix.Sure == Unknown { // it wins
			v = prefix
		}
	case TargetNamespace:
		if v.Sure == Proven && v.Text == "" || p.Release.Before(1, 5) {
			v = Value{}
		}
	}
	p.Namespace, p.Registered = v, v.Text
	p.settleSuffix()
}

// settleSuffix finds the full namespace that goes with what a flag or a variable gives.
func (p *Process) settleSuffix() {
	v := p.Namespace
	if v == (Value{}) || v.Sure == Unknown || !p.Suffix.Told() {
		return
	}
	p.Registered = ""
	if p.Suffix.Sure == Proven {
		p.Registered = p.Module.suffixed(v.Text, p.Suffix.Text)
	}
	if p.Registered == v.Text {
		p.Namespace.Text = p.withoutSuffix(v.Text)
	}
}

// configured is the namespace that FlagConfig gives in its text. A file, like an envFrom, may give another; that is not
// suspected.
func (p *Process) configured() Value {
	if !p.Module.ConfigNamespace {
		return Value{}
	}
	config := p.Told(FlagConfig)
	if !strings.HasPrefix(strings.TrimSpace(config.raw), "{") {
		return Value{}
	}
	var keys map[string]json.RawMessage
	if isHidden(config.raw) || json.Unmarshal([]byte(config.raw), &keys) != nil || keys == nil {
		return config.part("")
	}
	text, ok := keys["namespace"]
	if !ok {
		return Value{}
	}
	var namespace *string
	if json.Unmarshal(text, &namespace) != nil || namespace == nil {
		return config.part("") // no string: the process ends
	}
	return p.value(config.How, config.Field, config.Name, *namespace)
}

// settleRefused finds out whether the process ends with its names. Most modules make a path of them, which must have
// three parts.
func (p *Process) settleRefused() {
	m := p.Module
	if !p.Runtime || m.Namespace == NoNamespace || m.Namespace == Scope {
		return
	}
	namespace := p.Namespace.Text
	if p.Namespace == (Value{}) && m.Namespace == OwnNamespace {
		namespace = p.env.namespace // which the mutation gives it
	}
	dotted := func(name string) bool { return strings.IndexByte(name, '.') >= 0 }
	p.NameRefused = !m.AnyName && (dotted(namespace) || dotted(p.Component.Text) || !p.Path.Told() && dotted(p.Suffix.Text)) ||
		m.NeedsNamespace && p.Namespace.Sure == Proven && p.Namespace.Text == ""
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
