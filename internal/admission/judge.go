package admission

import (
	"slices"

	"github.com/dynawire/dynawire/internal/admission/review"
	"github.com/dynawire/dynawire/internal/audit"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/validate"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// judged is an object that has been looked at.
type judged struct {
	*review.Head
	metadata *pod.Metadata
	findings []validate.Finding
	// advisory is an object that is never refused: what is wrong is in the pods that will be made from it.
	advisory bool
}

// conclude answers as the namespace's settings ask, and has what was found recorded.
func (a *Admission) conclude(j judged, ns Namespace) answer {
	j.findings = slices.DeleteFunc(j.findings, func(f validate.Finding) bool {
		return validate.Action(f, ns.Settings) == wiring.ActionOff
	})
	out := judge(j, ns)
	if len(j.findings) == 0 {
		return out
	}
	out.group, out.kind, out.name = j.Kind.Group, j.Kind.Kind, nameOf(j.metadata)
	if j.DryRun {
		// The client is told the same, and nothing else remembers it.
		return out
	}
	out.rules = rules(j.findings)
	a.Metrics.found(j.findings, ns.Settings)
	a.Recorder.Record(audit.Verdict{
		Time: a.now(), Namespace: j.Namespace, Operation: j.Operation, User: j.UserInfo.Username,
		Mode: modeOf(ns.Settings), Rules: ns.Settings.Rules, Refused: !out.allowed,
		Object:   audit.Object{APIVersion: j.Kind.APIVersion(), Kind: j.Kind.Kind, Metadata: *j.metadata},
		Findings: j.findings,
	})
	return out
}

// judge does with each finding what the namespace says of its rule.
func judge(j judged, ns Namespace) answer {
	out := answer{allowed: true, reason: reasonNoFindings}
	if modeOf(ns.Settings) != wiring.Audit {
		out.warnings = slices.Clip(ns.Warnings)
	}
	for _, f := range j.findings {
		out.reason = reasonFindings
		switch action := validate.Action(f, ns.Settings); {
		case action == wiring.ActionDeny && j.advisory:
			out.warnings = append(out.warnings, "its pods will be refused: "+f.String())
		case action == wiring.ActionDeny:
			out.allowed = false
			out.denials = append(out.denials, f)
		case action == wiring.ActionWarn:
			out.warnings = append(out.warnings, f.String())
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
func nameOf(m *pod.Metadata) string {
	if m.Name != "" {
		return m.Name
	}
	return m.GenerateName
}
