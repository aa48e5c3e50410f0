package admission

import (
	"context"

	"github.com/dynawire/dynawire/internal/admission/review"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/validate"
)

// validatePod judges a pod that is being created or updated.
func (a *Admission) validatePod(ctx context.Context, r *review.Request[pod.Pod]) (answer, error) {
	p := podOf(&r.Head, r.Object)
	if !isPod(&r.Head) || p == nil {
		return allow(reasonNotServed), nil
	}
	ns, out, err := a.namespace(ctx, r.Namespace)
	if err != nil || !ns.OptedIn {
		return out, err
	}
	var findings []validate.Finding
	if old := podOf(&r.Head, r.OldObject); old != nil && r.Operation == review.Update {
		// An update must not be refused for what was there before.
		findings = validate.PodUpdate(old, p, ns.Settings)
	} else {
		findings = validate.Pod(p, ns.Settings)
	}
	return a.conclude(judged{Head: &r.Head, metadata: &p.Metadata, findings: findings}, ns), nil
}
