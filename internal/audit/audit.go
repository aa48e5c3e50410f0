// Package audit keeps the record of what validation found: a structured log line for each verdict, and an Event on the
// workload that owns the pod. Admission never waits for it.
package audit

import (
	"time"

	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/validate"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// Object is what a verdict is about.
type Object struct {
	APIVersion, Kind string
	// Metadata of the object. The name is empty where only generateName is known.
	pod.Metadata
}

// Verdict is what validation said about an object that has findings.
type Verdict struct {
	Time      time.Time
	Namespace string
	// Operation is CREATE or UPDATE.
	Operation string
	// User asked for it.
	User string
	// Mode of the namespace.
	Mode wiring.Mode
	// Refused is whether the object was turned away.
	Refused bool
	Object  Object
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

// name is the object's name as far as it is known.
func (o *Object) name() string {
	if o.Name != "" {
		return o.Name
	}
	return o.GenerateName
}
