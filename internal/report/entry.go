package report

import (
	"strconv"
	"strings"
	"time"

	"github.com/openreports/reports-api/apis/openreports.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dynawire/dynawire/pkg/validate"
)

// Outcome is what became of the object that a finding is about.
type Outcome string

// Outcomes: three of admission, and one of the scan for drift.
const (
	// Refused objects were turned away.
	Refused Outcome = "refused"
	// Warned is what came in, and the client was told.
	Warned Outcome = "warned"
	// Admitted is what came in without a word: validation is audit.
	Admitted Outcome = "admitted"
	// Running is what runs as it is.
	Running Outcome = "running"
)

const (
	// MaxMessage and maxName bound the texts of an entry. A finding says its four parts in about 400 bytes.
	MaxMessage = 2 << 10
	maxName    = 256
)

// Entry is one finding, however often it was made: one result of a Report.
type Entry struct {
	// Object is what the finding is about: the workload that a person wrote, where it is known.
	Object corev1.ObjectReference
	// Rule, Field and Message are the finding's own.
	Rule, Field, Message string
	Severity             validate.Severity
	Outcome              Outcome
	// Count is how often, between First and Last. Times are kept to the second.
	Count       int64
	First, Last time.Time
	// Mode, Operation, User and Example are those of the last time; Example is the object that had the finding, as Pod/w-1.
	Mode, Operation, User, Example string
}

// key is what makes entries the same. The UID is not in it: a pod that is refused has a new one each time.
type key struct {
	apiVersion, kind, name string
	rule, field, message   string
	outcome                Outcome
}

func (e *Entry) key() key {
	return key{e.Object.APIVersion, e.Object.Kind, e.Object.Name, e.Rule, e.Field, e.Message, e.Outcome}
}

// add adds other, which has the same key.
func (e *Entry) add(other *Entry) {
	first, count := e.First, e.Count+other.Count
	if other.First.Before(first) {
		first = other.First
	}
	if !other.Last.Before(e.Last) {
		*e = *other
	}
	e.First, e.Count = first, count
}

// bound cuts the texts to what a Report keeps.
func (e *Entry) bound() {
	e.Message = Cut(e.Message, MaxMessage)
	for _, s := range []*string{&e.Field, &e.Object.Name, &e.Object.Kind, &e.Object.APIVersion, &e.Rule, &e.User, &e.Example} {
		*s = Cut(*s, maxName)
	}
}

// Cut is a text of at most so many bytes. What is cut off is not kept in memory either.
func Cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	const more = " …"
	return strings.ToValidUTF8(s[:most-len(more)], "") + more
}

// Names of the properties of a result.
const (
	propertyCount     = "count"
	propertyFirst     = "firstSeen"
	propertyField     = "field"
	propertyOutcome   = "outcome"
	propertyMode      = "mode"
	propertyOperation = "operation"
	propertyUser      = "user"
	propertyExample   = "example"
)

// result is the entry as OpenReports has it: a rule that denies is a failure of high severity, one that warns a warning of
// low severity.
func (e *Entry) result() v1alpha1.ReportResult {
	r := v1alpha1.ReportResult{
		Source: source, Policy: policy, Rule: e.Rule, Severity: "low", Result: "warn",
		Timestamp:   metav1.Timestamp{Seconds: e.Last.Unix()},
		Subjects:    []corev1.ObjectReference{e.Object},
		Description: e.Message,
		Properties:  map[string]string{propertyCount: strconv.FormatInt(e.Count, 10), propertyFirst: e.First.UTC().Format(time.RFC3339)},
	}
	if e.Severity == validate.Deny {
		r.Severity, r.Result, r.Scored = "high", "fail", true
	}
	for name, value := range map[string]string{
		propertyField: e.Field, propertyOutcome: string(e.Outcome), propertyMode: e.Mode, propertyOperation: e.Operation,
		propertyUser: e.User, propertyExample: e.Example,
	} {
		if value != "" {
			r.Properties[name] = value
		}
	}
	return r
}

// entryOf reads a result. Whatever somebody else made of it, an entry comes out.
func entryOf(r *v1alpha1.ReportResult) Entry {
	p := r.Properties
	e := Entry{
		Rule: r.Rule, Field: p[propertyField], Message: r.Description, Severity: validate.Warning, Outcome: Outcome(p[propertyOutcome]),
		Last: time.Unix(r.Timestamp.Seconds, 0).UTC(), Mode: p[propertyMode], Operation: p[propertyOperation], User: p[propertyUser], Example: p[propertyExample],
	}
	if len(r.Subjects) > 0 {
		e.Object = r.Subjects[0]
	}
	if r.Result == "fail" {
		e.Severity = validate.Deny
	}
	count, err := strconv.ParseInt(p[propertyCount], 10, 64)
	if err != nil || count < 1 {
		count = 1
	}
	e.Count = count
	if e.First, err = time.Parse(time.RFC3339, p[propertyFirst]); err != nil || e.First.After(e.Last) {
		e.First = e.Last
	}
	return e
}

// Entries are the entries of a Report, the one seen last first.
func Entries(r *Report) []Entry {
	out := make([]Entry, len(r.Results))
	for i := range r.Results {
		out[i] = entryOf(&r.Results[i])
	}
	return out
}
