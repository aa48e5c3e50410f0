package identity

import (
	"strings"

	"github.com/dynawire/dynawire/pkg/wiring"
)

// NamespaceSource is the module's; for a program of the user's own it goes by its role.
func (p *Process) NamespaceSource(role string) NamespaceSource {
	switch {
	case p.Module != nil:
		return p.Module.Namespace
	case role == wiring.TypeFrontend:
		return Scope
	case role == wiring.TypeRouter:
		return TargetNamespace
	default:
		return OwnNamespace
	}
}

// RoleOf is the role of process i: that of the pod where it gives the identity, or where its command is not recognised,
// else what it is told or its module's.
func (r *Resolution) RoleOf(i int) string {
	if i == r.Main || r.Processes[i].Module == nil {
		return r.Identity.Role.Text
	}
	return r.Processes[i].Role.Text
}

// TakesField reports whether the process finds that field of the pod in a variable: by a fieldRef, by the mutation, or
// by $(NAME) of a variable that has it.
func (p *Process) TakesField(name, path string) bool {
	e := &p.env
	if e.cleared || e.sets(name) {
		return false
	}
	for n := len(e.c.Env); ; {
		i := e.last(name, n)
		if i < 0 {
			return injectedField(name) == path && e.last(name, len(e.c.Env)) < 0
		}
		v := &e.c.Env[i]
		if v.ValueFrom != nil {
			return v.ValueFrom.FieldRef != nil && v.ValueFrom.FieldRef.FieldPath == path
		}
		next, ok := strings.CutPrefix(v.Value, "$(")
		if next, ok = cutLast(next, ')', ok); !ok {
			return false
		}
		name, n = next, i
	}
}

// cutLast takes the closing byte off text.
func cutLast(text string, c byte, ok bool) (string, bool) {
	if !ok || text == "" || strings.IndexByte(text, c) != len(text)-1 {
		return "", false
	}
	return text[:len(text)-1], true
}

// injectedField is the field in a variable that the mutation puts in front.
func injectedField(name string) string {
	switch name {
	case wiring.EnvPodName:
		return "metadata.name"
	case wiring.EnvPodNamespace:
		return "metadata.namespace"
	case wiring.EnvPodUID:
		return "metadata.uid"
	}
	return ""
}

// TakesAway reports whether the command itself takes a variable away that the container has.
func (p *Process) TakesAway(name string) bool {
	_, has := p.env.get(name)
	return !has && (p.env.cleared || p.env.sets(name))
}

// EmptyPart is a part of the endpoint path that is empty though the module takes the path; false where none is.
func (p *Process) EmptyPart() (part string, ok bool) {
	if p.Path.Sure != Proven || p.Malformed || p.Module == nil || p.Module.Syntax.isName() {
		return "", false
	}
	namespace, component, endpoint, ok := p.Module.Syntax.splitPath(p.Path.Text)
	switch {
	case !ok:
	case namespace == "":
		return "namespace", true
	case p.Module.Syntax == TargetPath: // the others name its target
	case component == "":
		return "component", true
	case endpoint == "":
		return "endpoint", true
	}
	return "", false
}

// Serves reports whether the process may serve an endpoint of that name; not known where its configuration decides.
func (p *Process) Serves(endpoint string) (serves, known bool) {
	switch {
	case p.Module == nil:
		return false, false
	case p.Endpoint.Known() && p.Endpoint.Text == endpoint || p.Module.Serves(endpoint):
		return true, true
	case p.Endpoint.Known():
		return false, true
	case p.Endpoint.Told() || p.Module.Endpoint != "":
		return false, false
	}
	// A module without a main endpoint of its own.
	switch p.Module.Name {
	case "global_router":
		return endpoint == "generate" || endpoint == "prefill_generate" || endpoint == "decode_generate", true
	case "triton":
		return isModelSlug(endpoint), true
	}
	return false, len(p.Module.Beside) > 0
}

// isModelSlug tells a name that triton may give a model's endpoint: it ends in "_" and eight digits of a hash.
func isModelSlug(name string) bool {
	i := len(name) - len("_01234567")
	return i > 0 && name[i] == '_' && strings.Trim(name[i+1:], "0123456789abcdef") == ""
}

// AssumedNamespace is the process whose namespace nobody declares though an envFrom ConfigMap may hold it, over which the
// mutation's DYN_NAMESPACE wins; nil where there is none. On a wired pod the annotation tells.
func (r *Resolution) AssumedNamespace(annotations map[string]string, ns wiring.Settings) *Process {
	if name := annotations[wiring.AnnotationNamespaceAssumed]; name != "" {
		for i := range r.Processes {
			if p := &r.Processes[i]; p.Container.Name == name && p.mayHideNamespace() && p.Namespace.How != Argument {
				return p
			}
		}
	}
	if r.Identity.Namespace.How == Label {
		return nil
	}
	for i := range r.Processes {
		if p := &r.Processes[i]; p.mayHideNamespace() && r.assumes(i, ns) {
			return p
		}
	}
	return nil
}

// assumes reports whether the mutation makes up the namespace of process i.
func (r *Resolution) assumes(i int, ns wiring.Settings) bool {
	p := &r.Processes[i]
	if p.Namespace.Told() || p.env.cleared || p.env.sets(wiring.EnvNamespace) || p.env.last(wiring.EnvNamespace, len(p.Container.Env)) >= 0 {
		return false
	}
	switch p.NamespaceSource(r.RoleOf(i)) {
	case OwnNamespace:
		return wiring.IsName(p.GivenNamespace(r.NamespaceOf(i)))
	case Scope:
		return !p.TellsScope() && exactScope(p.env.pod, ns)
	}
	return false
}

// mayHideNamespace reports whether an envFrom of the container may have a ConfigMap with DYN_NAMESPACE.
func (p *Process) mayHideNamespace() bool {
	for i := range p.Container.EnvFrom {
		from := &p.Container.EnvFrom[i]
		n := len(from.Prefix)
		if from.ConfigMapRef != nil && n < len(wiring.EnvNamespace) && from.Prefix == wiring.EnvNamespace[:n] {
			return true
		}
	}
	return false
}
