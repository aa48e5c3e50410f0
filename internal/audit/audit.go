// Package audit keeps the record of what validation found: a structured log line for each verdict, an Event on the workload
// that owns the pod, and a Report in the namespace. Admission never waits for the API server.
package audit

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/dynawire/dynawire/internal/report"
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
	// Rules are the actions of rules for which the namespace asks for something else than its mode; nil for none.
	Rules map[string]wiring.Action
	// Refused is whether the object was turned away.
	Refused bool
	Object  Object
	// Findings are all findings, warnings too.
	Findings []validate.Finding
}

// outcome is what a finding did to the object.
func (v *Verdict) outcome(f *validate.Finding) report.Outcome {
	action, ok := v.Rules[f.Rule]
	if !ok {
		action = actions[v.Mode]
	}
	switch {
	case action == wiring.ActionAudit:
		return report.Admitted
	case action == wiring.ActionWarn, f.Severity != validate.Deny, !v.Refused:
		return report.Warned
	}
	return report.Refused
}

// actions are what modes ask for.
var actions = map[wiring.Mode]wiring.Action{
	wiring.Enforce: wiring.ActionDeny, wiring.Warn: wiring.ActionWarn, wiring.Audit: wiring.ActionAudit,
}

// tells is whether an Event is due: warnings were shown to the client, and one for each pod would only be noise.
func (v *Verdict) tells() bool {
	for i := range v.Findings {
		if f := &v.Findings[i]; tells(f.Severity, v.outcome(f), v.Refused) {
			return true
		}
	}
	return false
}

// tells is whether an Event names a finding: those that turned the object away, or would in a stricter namespace.
func tells(s validate.Severity, o report.Outcome, refused bool) bool {
	return s == validate.Deny && (!refused || o == report.Refused)
}

// near is the controller of the object, or the object itself where nothing controls it.
func (v *Verdict) near() corev1.ObjectReference {
	for i := range v.Object.OwnerReferences {
		if ref := &v.Object.OwnerReferences[i]; ref.Controller {
			return corev1.ObjectReference{
				APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: v.Namespace, Name: ref.Name, UID: types.UID(ref.UID),
			}
		}
	}
	return corev1.ObjectReference{
		APIVersion: v.Object.APIVersion, Kind: v.Object.Kind, Namespace: v.Namespace, Name: v.Object.name(), UID: types.UID(v.Object.UID),
	}
}

// name is the object's name as far as it is known.
func (o *Object) name() string {
	if o.Name != "" {
		return o.Name
	}
	return o.GenerateName
}
