// Package mutate says what a pod needs to take part in Dynamo's discovery, as JSON patch operations. It is pure: no I/O,
// no clock, no client.
package mutate

import (
	"gomodules.xyz/jsonpatch/v2"

	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// Options are what a mutation depends on besides the pod.
type Options struct {
	// Namespace is what the pod's Namespace says.
	Namespace wiring.Settings
	// ServiceAccount is put in place of "default" or of nothing. Empty leaves the pod's own account: the caller found
	// that wiring.ServiceAccount is not there yet.
	ServiceAccount string
}

// Result is the outcome of a mutation.
type Result struct {
	// Reason is why the pod was wired or skipped.
	Reason identity.Reason
	// Identity is who the pod is; the zero value when skipped.
	Identity identity.Identity
	// Patch is empty when the pod is skipped or already has everything. The operations only add, except for the
	// service account, and come in a fixed order.
	Patch []jsonpatch.Operation
	// Warnings are for the user who made the pod: annotations that cannot be read.
	Warnings []string
}

// Pod is the patch that wires a pod. Applying it and asking again gives an empty patch. p is not changed.
func Pod(p *pod.Pod, o Options) Result {
	r := identity.Resolve(p, o.Namespace)
	if r.Reason != identity.Wired {
		return Result{Reason: r.Reason}
	}
	return wire(p, o, r)
}

// wire is the patch for a pod that is Dynamo's.
func wire(p *pod.Pod, o Options, r identity.Resolution) Result {
	m := mutation{pod: p, options: o, resolution: &r, patch: make([]jsonpatch.Operation, 0, 24)}
	m.metadata()
	m.account()
	for i := range r.Processes {
		m.process(&r.Processes[i], m.names(i))
	}
	if len(m.patch) == 0 {
		m.patch = nil
	}
	return Result{Reason: r.Reason, Identity: r.Identity, Patch: m.patch, Warnings: r.Warnings}
}

// mutation is a patch that is being built.
type mutation struct {
	pod        *pod.Pod
	options    Options
	resolution *identity.Resolution
	patch      []jsonpatch.Operation
}

func (m *mutation) add(path string, value any) {
	m.patch = append(m.patch, jsonpatch.Operation{Operation: "add", Path: path, Value: value})
}

// names are who one process is to be; empty where that is not known.
type names struct {
	namespace, component, endpoint, role string
}

// names of the main process are the pod's, and those of a command that is not recognised; another process keeps its own
// component and endpoint.
func (m *mutation) names(i int) names {
	id, p := &m.resolution.Identity, &m.resolution.Processes[i]
	namespace := m.resolution.NamespaceOf(i)
	if i == m.resolution.Main || p.Module == nil {
		return names{namespace, id.Component.Text, id.Endpoint.Text, id.Role.Text}
	}
	return names{namespace, p.Component.Text, p.Endpoint.Text, p.Role.Text}
}

func (m *mutation) process(p *identity.Process, n names) {
	at := pathsOf(p.At)
	ready := m.env(p, n, at)
	m.health(p, n, at, ready)
}
