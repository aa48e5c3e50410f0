// Package audit shows what the Reports of a cluster say: what was refused, warned of or let in, and what runs that should
// not.
package audit

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/dynawire/dynawire/internal/report"
)

// Finding is one finding, however often it was made. Its JSON is what the command prints.
type Finding struct {
	LastSeen  time.Time `json:"lastSeen"`
	FirstSeen time.Time `json:"firstSeen"`
	Count     int64     `json:"count"`
	Namespace string    `json:"namespace"`
	// Object is the workload, as Deployment/w; Example the object that had the finding last, as Pod/w-5f-.
	Object   string `json:"object"`
	Example  string `json:"example,omitempty"`
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	// Outcome is refused, warned or admitted; of what runs it is running.
	Outcome   string `json:"outcome"`
	Field     string `json:"field"`
	Message   string `json:"message"`
	Mode      string `json:"mode,omitempty"`
	Operation string `json:"operation,omitempty"`
	User      string `json:"user,omitempty"`
	// Report is the name of the Report that says so.
	Report string `json:"report"`
}

// running is the outcome of what was found in no request.
const running = "running"

// Filter is which findings to show; its zero value shows all.
type Filter struct {
	// After is when a finding must have been seen last.
	After time.Time
	Rule  string
	// Lines makes one finding of those that differ in no more than field and message, as those of a workload's template and
	// of its pods do: how often there were any, and what the last one said.
	Lines bool
}

// Findings are those of Reports that pass a filter, the one seen last at the end.
func Findings(reports []report.Report, f Filter) []Finding {
	out := []Finding{}
	for i := range reports {
		r := &reports[i]
		if r.Name != report.Admission && r.Name != report.Drift {
			continue
		}
		for _, e := range report.Entries(r) {
			if e.Last.Before(f.After) || f.Rule != "" && e.Rule != f.Rule {
				continue
			}
			out = append(out, Finding{
				LastSeen: e.Last, FirstSeen: e.First, Count: e.Count, Namespace: r.Namespace, Object: e.Object.Kind + "/" + e.Object.Name,
				Example: e.Example, Rule: e.Rule, Severity: string(e.Severity), Outcome: cmp.Or(string(e.Outcome), running), Field: e.Field,
				Message: e.Message, Mode: e.Mode, Operation: e.Operation, User: e.User, Report: r.Name,
			})
		}
	}
	slices.SortFunc(out, compare)
	if f.Lines {
		out = lines(out)
	}
	return out
}

func compare(a, b Finding) int {
	return cmp.Or(
		a.LastSeen.Compare(b.LastSeen), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Object, b.Object),
		cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Message, b.Message), cmp.Compare(a.Outcome, b.Outcome),
	)
}

// lines gathers sorted findings: see Filter.
func lines(sorted []Finding) []Finding {
	type line struct{ namespace, report, object, rule, outcome string }
	seen := map[line]Finding{}
	for _, f := range sorted {
		key := line{f.Namespace, f.Report, f.Object, f.Rule, f.Outcome}
		if earlier, ok := seen[key]; ok {
			f.Count += earlier.Count
			if earlier.FirstSeen.Before(f.FirstSeen) {
				f.FirstSeen = earlier.FirstSeen
			}
		}
		seen[key] = f
	}
	return slices.SortedFunc(maps.Values(seen), compare)
}

// Dropped is how many findings Reports had no room for.
func Dropped(reports []report.Report) int64 {
	var n int64
	for i := range reports {
		n += report.Dropped(&reports[i], report.AnnotationDroppedFindings)
	}
	return n
}
