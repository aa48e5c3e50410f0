package validate

import (
	"strings"

	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// namespace-mismatch: the label's namespace is not the one that the process registers in.
//
// Restricted: the namespace in --endpoint or DYN_ENDPOINT, --namespace, DYN_NAMESPACE, of the process that gives the pod
// its identity; for a module that reads no variable, its built-in "dynamo".
//
// Allowed: the value of label nvidia.com/dynamo-namespace, with or without "-" and DYN_NAMESPACE_WORKER_SUFFIX behind it;
// anything where the label is absent, or where only the running pod knows the value.
//
// Not for frontends, which have a scope and no namespace of their own (frontend-scope-mismatch).
func namespaceMismatch(s *subject) {
	label, p := s.label(wiring.LabelNamespace), s.main()
	told := p.Namespace
	if label == "" || !told.Known() || p.Agrees(label) || p.NamespaceSource(s.resolution.RoleOf(s.resolution.Main)) == identity.Scope {
		return
	}
	if p.Suffix.Told() && p.Suffix.Sure == identity.Unknown && strings.HasPrefix(label, told.Text+"-") {
		return
	}
	const labelIs = ", but label " + wiring.LabelNamespace + " is "
	consequence := "; peers of namespace " + quoted(label) + " would never find this pod. Set the label to " + quoted(told.Text)
	if !told.Told() {
		s.find(p.At.Args(), "", module(p)+" reads no variable and registers in namespace "+quoted(told.Text)+
			labelIs+quoted(label)+consequence+" or add the arguments --namespace "+label+".")
		return
	}
	if told.Name == p.Path.Name {
		s.find(told.Field, "", told.Name+" names namespace "+quoted(told.Text)+labelIs+quoted(label)+consequence+
			" or "+place(told)+" to "+pathWith(p, label, "")+".")
		return
	}
	s.find(told.Field, "", told.Name+" is "+quoted(told.Text)+labelIs+quoted(label)+consequence+
		" or "+place(told)+" to "+quoted(label)+".")
}

// place is what a remedy tells the user to set.
func place(v identity.Value) string {
	if v.How == identity.Argument {
		return "the argument"
	}
	return v.Name
}

// pathWith is the process's endpoint path with another namespace or component; empty leaves the part as it is.
func pathWith(p *identity.Process, namespace, component string) string {
	if namespace == "" {
		namespace = p.Registered
	}
	if component == "" {
		component = p.Component.Text
	}
	endpoint := p.Endpoint.Text
	if endpoint == "" {
		endpoint = wiring.DefaultEndpoint
	}
	if p.Module != nil && p.Module.Syntax == identity.TargetPath {
		_, target, _ := strings.Cut(strings.TrimPrefix(p.Path.Text, "dyn://"), ".")
		return "dyn://" + namespace + "." + target
	}
	return "dyn://" + namespace + "." + component + "." + endpoint
}
