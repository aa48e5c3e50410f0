// Package admission is the HTTP side of the webhooks: it decodes an AdmissionReview, asks pkg/mutate or pkg/validate, and
// answers. What it knows of the cluster comes from injected collaborators.
package admission

import (
	"context"
	"net/http"
	"time"

	"github.com/go-logr/logr"

	"github.com/dynawire/dynawire/internal/audit"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// Paths of the webhooks, as the webhook configurations name them.
const (
	MutatePodsPath   = "/mutate/pods"
	ValidatePodsPath = "/validate/pods"
)

// Namespace is what admission knows of a pod's Namespace.
type Namespace struct {
	// OptedIn is whether the Namespace carries the opt-in label.
	OptedIn bool
	// Settings of its annotations.
	Settings wiring.Settings
	// Warnings about annotations that make no sense.
	Warnings []string
}

// NamespaceGetter looks a Namespace up. A label may be milliseconds old: what it returns is never older than the call
// where it says that the Namespace is not opted in.
type NamespaceGetter interface {
	Get(ctx context.Context, name string) (Namespace, error)
}

// AccountGate says whether wiring.ServiceAccount exists in a namespace. It may wait a short while for the reconciler that
// makes it, and only reads.
type AccountGate interface {
	Exists(ctx context.Context, namespace string) bool
}

// Recorder keeps what validation found. It never blocks.
type Recorder interface {
	Record(audit.Verdict)
}

// Admission answers admission reviews. All collaborators are required. It is safe for concurrent use.
type Admission struct {
	Namespaces NamespaceGetter
	Accounts   AccountGate
	Recorder   Recorder
	Metrics    *Metrics
	Log        logr.Logger
	// Now is time.Now where it is nil.
	Now func() time.Time
}

// MutatePods is the handler of MutatePodsPath: it wires pods as they are created.
func (a *Admission) MutatePods() http.Handler { return &handler{a, "mutate", a.mutatePod} }

// ValidatePods is the handler of ValidatePodsPath: it judges pods as they are created and updated.
func (a *Admission) ValidatePods() http.Handler { return &handler{a, "validate", a.validatePod} }

func (a *Admission) now() time.Time {
	if a.Now != nil {
		return a.Now()
	}
	return time.Now()
}

// isPod is whether a request is about a pod itself: webhooks are configured for nothing else, and a subresource such as
// ephemeralcontainers is not ours to judge.
func isPod(r *request) bool {
	return r.Kind.Kind == "Pod" && r.Kind.Group == "" && r.SubResource == ""
}

// podOf is the pod of a request, in the request's namespace whatever the object says.
func podOf(r *request, p *pod.Pod) *pod.Pod {
	if p != nil && p.Metadata.Namespace == "" {
		p.Metadata.Namespace = r.Namespace
	}
	return p
}
