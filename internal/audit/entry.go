package audit

import (
	"hash/maphash"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/dynawire/dynawire/internal/report"
	"github.com/dynawire/dynawire/pkg/validate"
)

const (
	// maxName bounds names and users, which come from whoever calls.
	maxName = 256
	// entryOverhead is what an entry takes in memory beside its texts.
	entryOverhead = 768
)

// entry is equal verdicts: how often they came, and what is known of the last one.
type entry struct {
	namespace string
	// kind is that of the object.
	kind     string
	refused  bool
	findings []found
	// near is the object's controller, or the object itself.
	near        corev1.ObjectReference
	count       int64
	first, last time.Time
	// mode, operation, user and example are of the last one.
	mode, operation, user, example string
	// size is about what it takes in memory.
	size int
}

// found is a finding and what it did.
type found struct {
	validate.Finding
	outcome report.Outcome
}

// verdictKey is what makes verdicts equal. UIDs are not in it: a pod that is refused has a new one each time.
type verdictKey struct {
	namespace, apiVersion, kind, name string
	refused                           bool
	// findings is a hash of all of them. Its seed is nobody's to know, and it takes billions of different findings to get
	// two with one hash.
	findings uint64
}

var seed = maphash.MakeSeed()

func keyOf(v *Verdict, near *corev1.ObjectReference) verdictKey {
	var h maphash.Hash
	h.SetSeed(seed)
	for i := range v.Findings {
		f := &v.Findings[i]
		for _, s := range []string{f.Rule, string(v.outcome(f)), f.Field, f.Message} {
			_, _ = h.WriteString(s) // it never fails
			_ = h.WriteByte(0)
		}
	}
	return verdictKey{v.Namespace, near.APIVersion, near.Kind, near.Name, v.Refused, h.Sum64()}
}

// newEntry keeps of a verdict what is written down, without the rest of the object and with texts of limited length.
func newEntry(v *Verdict, near corev1.ObjectReference) *entry {
	e := &entry{
		namespace: v.Namespace, kind: report.Cut(v.Object.Kind, maxName), refused: v.Refused, first: v.Time, last: v.Time,
		findings: make([]found, len(v.Findings)), size: entryOverhead,
	}
	for i := range v.Findings {
		f := v.Findings[i]
		e.findings[i] = found{f, v.outcome(&f)}
		e.findings[i].Message, e.findings[i].Field = report.Cut(f.Message, report.MaxMessage), report.Cut(f.Field, maxName)
		e.size += len(e.findings[i].Message) + len(e.findings[i].Field) + len(f.Rule)
	}
	e.add(v, near)
	e.size += len(near.Name) + len(e.user) + len(e.example)
	return e
}

// add counts a verdict that is equal.
func (e *entry) add(v *Verdict, near corev1.ObjectReference) {
	e.count++
	if v.Time.Before(e.last) {
		return
	}
	e.near, e.last, e.mode, e.operation = near, v.Time, string(v.Mode), v.Operation
	e.user = report.Cut(v.User, maxName)
	if name := v.Object.name(); e.example == "" || !strings.HasSuffix(e.example, "/"+name) {
		e.example = report.Cut(v.Object.Kind+"/"+name, maxName)
	}
}

// telling are the findings that an Event names.
func (e *entry) telling() []validate.Finding {
	var out []validate.Finding
	for i := range e.findings {
		if f := &e.findings[i]; tells(f.Severity, f.outcome, e.refused) {
			out = append(out, f.Finding)
		}
	}
	return out
}

// results are what a Report says of it: one for each finding, about the object that is its owner.
func (e *entry) results(owner corev1.ObjectReference) []report.Entry {
	out := make([]report.Entry, len(e.findings))
	for i := range e.findings {
		f := &e.findings[i]
		out[i] = report.Entry{
			Object: owner, Rule: f.Rule, Field: f.Field, Message: f.Message, Severity: f.Severity, Outcome: f.outcome,
			Count: e.count, First: e.first, Last: e.last, Mode: e.mode, Operation: e.operation, User: e.user, Example: e.example,
		}
	}
	return out
}
