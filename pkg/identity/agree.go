package identity

import "github.com/dynawire/dynawire/pkg/wiring"

// Agrees reports whether the process registers in the namespace of a label: as it is, or with the worker suffix behind
// it. A process that is told nothing takes what the mutation gives it. What stands in a planner's --config is not compared,
// and neither is what is wrong by itself.
func (p *Process) Agrees(label string) bool {
	if p.Folded || p.Module != nil && p.Module.ConfigNamespace && p.Namespace.How == Argument {
		return true
	}
	return !p.Namespace.Told() && p.Namespace.Text == "" || label != "" && (label == p.Namespace.Text || label == p.Registered)
}

// RegistersIn is the full namespace of a process whose label has namespace; empty where only the running pod knows.
func (p *Process) RegistersIn(namespace string) string {
	if p.Namespace.Told() || p.Namespace.Known() {
		return p.Registered
	}
	full := p.unfolded(namespace)
	if isHidden(full) {
		return ""
	}
	if p.Module != nil && p.Module.Syntax == SchemePath && !p.Path.Told() && refolds(full) {
		full, _, _ = fold(full + "." + p.Component.Text + "." + p.Endpoint.Text)
	}
	return full
}

// unfolded is the namespace that the process is told, or else this one, with the worker suffix.
func (p *Process) unfolded(namespace string) string {
	if p.Namespace != (Value{}) {
		namespace = p.Namespace.Text
	}
	if p.Suffix.Sure == Unknown && p.Suffix.Told() {
		return namespace + "-" + hidden
	}
	return p.Module.suffixed(namespace, p.Suffix.Text)
}

// Redirectable reports whether DYN_ENDPOINT, which nobody has set, decides what the process registers as.
func (p *Process) Redirectable() bool {
	return p.Module != nil && p.Module.Syntax == FullPath && p.Registers && !p.Told(FlagEndpoint).Told() && p.reaches(wiring.EnvEndpoint)
}

// reaches reports whether a variable that the mutation puts in front gets to the program: its own command may take it away.
func (p *Process) reaches(name string) bool { return !p.env.cleared && !p.env.sets(name) }

// Renamable reports whether the mutation can make the process register as another component: by DYN_ENDPOINT, or by
// DYN_COMPONENT, which the sidecars read.
func (p *Process) Renamable() bool {
	if p.Redirectable() {
		return true
	}
	if p.Module == nil || !p.Registers || p.Variable(wiring.EnvComponent).Told() || !p.reaches(wiring.EnvComponent) {
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
// it was read with the pod's default, and where a file may say the namespace it is what counts if the file does not; else
// it is the namespace that the process has.
func (p *Process) GivenNamespace(namespace string) string {
	if p.env.namespace != "" && (p.env.used || namespace == "" && p.Module != nil && p.Module.ConfigNamespace) {
		return p.env.namespace
	}
	return namespace
}
