// Package validate finds what is wrong with a pod, by the rules of docs/rules.md. It is pure: no I/O, no clock, no client.
package validate

import (
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
// no findings.
func Pod(p *pod.Pod, ns wiring.Settings) []Finding { panic("not written yet") }
