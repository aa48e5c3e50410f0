package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/openreports/reports-api/apis/openreports.io/v1alpha1"
)

// Limits of a Report. What does not fit goes, the entries seen longest ago first, and is counted.
type Limits struct {
	// Results is the most results.
	Results int
	// Bytes is the most that all results may take as JSON. etcd takes 1.5 MiB, and metadata come on top.
	Bytes int
	// Age is how long ago an entry may have been seen last. What is older goes without being counted; 0 keeps all.
	Age time.Duration
}

// Room is the limits of size; thousand and some results of ordinary length fit.
func Room(age time.Duration) Limits { return Limits{Results: 2000, Bytes: 1200 << 10, Age: age} }

// Batch is what one writer adds at once. Its entries are what it found since its last batch, so that several writers lose
// and double nothing.
type Batch struct {
	// Writer names who adds, without the characters , and =. Number grows with each of the writer's batches.
	Writer  string
	Number  uint64
	Entries []Entry
}

// Merge adds a batch, and is false where the Report has it already: a writer that does not know whether its last write
// arrived reads the Report and merges the same batch again.
func Merge(r *Report, b Batch, l Limits, now time.Time) (bool, error) {
	batches := parseBatches(r.Annotations[AnnotationBatches])
	if batches.have(b.Writer, b.Number) {
		return false, nil
	}
	entries := Entries(r)
	at := make(map[key]int, len(entries)+len(b.Entries))
	for i := range entries {
		at[entries[i].key()] = i
	}
	for _, e := range b.Entries {
		e.bound()
		k := e.key()
		if i, ok := at[k]; ok {
			entries[i].add(&e)
			continue
		}
		at[k] = len(entries)
		entries = append(entries, e)
	}
	dropped, err := fill(r, entries, l, now)
	if err != nil {
		return false, err
	}
	annotate(r, AnnotationBatches, batches.with(b.Writer, b.Number).String())
	count(r, AnnotationDroppedResults, int64(dropped.results))
	count(r, AnnotationDroppedFindings, dropped.findings)
	return true, nil
}

// Replace makes entries all that a Report says; one that was there keeps when it was seen first. What is counted as
// dropped is what did not fit this time.
func Replace(r *Report, entries []Entry, l Limits, now time.Time) error {
	first := make(map[key]time.Time, len(r.Results))
	for _, e := range Entries(r) {
		first[e.key()] = e.First
	}
	for i := range entries {
		e := &entries[i]
		e.bound()
		if at, ok := first[e.key()]; ok && at.Before(e.First) {
			e.First = at
		}
	}
	dropped, err := fill(r, entries, l, now)
	if err != nil {
		return err
	}
	delete(r.Annotations, AnnotationDroppedResults)
	delete(r.Annotations, AnnotationDroppedFindings)
	count(r, AnnotationDroppedResults, int64(dropped.results))
	count(r, AnnotationDroppedFindings, dropped.findings)
	return nil
}

// dropped is what did not fit.
type dropped struct {
	results  int
	findings int64
}

// fill writes as many entries into a Report as its limits allow, the one seen last first.
func fill(r *Report, entries []Entry, l Limits, now time.Time) (dropped, error) {
	if l.Age > 0 {
		entries = slices.DeleteFunc(entries, func(e Entry) bool { return now.Sub(e.Last) > l.Age })
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(
			b.Last.Compare(a.Last), cmp.Compare(a.Object.Kind, b.Object.Kind), cmp.Compare(a.Object.Name, b.Object.Name),
			cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Message, b.Message), cmp.Compare(a.Outcome, b.Outcome),
		)
	})
	r.Results, r.Summary = make([]v1alpha1.ReportResult, 0, min(len(entries), l.Results)), v1alpha1.ReportSummary{}
	bytes := 0
	for i := range entries {
		result := entries[i].result()
		data, err := json.Marshal(&result)
		if err != nil {
			return dropped{}, fmt.Errorf("encode a result about %s %s: %w", entries[i].Object.Kind, entries[i].Object.Name, err)
		}
		if bytes += len(data) + 1; len(r.Results) == l.Results || bytes > l.Bytes {
			return dropped{len(entries) - i, sum(entries[i:])}, nil
		}
		r.Results = append(r.Results, result)
		if result.Result == "fail" {
			r.Summary.Fail++
		} else {
			r.Summary.Warn++
		}
	}
	return dropped{}, nil
}

func sum(entries []Entry) int64 {
	var n int64
	for i := range entries {
		n += entries[i].Count
	}
	return n
}

// count adds to a number that an annotation holds.
func count(r *Report, annotation string, n int64) {
	if n > 0 {
		annotate(r, annotation, strconv.FormatInt(Dropped(r, annotation)+n, 10))
	}
}

// Dropped is the number in one of the annotations that count what was dropped.
func Dropped(r *Report, annotation string) int64 {
	n, err := strconv.ParseInt(r.Annotations[annotation], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func annotate(r *Report, name, value string) {
	if r.Annotations == nil {
		r.Annotations = map[string]string{}
	}
	r.Annotations[name] = value
}
