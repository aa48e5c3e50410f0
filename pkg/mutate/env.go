package mutate

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// EnvVar is a variable as the patch writes it.
type EnvVar struct {
	Name      string        `json:"name"`
	Value     string        `json:"value,omitempty"`
	ValueFrom *EnvVarSource `json:"valueFrom,omitempty"`
}

// EnvVarSource is the downward API.
type EnvVarSource struct {
	FieldRef FieldRef `json:"fieldRef"`
}

// FieldRef names a field of the pod. The API server fills in the apiVersion.
type FieldRef struct {
	FieldPath string `json:"fieldPath"`
}

// The variables whose value is always the same.
var (
	podName      = downward(wiring.EnvPodName, "metadata.name")
	podNamespace = downward(wiring.EnvPodNamespace, "metadata.namespace")
	podUID       = downward(wiring.EnvPodUID, "metadata.uid")
	backend      = &EnvVar{Name: wiring.EnvDiscoveryBackend, Value: wiring.BackendKubernetes}
	systemPort   = &EnvVar{Name: wiring.EnvSystemPort, Value: "9090"}
	// The endpoint of nearly every worker.
	generateHealth = &EnvVar{Name: wiring.EnvEndpointHealthStatus, Value: jsonList(wiring.DefaultEndpoint)}
)

func downward(name, path string) *EnvVar {
	return &EnvVar{Name: name, ValueFrom: &EnvVarSource{FieldRef{path}}}
}

// env puts what is missing in front of the user's variables, which may then refer to it, and reports whether the
// process has its endpoints' health decide its own. A variable that the user has stays as it is.
func (m *mutation) env(p *identity.Process, n names, at *paths) (endpointHealth bool) {
	v := variables{c: p.Container}
	v.add(podName)
	v.add(podNamespace)
	v.add(podUID)
	v.add(backend)
	v.literal(m.namespaceVariable(p, n))
	v.literal(wiring.EnvComponent, labelText(n.component))
	v.literal(wiring.EnvEndpoint, endpointPath(p, n))
	if port := p.SystemPort(); registers(p, n) && port == wiring.SystemPort {
		v.add(systemPort)
	} else if registers(p, n) {
		v.literal(wiring.EnvSystemPort, strconv.Itoa(int(port)))
	}
	health := healthEndpoint(p, n)
	if health == wiring.DefaultEndpoint {
		v.add(generateHealth)
	} else if health != "" {
		v.literal(wiring.EnvEndpointHealthStatus, jsonList(health))
	}
	m.prepend(p.Container, v.missing, at)
	return health != "" || has(p.Container, wiring.EnvEndpointHealthStatus)
}

// variables collects what a container does not have yet.
type variables struct {
	c       *pod.Container
	missing []*EnvVar
}

func (v *variables) add(variable *EnvVar) {
	if has(v.c, variable.Name) {
		return
	}
	if v.missing == nil {
		v.missing = make([]*EnvVar, 0, 10)
	}
	v.missing = append(v.missing, variable)
}

func (v *variables) literal(name, value string) {
	if value != "" && !has(v.c, name) {
		v.add(&EnvVar{Name: name, Value: value})
	}
}

// prepend adds the variables in front, in their order. Written backwards, every operation has the same path.
func (m *mutation) prepend(c *pod.Container, vars []*EnvVar, at *paths) {
	if len(vars) == 0 {
		return
	}
	if c.Env == nil {
		m.add(at.env, vars)
		return
	}
	for i := len(vars) - 1; i >= 0; i-- {
		m.add(at.envFirst, vars[i])
	}
}

func has(c *pod.Container, name string) bool {
	for i := range c.Env {
		if c.Env[i].Name == name {
			return true
		}
	}
	return false
}

func labelText(text string) string {
	if wiring.IsName(text) {
		return text
	}
	return ""
}

// namespaceVariable is DYN_NAMESPACE for what has a namespace of its own to register in, and what a frontend's scope asks for.
func (m *mutation) namespaceVariable(p *identity.Process, n names) (name, value string) {
	value = labelText(p.GivenNamespace(n.namespace))
	switch p.NamespaceSource(n.role) {
	case identity.OwnNamespace:
		return wiring.EnvNamespace, value
	case identity.Scope:
		scope, declared := identity.FrontendScope(m.pod, m.options.Namespace)
		switch {
		case !declared || scope == wiring.ScopeAll || p.TellsScope():
			return "", ""
		case scope == wiring.ScopePrefix:
			return wiring.EnvNamespacePrefix, value
		}
		return wiring.EnvNamespace, value
	}
	return "", "" // a router's DYN_NAMESPACE would redirect it from its targets
}

// scopeUndeclared reports whether the pod has a frontend for which nobody declares a namespace or a scope, so that
// upstream's "all namespaces" stays.
func (m *mutation) scopeUndeclared() bool {
	if _, declared := identity.FrontendScope(m.pod, m.options.Namespace); declared {
		return false
	}
	for i := range m.resolution.Processes {
		p := &m.resolution.Processes[i]
		if p.NamespaceSource(m.resolution.RoleOf(i)) == identity.Scope && !p.TellsScope() {
			return true
		}
	}
	return false
}

// endpointPath is DYN_ENDPOINT: what makes the label true on a module that reads it as a path. Empty where something
// explicit says it, or says another namespace.
func endpointPath(p *identity.Process, n names) string {
	if !p.Redirectable() || !p.Agrees(n.namespace) {
		return ""
	}
	namespace := p.RegistersIn(n.namespace)
	if !wiring.IsName(namespace) || !wiring.IsName(n.component) || !wiring.IsName(n.endpoint) {
		return ""
	}
	return namespace + "." + n.component + "." + n.endpoint
}

// registers reports whether the process has an endpoint of its own. A labelled program of the user's is taken to have one,
// unless it is a frontend or the labels say neither component nor type.
func registers(p *identity.Process, n names) bool {
	if p.Module == nil {
		return n.role != wiring.TypeFrontend && (n.role != "" || n.component != "")
	}
	return p.Module.SystemPort && p.Registers
}

func isWorker(role string) bool {
	return role == wiring.TypeWorker || role == wiring.TypePrefill || role == wiring.TypeDecode
}

// healthEndpoint is the endpoint whose health is to be the process's. Another name than the one that it serves would
// keep the pod unready for ever, so there is none where that is not known.
func healthEndpoint(p *identity.Process, n names) string {
	if p.Module == nil {
		switch {
		case !isWorker(n.role):
			return ""
		case n.endpoint != "":
			return n.endpoint
		}
		return wiring.DefaultEndpoint
	}
	if !p.Registers || p.Module.Role == wiring.TypePlanner {
		return ""
	}
	return n.endpoint
}

func jsonList(element string) string {
	b, err := jsontext.AppendQuote([]byte{'['}, element)
	if err != nil {
		return "" // no UTF-8: the variable could not hold it either
	}
	return string(append(b, ']'))
}
