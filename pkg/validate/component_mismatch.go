package validate

import (
	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// component-mismatch: the label's component is not the one that the process registers as.
//
// Restricted: the component in --endpoint or DYN_ENDPOINT, --component, DYN_COMPONENT and their like, of the process that
// gives the pod its identity; the module's default where the module reads neither DYN_ENDPOINT nor DYN_COMPONENT, so
// that it can't be made true.
//
// Allowed: the value of label nvidia.com/dynamo-component; anything where the label is absent, where only the running pod
// knows the value, on a process that registers nothing, and where a malformed name makes the component.
//
// Not the component in a router's --endpoint, which names its targets.
func componentMismatch(s *subject) {
	label, p := s.label(wiring.LabelComponent), s.main()
	component := p.Component
	if label == "" || !component.Known() || component.Text == label || p.Module == nil || !p.Registers || p.Folded {
		return
	}
	const labelIs = ", but label " + wiring.LabelComponent + " is "
	consequence := "; peers looking for " + quoted(label) + " would never find this pod. Set the label to " + quoted(component.Text)
	switch {
	case component.Told() && component.Name == p.Path.Name:
		s.find(component.Field, "", component.Name+" names component "+quoted(component.Text)+labelIs+quoted(label)+consequence+
			" or "+place(component)+" to "+pathWith(p, "", label)+".")
	case component.Told():
		s.find(component.Field, "", component.Name+" is "+quoted(component.Text)+labelIs+quoted(label)+consequence+
			" or "+place(component)+" to "+quoted(label)+".")
	case !p.Renamable():
		s.find(p.At, "", module(p)+" registers as component "+quoted(component.Text)+" whatever the labels say"+
			labelIs+quoted(label)+consequence+makeTrue(s, p, label)+".")
	}
}

// makeTrue is the other half of the remedy: what the module would take to register as the label says.
func makeTrue(s *subject, p *identity.Process, label string) string {
	namespace := s.resolution.Identity.Namespace.Text
	switch {
	case p.Module.Syntax == identity.SchemePath && namespace != "":
		return " or add the arguments --endpoint dyn://" + p.RegistersIn(namespace) + "." + label + "." + wiring.DefaultEndpoint
	case p.Module.Syntax == identity.FullPath:
		return " or remove " + p.Told(identity.FlagEndpoint).Name + ", which is empty"
	}
	if flag := p.Module.Spelling(identity.FlagComponent); flag != "" {
		return " or add the arguments " + flag + " " + label
	}
	return ""
}
