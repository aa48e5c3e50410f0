package audit

import (
	"context"
	"errors"
	"fmt"
	randv2 "math/rand/v2"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/dynawire/dynawire/internal/report"
	"github.com/dynawire/dynawire/internal/report/store"
)

// ReportStore is where Reports are: store.Client.
type ReportStore interface {
	Get(ctx context.Context, namespace, name string) (*report.Report, error)
	// Create and Update return how many bytes were sent.
	Create(ctx context.Context, r *report.Report) (int, error)
	Update(ctx context.Context, r *report.Report) (int, error)
}

const (
	// gather is how long the first verdict of a quiet namespace waits for more.
	gather = time.Second
	// writeInterval is between two writes of one namespace's Report.
	writeInterval = 5 * time.Second
	// bytesPerSecond bounds what a replica sends on average: after a write comes a pause by its length, 16 s after 1 MiB.
	// Each write is preceded by a read of the same length.
	bytesPerSecond = 64 << 10
	// conflictRetries is how often a write is tried anew at once because another replica was faster.
	conflictRetries = 10
	conflictPause   = 20 * time.Millisecond
	// A write that fails is tried again after retryFirst, then twice as long each time, up to retryMost. Where the CRD is
	// missing, retryMost comes at once.
	retryFirst = 5 * time.Second
	retryMost  = 5 * time.Minute
)

// reportWriter adds verdicts to the Reports of their namespaces. What it takes from pending becomes a batch, which is
// written until that has happened, once: a Report knows the last batch of each writer.
type reportWriter struct {
	log     logr.Logger
	pending *pending
	owners  OwnerGetter
	store   ReportStore
	metrics *metrics
	limits  report.Limits

	// name is of this process only: after a restart batches are numbered anew.
	name   string
	number uint64
	// namespaces are those of which something is to be written or was lately.
	namespaces map[string]*namespaceState
	// pause is until when nothing is written at all.
	pause time.Time
	// missing is whether the CRD was, the last time.
	missing bool
}

// namespaceState is how far a namespace's Report is.
type namespaceState struct {
	// due is when it may be written next.
	due      time.Time
	failures int
	// batch is being written: it is not known to have arrived. taken is what it is made of.
	batch *report.Batch
	taken []*entry
}

func newReportWriter(c Config, p *pending, m *metrics, l report.Limits) *reportWriter {
	return &reportWriter{
		log: c.Log, pending: p, owners: c.Owners, store: c.Reports, metrics: m, limits: l,
		name: rand.String(10), namespaces: map[string]*namespaceState{},
	}
}

// run writes until ctx ends, and then what is still pending, for a few seconds.
func (w *reportWriter) run(ctx context.Context) {
	for ctx.Err() == nil {
		namespace, due := w.next(time.Now())
		var timer <-chan time.Time
		if namespace != "" {
			timer = time.After(time.Until(due))
		}
		select {
		case <-w.pending.wake:
		case <-timer:
			// The end of ctx must not tear off what is being written.
			w.write(context.WithoutCancel(ctx), namespace)
		case <-ctx.Done():
		}
	}
	w.flush(context.WithoutCancel(ctx))
}

// next is the namespace that is due first, and when; none if nothing is to be written.
func (w *reportWriter) next(now time.Time) (string, time.Time) {
	waiting := map[string]bool{}
	for _, namespace := range w.pending.waiting() {
		waiting[namespace] = true
		if w.namespaces[namespace] == nil {
			w.namespaces[namespace] = &namespaceState{due: now.Add(gather)}
		}
	}
	first, due := "", time.Time{}
	for namespace, s := range w.namespaces {
		switch {
		case s.batch == nil && !waiting[namespace]:
			if now.After(s.due) {
				delete(w.namespaces, namespace)
			}
		case first == "" || s.due.Before(due):
			first, due = namespace, s.due
		}
	}
	if due.Before(w.pause) {
		due = w.pause
	}
	return first, due
}

