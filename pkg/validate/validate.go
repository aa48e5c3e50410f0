// Package validate finds what is wrong with a pod, by the rules of docs/rules.md. It is pure: no I/O, no clock, no client.
package validate

import (
	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// Severity of a rule.
type Severity string

const (
	// Deny refuses the object under validation: enforce.
	Deny Severity = "deny"
	// Warning never refuses.
	Warning Severity = "warn"
)

// Finding is one violation of one rule.
type Finding struct {
	// Rule is the id: stable, the same in message, cause, metric, Event and command line.
	Rule     string
	Severity Severity
	// Field is the path of what was found, as spec.containers[0].args.
	Field string
	// Message has four parts: what was found, what it conflicts with, what would happen, the remedy; then [rule].
	// It does not repeat Field at its beginning: see String.
	Message string
}

// String is the finding as a user reads it.
func (f Finding) String() string { return f.Field + ": " + f.Message + " [" + f.Rule + "]" }

// Pod is what is wrong with a pod as it is after mutation, in the order of the catalogue. A pod that dynawire skips has
// no findings. Whether the mutation has been done already makes no difference: identity and ports are resolved with
// what it injects, so that what it makes true is no finding.
func Pod(p *pod.Pod, ns wiring.Settings) []Finding { return Template(p, ns, "") }

// Template is what is wrong with the pods of a workload whose pod template lies at the path prefix, as "spec.template.".
// The verdict is that on the pods made from it.
func Template(p *pod.Pod, ns wiring.Settings, prefix string) []Finding {
	r := identity.Resolve(p, ns)
	if r.Reason != identity.Wired {
		return nil
	}
	s := subject{pod: p, settings: ns, resolution: &r, prefix: prefix}
	for i := range catalogue {
		s.rule = &catalogue[i]
		if s.rule.check != nil && !isOff(ns, s.rule.id) {
			s.rule.check(&s)
		}
	}
	return s.findings
}

// PodUpdate is what is wrong with an update of a pod: a change of its identity alone, else what was not wrong with it
// before.
func PodUpdate(old, updated *pod.Pod, ns wiring.Settings) []Finding {
	if changed := changedIdentity(old, updated, ns); len(changed) > 0 {
		return changed
	}
	findings := Pod(updated, ns)
	if len(findings) == 0 {
		return nil
	}
	return New(Pod(old, ns), findings)
}

// New is what is wrong with an updated object and was not wrong with the old one: a pod that has been running must not
// become unchangeable because a rule is newer than it.
func New(old, updated []Finding) []Finding {
	var fresh []Finding
	for _, f := range updated {
		if !contains(old, f) {
			fresh = append(fresh, f)
		}
	}
	return fresh
}

func contains(findings []Finding, f Finding) bool {
	for i := range findings {
		if findings[i].Rule == f.Rule && findings[i].Field == f.Field {
			return true
		}
	}
	return false
}
