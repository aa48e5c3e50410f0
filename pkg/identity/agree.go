package identity

import "github.com/dynawire/dynawire/pkg/wiring"

// Agrees reports whether the process registers in the namespace of a label: as it is, or with the worker suffix behind
// it. A process that is told nothing takes what the mutation gives it.
func (p *Process) Agrees(label string) bool {
	return !p.Namespace.Told() && p.Namespace.Text == "" || label != "" && (label == p.Namespace.Text || label == p.Registered)
}

// RegistersIn is the full namespace of a process whose label has namespace; empty where only the running pod knows.
func (p *Process) RegistersIn(namespace string) string {
	if p.Namespace.Told() || p.Namespace.Known() {
		return p.Registered
	}
	if p.Suffix.Told() && p.Suffix.Sure == Unknown {
		return ""
	}
	return withSuffix(namespace, p.Suffix.Text)
}

// Redirectable reports whether DYN_ENDPOINT, which nobody has set, decides what the process registers as.
func (p *Process) Redirectable() bool {
	return p.Module != nil && p.Module.Syntax == FullPath && p.Registers && !p.Told(FlagEndpoint).Told()
}

// Renamable reports whether the mutation can make the process register as another component: by DYN_ENDPOINT, or by
// DYN_COMPONENT, which the sidecars read.
func (p *Process) Renamable() bool {
	if p.Redirectable() {
		return true
	}
	if p.Module == nil || !p.Registers || p.Variable(wiring.EnvComponent).Told() {
		return false
	}
	for i := range p.Module.Flags {
		if p.Module.Flags[i].Env == wiring.EnvComponent {
			return true
		}
	}
	return false
}

// NamespaceOf is the Dynamo namespace, without a suffix, of process i after the mutation; empty where that is not known.
func (r *Resolution) NamespaceOf(i int) string {
	p, pods := &r.Processes[i], r.Identity.Namespace.Text
	switch {
	case i == r.Main:
		return pods
	case p.Namespace.Told() || p.Namespace.Known():
		return p.Namespace.Text
	default:
		return p.GivenNamespace(pods)
	}
}

// GivenNamespace is what DYN_NAMESPACE is to be where the user has not set it. An argument or variable that is made from
// it was read with the pod's default; else it is the namespace that the process has.
func (p *Process) GivenNamespace(namespace string) string {
	if p.env.used && p.env.namespace != "" {
		return p.env.namespace
	}
	return namespace
}
