package admission

import (
	"context"
	"fmt"

	"github.com/dynawire/dynawire/internal/audit"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/validate"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// validatePod judges a pod that is being created or updated.
func (a *Admission) validatePod(ctx context.Context, r *request) (answer, error) {
	p := podOf(r, r.Object)
	if !isPod(r) || r.Operation != "CREATE" && r.Operation != "UPDATE" || p == nil {
		return allow(reasonNotServed), nil
	}
	ns, err := a.Namespaces.Get(ctx, r.Namespace)
	if err != nil {
		return answer{}, fmt.Errorf("look up namespace %s: %w", r.Namespace, err)
	}
	if !ns.OptedIn {
		return allow(reasonNotOptedIn), nil
	}
	findings := validate.Pod(p, ns.Settings)
	if len(findings) > 0 && r.Operation == "UPDATE" && r.OldObject != nil {
		// An update must not be refused for what was there before.
		known := validate.Pod(podOf(r, r.OldObject), ns.Settings)
		if findings = validate.New(known, findings); len(findings) == 0 {
			return allow(reasonKnownFindings), nil
		}
	}
	out := judge(findings, ns)
	if len(findings) == 0 {
		return out, nil
	}
	out.name = nameOf(p)
	if r.DryRun {
		// The client is told the same, and nothing else remembers it.
		return out, nil
	}
	out.rules = rules(findings)
	a.Metrics.found(findings, modeOf(ns.Settings))
	a.Recorder.Record(audit.Verdict{
		Time: a.now(), Namespace: r.Namespace, Operation: r.Operation, User: r.UserInfo.Username,
		Mode: modeOf(ns.Settings), Refused: !out.allowed, Object: audit.Object{APIVersion: "v1", Kind: "Pod", Metadata: p.Metadata}, Findings: findings,
	})
	return out, nil
}

// judge applies a namespace's mode to findings.
func judge(findings []validate.Finding, ns Namespace) answer {
	mode := modeOf(ns.Settings)
	out := answer{allowed: true, reason: reasonNoFindings}
	if mode != wiring.Audit {
		out.warnings = ns.Warnings
	}
	for _, f := range findings {
		out.reason = reasonFindings
		switch {
		case mode == wiring.Audit:
		case mode == wiring.Enforce && f.Severity == validate.Deny:
			out.allowed = false
			out.denials = append(out.denials, f)
		default:
			out.warnings = append(out.warnings[:len(out.warnings):len(out.warnings)], f.String())
		}
	}
	return out
}

func rules(findings []validate.Finding) []string {
	out := make([]string, len(findings))
	for i, f := range findings {
		out[i] = f.Rule
	}
	return out
}

func modeOf(s wiring.Settings) wiring.Mode {
	if s.Validation == "" {
		return wiring.Enforce
	}
	return s.Validation
}

// nameOf is the name for the client: a pod of a controller may have only the beginning of one.
func nameOf(p *pod.Pod) string {
	if p.Metadata.Name != "" {
		return p.Metadata.Name
	}
	return p.Metadata.GenerateName
}
