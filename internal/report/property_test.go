package report_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynawire/dynawire/internal/report"
)

// stored is the Report in the API server, which takes a write only of the version that was read.
type stored struct {
	*report.Report
	version int
}

// writer is a replica: it reads, merges and writes, in steps that others come between, and does not always learn whether
// its write arrived.
type writer struct {
	name  string
	next  report.Batch
	read  *report.Report
	at    int
	total int64
}

// Whatever the interleaving of several writers, of conflicts and of writes of which nobody heard again: the Report's counts
// and those of what was dropped are all that was ever found, and the Report stays within its limits.
func TestNothingIsLostOrDoubled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := report.Limits{Results: rapid.IntRange(1, 6).Draw(t, "results"), Bytes: rapid.IntRange(1500, 10_000).Draw(t, "bytes")}
		server := stored{Report: report.New("llm", report.Admission)}
		writers := make([]*writer, rapid.IntRange(1, 5).Draw(t, "writers"))
		for i := range writers {
			writers[i] = &writer{name: fmt.Sprint("w", i)}
		}
		now := noon
		find := func(w *writer) {
			w.next.Writer, w.next.Number = w.name, w.next.Number+1
			w.next.Entries = nil
			for range rapid.IntRange(1, 3).Draw(t, "entries") {
				n := rapid.Int64Range(1, 1000).Draw(t, "count")
				w.next.Entries = append(w.next.Entries, entry(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "object"), func(e *report.Entry) {
					e.Count, e.First, e.Last = n, now, now
				}))
				w.total += n
			}
		}
		step := func(w *writer) {
			now = now.Add(time.Second)
			switch {
			case w.next.Entries == nil:
				find(w)
			case w.read == nil:
				w.read, w.at = server.DeepCopy(), server.version
			default:
				added, err := report.Merge(w.read, w.next, limits, now)
				require.NoError(t, err)
				if !added {
					w.next.Entries, w.read = nil, nil // an earlier write arrived
					return
				}
				if w.at == server.version {
					server = stored{w.read, server.version + 1}
					if rapid.Bool().Draw(t, "heard") {
						w.next.Entries = nil
					}
				}
				w.read = nil
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			step(rapid.SampledFrom(writers).Draw(t, "writer"))
		}
		// In the end everybody gets through.
		var total int64
		for _, w := range writers {
			for w.next.Entries != nil {
				step(w)
			}
			total += w.total
		}
		got := report.Dropped(server.Report, report.AnnotationDroppedFindings)
		for _, e := range report.Entries(server.Report) {
			got += e.Count
		}
		require.Equal(t, total, got)
		require.LessOrEqual(t, len(server.Results), limits.Results)
		require.Equal(t, len(server.Results), server.Summary.Fail)
	})
}
