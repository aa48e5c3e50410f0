package validate

import (
	"strings"

	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// invalid-name: a namespace, component or endpoint name that cannot be one.
//
// Restricted: labels nvidia.com/dynamo-namespace and nvidia.com/dynamo-component; annotation dynawire.io/endpoint; the
// namespace, component and endpoint that flags, variables and endpoint paths give to every Dynamo process; a worker suffix
// with a dot; a frontend's exact namespace.
//
// Allowed: at most 63 letters, digits, "-" and "_", the first and the last a letter or a digit. Upper case, underscores and
// leading digits are fine. An empty variable where the module takes it for nothing; a frontend's prefix; a name where
// only the running pod knows it; the parts of a path that the module does not take (endpoint-malformed).
func invalidName(s *subject) {
	for _, key := range [...]struct{ label, what string }{{wiring.LabelNamespace, namespace}, {wiring.LabelComponent, component}} {
		if text, ok := s.pod.Metadata.Labels[key.label]; ok && !wiring.IsName(text) {
			s.badName(nil, key.what, identity.Value{Text: text, Field: identity.LabelField(key.label), Name: "label " + key.label})
		}
	}
	for i := range s.resolution.Processes {
		p := &s.resolution.Processes[i]
		if p.Module != nil && !p.Runtime {
			continue
		}
		s.name(p, namespace, scopeOf(p))
		s.name(p, component, p.Component)
		s.name(p, endpoint, p.Endpoint)
		if part, ok := p.EmptyPart(); ok {
			s.badName(p, part, identity.Value{Field: p.Path.Field, Name: "the " + part + " in " + p.Path.Name})
		}
		if v := p.Suffix; strings.IndexByte(v.Text, '.') >= 0 && !p.Path.Told() {
			s.badName(p, namespace, v)
		}
	}
}

const namespace, component, endpoint = "namespace", "component", "endpoint"

// scopeOf is the namespace of a process; nothing for a frontend that goes by a prefix.
func scopeOf(p *identity.Process) identity.Value {
	if p.Module != nil && p.Module.Namespace == identity.Scope &&
		(p.Told(identity.FlagNamespacePrefix).Told() || p.Variable(wiring.EnvNamespacePrefix).Told()) {
		return identity.Value{}
	}
	return p.Namespace
}

// name judges what a process is told.
func (s *subject) name(p *identity.Process, what string, v identity.Value) {
	switch {
	case !v.Told() || v.Sure != identity.Proven || wiring.IsName(v.Text):
	case p.Malformed && v.Name == p.Path.Name:
	case v.Text == "" && !emptyCounts(p, v):
	default:
		if v.Name == p.Path.Name && (p.Module == nil || p.Module.Syntax != identity.BareName) {
			v.Name = "the " + what + " in " + v.Name
		}
		s.badName(p, what, v)
	}
}

// emptyCounts reports whether a process takes an empty value for a name. Of its other variables that is not known.
func emptyCounts(p *identity.Process, v identity.Value) bool {
	if p.Module == nil {
		return false
	}
	return v.How == identity.Argument || v.Name == wiring.EnvNamespace || v.Name == wiring.EnvEndpoint || v.Name == wiring.EnvComponent
}

func (s *subject) badName(p *identity.Process, what string, v identity.Value) {
	wrong, consequence := "no label can carry it as a "+what, "nobody could look for it"
	switch {
	case v.Text == "":
		wrong = "it names no " + what
	case strings.IndexByte(v.Text, '.') >= 0:
		wrong, consequence = "it has a dot, which separates namespace, component and endpoint", s.dotConsequence(p)
	}
	remedy := "Use at most 63 letters, digits, \"-\" and \"_\", beginning and ending with a letter or a digit"
	if better := nearest(v.Text); better != "" {
		remedy = "Set it to " + quoted(better)
	} else if v.Text == "" {
		remedy = "Set it to a name or remove it"
	}
	s.find(v.Field, "", v.Name+" is "+quoted(v.Text)+", but "+wrong+"; "+consequence+". "+remedy+".")
}

// dotConsequence is what becomes of a process with a dot in one of its names; p is nil for the labels of the pod.
func (s *subject) dotConsequence(p *identity.Process) string {
	switch {
	case p == nil || p.Module == nil:
	case p.NameRefused:
		return "the process would exit"
	case p.Module.Namespace == identity.Scope:
		return "no worker could be in it, and the frontend would find no model"
	case p.Module.Syntax == identity.SchemePath && p.Component.Known() && p.Endpoint.Known(): // the mocker reads its path anew
		return "the process would register as " + p.RegistersIn(s.namespaceOf(p)) + "." + p.Component.Text + "." + p.Endpoint.Text
	}
	return "nobody could name the endpoint"
}

// namespaceOf is the namespace of a process after the mutation.
func (s *subject) namespaceOf(p *identity.Process) string {
	for i := range s.resolution.Processes {
		if p == &s.resolution.Processes[i] {
			return s.resolution.NamespaceOf(i)
		}
	}
	return ""
}

// nearest is the name that a text becomes with "-" for what no name has; empty where that makes none.
func nearest(text string) string {
	name := strings.Trim(strings.Map(func(r rune) rune {
		if r < 0x80 && wiring.IsName("a"+string(r)+"a") {
			return r
		}
		return '-'
	}, text), "-_")
	if wiring.IsName(name) {
		return name
	}
	return ""
}
