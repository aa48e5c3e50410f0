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
}

// Pod is the patch that wires a pod. Applying it and asking again gives an empty patch. p is not changed.
func Pod(p *pod.Pod, o Options) Result { panic("not written yet") }