// write adds what a namespace has to its Report, and says when the next write may be.
func (w *reportWriter) write(ctx context.Context, namespace string) {
	s := w.namespaces[namespace]
	if s.batch == nil {
		s.taken = w.pending.take(namespace)
		s.batch = w.batch(ctx, s.taken)
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	sent, err := w.add(ctx, namespace, *s.batch)
	now := time.Now()
	w.metrics.reportBytes.Add(float64(sent))
	w.pause = now.Add(time.Duration(sent) * time.Second / bytesPerSecond)
	switch {
	case err == nil:
		w.metrics.reports.WithLabelValues(resultWritten).Inc()
		w.metrics.installed.WithLabelValues().Set(1)
		w.missing = false
		w.finish(s)
		s.failures, s.due = 0, now.Add(writeInterval)
	case errors.Is(err, store.ErrNamespaceGone):
		for _, e := range s.taken {
			w.metrics.dropped.WithLabelValues(queueReports, reasonNamespaceGone).Add(float64(e.count))
		}
		w.finish(s)
		s.failures, s.due = 0, now.Add(writeInterval)
	case errors.Is(err, store.ErrNotInstalled):
		if !w.missing {
			w.log.Info("findings are not reported: "+store.ErrNotInstalled.Error()+"; it is tried again", "every", retryMost.String())
		}
		w.missing = true
		w.metrics.reports.WithLabelValues(resultNotInstalled).Inc()
		w.metrics.installed.WithLabelValues().Set(0)
		w.pause = now.Add(retryMost) // for all namespaces
	default:
		w.metrics.reports.WithLabelValues(resultFailed).Inc()
		s.due = now.Add(min(retryFirst<<min(s.failures, 10), retryMost))
		s.failures++
		w.log.Error(err, "report was not written; it is tried again", "namespace", namespace, "at", s.due)
	}
}

// finish forgets what was written or given up.
func (w *reportWriter) finish(s *namespaceState) {
	w.pending.done(s.taken...)
	s.batch, s.taken = nil, nil
}

// batch is made once: what is tried again must be the same.
func (w *reportWriter) batch(ctx context.Context, entries []*entry) *report.Batch {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	w.number++
	b := &report.Batch{Writer: w.name, Number: w.number}
	for _, e := range entries {
		b.Entries = append(b.Entries, e.results(w.owners.Owner(ctx, e.near))...)
	}
	return b
}

// add reads a Report, merges a batch and writes it back, again and again while others do the same. It returns how many
// bytes it sent, whether or not they arrived.
func (w *reportWriter) add(ctx context.Context, namespace string, b report.Batch) (sent int, err error) {
	for range conflictRetries {
		n, err := w.try(ctx, namespace, b)
		sent += n
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			return sent, err
		}
		w.metrics.reports.WithLabelValues(resultConflict).Inc()
		sleep(ctx, time.Duration(randv2.Int64N(int64(conflictPause))))
	}
	return sent, fmt.Errorf("write report %s/%s: another replica was faster %d times", namespace, report.Admission, conflictRetries)
}

func (w *reportWriter) try(ctx context.Context, namespace string, b report.Batch) (int, error) {
	r, err := w.store.Get(ctx, namespace, report.Admission)
	write := w.store.Update
	switch {
	case errors.Is(err, store.ErrNotInstalled) || errors.Is(err, store.ErrNamespaceGone):
		return 0, err
	case apierrors.IsNotFound(err):
		r, write = report.New(namespace, report.Admission), w.store.Create
	case err != nil:
		return 0, fmt.Errorf("read report %s/%s: %w", namespace, report.Admission, err)
	}
	added, err := report.Merge(r, b, w.limits, time.Now())
	if err != nil || !added {
		return 0, err
	}
	sent, err := write(ctx, r)
	if err != nil {
		return sent, fmt.Errorf("write report %s/%s: %w", namespace, report.Admission, err)
	}
	return sent, nil
}

// flush writes all that is left, without any pause.
func (w *reportWriter) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	w.next(time.Now())
	for namespace, s := range w.namespaces {
		// A batch under way comes first, and then what has come since.
		for range 2 {
			if ctx.Err() == nil && (s.batch != nil || w.pending.has(namespace)) {
				w.write(ctx, namespace)
			}
		}
	}
	if n := w.pending.held(); n > 0 {
		w.log.Info("reports are without what was found last: it could not be written before the end", "entries", n)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
