package validate

import (
	"strings"

	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// frontend-scope-mismatch: a frontend looks where its label's namespace cannot be.
//
// Restricted: --namespace-prefix or DYN_NAMESPACE_PREFIX of a frontend, else --namespace or DYN_NAMESPACE.
//
// Allowed: the value of label nvidia.com/dynamo-namespace, or with "-" and a worker suffix behind it; a prefix of that; nothing
// or "", which sees every namespace; anything where the label is absent, or where only the running pod knows the value.
//
// A frontend beside a worker is not judged: the label is the worker's.
func frontendScopeMismatch(s *subject) {
	label, p := s.label(wiring.LabelNamespace), s.main()
	if label == "" || p.NamespaceSource(s.resolution.RoleOf(s.resolution.Main)) != identity.Scope {
		return
	}
	prefix, exact := scopes(p)
	v, sees := prefix, "sees the namespaces that begin with "
	fits := strings.HasPrefix(label, v.Text) || strings.HasPrefix(v.Text, label+"-")
	if !prefix.Told() {
		v, sees = exact, "sees namespace "
		fits = v.Text == label || strings.HasPrefix(v.Text, label+"-")
	}
	if !v.Told() || v.Text == "" || fits {
		return
	}
	s.find(v.Field, "", v.Name+" is "+quoted(v.Text)+", with which "+module(p)+" "+sees+quoted(v.Text)+", but label "+wiring.LabelNamespace+" is "+quoted(label)+
		"; it would find no model of that namespace. Set the label to "+quoted(v.Text)+" or "+place(v)+" to "+quoted(label)+".")
}

// scopes are what a frontend is told; the prefix counts more, and an empty one counts as not given.
func scopes(p *identity.Process) (prefix, exact identity.Value) {
	if p.Module == nil {
		prefix, exact = p.Variable(wiring.EnvNamespacePrefix), p.Variable(wiring.EnvNamespace)
	} else {
		prefix, exact = p.Told(identity.FlagNamespacePrefix), p.Told(identity.FlagNamespace)
	}
	if prefix.Sure == identity.Proven && prefix.Text == "" {
		prefix = identity.Value{}
	}
	return prefix, exact
}
