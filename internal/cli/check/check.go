// Package check judges the objects of files or of a cluster by the rules of docs/rules.md, for people and for pipelines.
package check

import (
	"slices"

	"github.com/dynawire/dynawire/internal/cli/namespace"
	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/validate"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// What the webhook does with an object because of a finding.
const (
	Refused = "refused"
	Warned  = "warned"
	// Admitted is under validation: audit, where nobody is told.
	Admitted = "admitted"
)

// Object is one object and what is wrong with it. Its JSON is the command line's contract.
type Object struct {
	// Object is "Kind/name".
	Object    string `json:"object"`
	Namespace string `json:"namespace,omitempty"`
	// File and Line are where it stands; empty for what comes from a cluster.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// Skipped is why it is not judged; empty where it is.
	Skipped  string    `json:"skipped,omitempty"`
	Findings []Finding `json:"findings"`
	// Warnings are what else there is to say.
	Warnings []string `json:"warnings,omitempty"`
}

// Finding is one violation of one rule.
type Finding struct {
	Rule string `json:"rule"`
	// Severity is the rule's, Outcome what follows from it in the object's Namespace.
	Severity validate.Severity `json:"severity"`
	Outcome  string            `json:"outcome"`
	Field    string            `json:"field"`
	// Line is where the field stands, or what is nearest to it.
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`
}

// subject is what an object is judged by.
type subject struct {
	kind, name, namespace string
	templates             []template
	// service is nil in everything else.
	service *validate.Service
}

type template struct {
	prefix string
	*pod.Pod
}

// judge finds what is wrong with an object in a Namespace.
func judge(s *subject, ns namespace.Namespace) Object {
	o := Object{Object: s.kind + "/" + s.name, Namespace: s.namespace, Skipped: string(identity.NotDynamo), Findings: []Finding{}}
	for i, t := range s.templates {
		r := identity.Resolve(t.Pod, ns.Settings)
		if r.Reason == identity.Wired {
			o.Skipped = ""
		} else if i == 0 {
			o.Skipped = string(r.Reason)
		}
		o.Warnings = append(o.Warnings, r.Warnings...)
		o.add(validate.Template(t.Pod, ns.Settings, t.prefix), ns)
	}
	if s.service != nil {
		if s.service.Metadata.Labels[wiring.LabelDiscoveryEnabled] == "true" {
			o.Skipped = ""
		}
		o.add(s.service.Findings(), ns)
	}
	return o
}

func (o *Object) add(findings []validate.Finding, ns namespace.Namespace) {
	for _, f := range findings {
		outcome := Warned
		switch validate.Action(f, ns.Settings) {
		case wiring.ActionOff:
			continue
		case wiring.ActionDeny:
			outcome = Refused
		case wiring.ActionAudit:
			outcome = Admitted
		}
		o.Findings = append(o.Findings, Finding{Rule: f.Rule, Severity: f.Severity, Outcome: outcome, Field: f.Field, Message: f.Message})
	}
}

// Level is how bad something must be to count.
type Level string

// The levels: what is refused, every finding, none.
const (
	Deny  Level = "deny"
	Warn  Level = "warn"
	Never Level = "never"
)

// Counts reports whether a finding is at or above the level.
func (l Level) Counts(f *Finding) bool { return l == Warn || l == Deny && f.Outcome == Refused }

// Filter says which findings are wanted.
type Filter struct {
	// Rules are their ids; empty for all.
	Rules []string
	// Severity is the least that is shown.
	Severity Level
}

// Apply leaves out what is not wanted.
func (f *Filter) Apply(objects []Object) {
	for i := range objects {
		objects[i].Findings = slices.DeleteFunc(objects[i].Findings, func(found Finding) bool {
			return len(f.Rules) > 0 && !slices.Contains(f.Rules, found.Rule) || !f.Severity.Counts(&found)
		})
	}
}

// Failed reports whether there is a finding at or above a level.
func Failed(objects []Object, at Level) bool {
	return slices.ContainsFunc(objects, func(o Object) bool { return o.failed(at) })
}

func (o *Object) failed(at Level) bool {
	return slices.ContainsFunc(o.Findings, func(f Finding) bool { return at.Counts(&f) })
}
