// Package admission is the HTTP side of the webhooks: it decodes an AdmissionReview, asks pkg/mutate or pkg/validate, and
// answers. What it knows of the cluster comes from injected collaborators.
package admission

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/go-logr/logr"

	"github.com/dynawire/dynawire/internal/admission/review"
	"github.com/dynawire/dynawire/internal/audit"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/validate"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// Paths of the webhooks, as the webhook configurations name them.
const (
	MutatePodsPath        = "/mutate/pods"
	ValidatePodsPath      = "/validate/pods"
	ValidateWorkloadsPath = "/validate/workloads"
	ValidateServicesPath  = "/validate/services"
	MutateMetadataPath    = "/mutate/metadata"
	ValidateMetadataPath  = "/validate/metadata"
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

// PodGetter looks up what a pod that writes is allowed to say. It reports false where that pod is not there.
type PodGetter interface {
	Get(ctx context.Context, namespace, name, uid string) (Writer, bool)
	// Gone is whether that pod is certainly not there any more.
	Gone(ctx context.Context, namespace, name, uid string) bool
}

// Recorder keeps what validation found. It never blocks.
type Recorder interface {
	Record(audit.Verdict)
}

// Admission answers admission reviews. All collaborators are required. It is safe for concurrent use.
type Admission struct {
	Namespaces NamespaceGetter
	Accounts   AccountGate
	Pods       PodGetter
	Recorder   Recorder
	Metrics    *Metrics
	Log        logr.Logger
	// Now is time.Now where it is nil.
	Now func() time.Time
}

// MutatePods is the handler of MutatePodsPath: it wires pods as they are created.
func (a *Admission) MutatePods() http.Handler {
	return &handler[pod.Pod]{a, "mutate", a.mutatePod}
}

// ValidatePods is the handler of ValidatePodsPath: it judges pods as they are created and updated.
func (a *Admission) ValidatePods() http.Handler {
	return &handler[pod.Pod]{a, "validate", a.validatePod}
}

// ValidateWorkloads is the handler of ValidateWorkloadsPath: it warns about workloads whose pods would be refused.
func (a *Admission) ValidateWorkloads() http.Handler {
	return &handler[jsontext.Value]{a, "validate-workloads", a.validateWorkload}
}

// ValidateServices is the handler of ValidateServicesPath: it judges the Services that discovery reads.
func (a *Admission) ValidateServices() http.Handler {
	return &handler[validate.Service]{a, "validate-services", a.validateService}
}

// MutateMetadata is the handler of MutateMetadataPath: it labels a DynamoWorkerMetadata as the pod that writes it.
func (a *Admission) MutateMetadata() http.Handler {
	return &handler[objectOnly]{a, "mutate-metadata", a.mutateMetadata}
}

// ValidateMetadata is the handler of ValidateMetadataPath: it lets no pod speak for another.
func (a *Admission) ValidateMetadata() http.Handler {
	return &handler[validate.WorkerMetadata]{a, "validate-metadata", a.validateMetadata}
}

// Hooks are the handlers of all webhooks, by path.
func (a *Admission) Hooks() map[string]http.Handler {
	return map[string]http.Handler{
		MutatePodsPath:        a.MutatePods(),
		ValidatePodsPath:      a.ValidatePods(),
		ValidateWorkloadsPath: a.ValidateWorkloads(),
		ValidateServicesPath:  a.ValidateServices(),
		MutateMetadataPath:    a.MutateMetadata(),
		ValidateMetadataPath:  a.ValidateMetadata(),
	}
}

// namespace looks up the Namespace of a request; where it is not opted in, the answer is all that there is to say.
func (a *Admission) namespace(ctx context.Context, name string) (ns Namespace, out answer, err error) {
	if ns, err = a.Namespaces.Get(ctx, name); err != nil {
		return ns, out, fmt.Errorf("look up namespace %s: %w", name, err)
	}
	if !ns.OptedIn {
		out = allow(reasonNotOptedIn)
	}
	return ns, out, nil
}

func (a *Admission) now() time.Time {
	if a.Now != nil {
		return a.Now()
	}
	return time.Now()
}

// isPod is whether a request is about a pod itself.
func isPod(r *review.Head) bool { return r.Kind.Kind == "Pod" && r.Kind.Group == "" && r.Writes() }

// podOf is the pod of a request, in the request's namespace whatever the object says.
func podOf(r *review.Head, p *pod.Pod) *pod.Pod {
	if p != nil {
		p.Metadata.Namespace = r.Namespace
	}
	return p
}
