package admission

import (
	"context"
	"fmt"

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
	ns, err := a.Namespaces.Get(ctx, r.Namespace)
	if err != nil {
		return answer{}, fmt.Errorf("look up namespace %s: %w", r.Namespace, err)
	}
	if !ns.OptedIn {
		return allow(reasonNotOptedIn), nil
	}
	return a.conclude(judged{Head: &r.Head, metadata: &r.Object.Metadata, findings: findings}, ns), nil
}
