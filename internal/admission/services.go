package admission

import (
	"context"

	"github.com/dynawire/dynawire/internal/admission/review"
	"github.com/dynawire/dynawire/pkg/validate"
)

// validateService judges a Service that discovery reads.
func (a *Admission) validateService(ctx context.Context, r *review.Request[validate.Service]) (answer, error) {
	if !r.Writes() || r.Object == nil || r.Kind.Kind != "Service" || r.Kind.Group != "" {
		return allow(reasonNotServed), nil
	}
	findings := r.Object.Findings()
	if r.Operation == review.Update && r.OldObject != nil {
		findings = validate.New(r.OldObject.Findings(), findings)
	}
	if len(findings) == 0 {
		return allow(reasonNoFindings), nil
	}
	ns, out, err := a.namespace(ctx, r.Namespace)
	if err != nil || !ns.OptedIn {
		return out, err
	}
	return a.conclude(judged{Head: &r.Head, metadata: &r.Object.Metadata, findings: findings}, ns), nil
}
