// Package audit keeps the record of what validation found: a structured log line for each verdict, and an Event on the
// workload that owns the pod. Admission never waits for it.
package audit

import (
	"time"

	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/validate"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// Verdict is what validation said about a pod that has findings.
type Verdict struct {
	Time      time.Time
	Namespace string
	// Operation is CREATE or UPDATE.
	Operation string
	// User asked for it.
	User string
	// Mode of the namespace.
	Mode wiring.Mode
	// Refused is whether the pod was turned away.
	Refused bool
	// Pod is the metadata of the pod. The name is empty where only generateName is known.
	Pod pod.Metadata
	// Findings are all findings, warnings too.
	Findings []validate.Finding
}

// denials are the findings that refuse under validation: enforce.
func (v Verdict) denials() []validate.Finding {
	var out []validate.Finding
	for _, f := range v.Findings {
		if f.Severity == validate.Deny {
			out = append(out, f)
		}
	}
	return out
}

// podName is the pod's name as far as it is known.
func (v Verdict) podName() string {
	if v.Pod.Name != "" {
		return v.Pod.Name
	}
	return v.Pod.GenerateName
}
