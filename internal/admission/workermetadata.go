package admission

import (
	"context"
	"strings"

	"gomodules.xyz/jsonpatch/v2"

	"github.com/dynawire/dynawire/internal/admission/review"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/validate"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// The group and kind of what workers write about themselves.
const (
	dynamoGroup        = "nvidia.com"
	workerMetadataKind = "DynamoWorkerMetadata"
)

func isWorkerMetadata(r *review.Head) bool {
	return r.Writes() && r.Kind.Group == dynamoGroup && r.Kind.Kind == workerMetadataKind
}

// validateMetadata lets a pod write about itself, and nobody about another.
func (a *Admission) validateMetadata(ctx context.Context, r *review.Request[validate.WorkerMetadata]) (answer, error) {
	if !isWorkerMetadata(&r.Head) || r.Object == nil {
		return allow(reasonNotServed), nil
	}
	w := writeOf(&r.Head, r.Object, r.OldObject)
	if strings.HasPrefix(r.Object.Metadata.Name, w.PodName+"-") && w.PodName != "" {
		// Container mode, or the name of another pod: the containers tell.
		writer, _ := a.Pods.Get(ctx, r.Namespace, w.PodName, w.PodUID)
		w.Containers = writer.Containers
	}
	w.Gone = w.PodName != "" && w.Claims() && a.Pods.Gone(ctx, r.Namespace, w.PodName, w.PodUID)
	findings := w.Findings()
	if len(findings) == 0 {
		return allow(reasonNoFindings), nil
	}
	ns, out, err := a.namespace(ctx, r.Namespace)
	if err != nil || !ns.OptedIn {
		return out, err
	}
	return a.conclude(judged{Head: &r.Head, metadata: &r.Object.Metadata, findings: findings}, ns), nil
}

// mutateMetadata gives what a pod writes about itself the identity labels of that pod, so that watches can be scoped to a
// component. Server-side apply, by which workers write, leaves labels alone that it does not name.
func (a *Admission) mutateMetadata(ctx context.Context, r *review.Request[objectOnly]) (answer, error) {
	if !isWorkerMetadata(&r.Head) || r.Object == nil {
		return allow(reasonNotServed), nil
	}
	w := writeOf(&r.Head, &validate.WorkerMetadata{Metadata: r.Object.Metadata}, nil)
	if w.PodName == "" || len(w.Findings()) > 0 {
		return allow(reasonNotItsOwn), nil
	}
	ns, out, err := a.namespace(ctx, r.Namespace)
	if err != nil || !ns.OptedIn {
		return out, err
	}
	writer, ok := a.Pods.Get(ctx, r.Namespace, w.PodName, w.PodUID)
	if !ok {
		return allow(reasonPodUnknown), nil
	}
	return answer{allowed: true, reason: reasonLabelled, patch: labelPatch(&r.Object.Metadata, writer.Labels)}, nil
}

func writeOf(r *review.Head, object, old *validate.WorkerMetadata) *validate.MetadataWrite {
	return &validate.MetadataWrite{
		Namespace: r.Namespace, User: r.UserInfo.Username, PodName: r.UserInfo.Pod.Name, PodUID: r.UserInfo.Pod.UID,
		Object: object, Old: old,
	}
}

// identityLabels are what a pod's labels say of who it is.
var identityLabels = [...]string{wiring.LabelNamespace, wiring.LabelComponent, wiring.LabelComponentType}

// labelPatch sets labels that an object lacks or has otherwise.
func labelPatch(m *pod.Metadata, labels map[string]string) []jsonpatch.Operation {
	var patch []jsonpatch.Operation
	for _, key := range identityLabels {
		if v, ok := labels[key]; ok && m.Labels[key] != v {
			patch = append(patch, jsonpatch.Operation{Operation: "add", Path: "/metadata/labels/" + strings.ReplaceAll(key, "/", "~1"), Value: v})
		}
	}
	if len(patch) > 0 && m.Labels == nil {
		patch = []jsonpatch.Operation{{Operation: "add", Path: "/metadata/labels", Value: labels}}
	}
	return patch
}
