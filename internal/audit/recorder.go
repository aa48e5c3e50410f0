package audit

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/dynawire/dynawire/internal/report"
)

const (
	// writeTimeout is how long one Event may take, owner look-up included, and one Report without it.
	writeTimeout = 5 * time.Second
	// flushTimeout is how long a shutdown waits for what is pending.
	flushTimeout = 5 * time.Second
)

// Recorder takes verdicts from admission and writes them down: a log line at once, an Event and a Report by and by. Where
// verdicts come faster than that, equal ones are counted together. Only what is left over when thousands of different
// ones wait is dropped and counted; its log line is not.
type Recorder struct {
	log     logr.Logger
	events  *eventWriter
	reports *reportWriter
}

// Config of a Recorder. All fields are required, but Retention.
type Config struct {
	Log logr.Logger
	// Owners finds the workload that a pod belongs to.
	Owners OwnerGetter
	// Sink takes the Events.
	Sink EventSink
	// Reports takes the Reports.
	Reports ReportStore
	// Retention is how long a Report keeps what has not been seen again; 0 keeps it for good.
	Retention time.Duration
	// Registerer takes the metrics.
	Registerer prometheus.Registerer
	// Host is the name of this replica, for the Events.
	Host string
}

// NewRecorder makes a recorder; verdicts are pending until Run.
func NewRecorder(c Config) *Recorder {
	m := newMetrics()
	events := newPending(m.dropped.WithLabelValues(queueEvents, reasonFull))
	reports := newPending(m.dropped.WithLabelValues(queueReports, reasonFull))
	m.register(c.Registerer, events, reports)
	return &Recorder{
		log:     c.Log,
		events:  newEventWriter(c, events, m),
		reports: newReportWriter(c, reports, m, report.Room(c.Retention)),
	}
}

// Record logs a verdict, and has it written by and by. It never waits for the API server.
func (r *Recorder) Record(v Verdict) {
	r.logVerdict(&v)
	near := v.near()
	k := keyOf(&v, &near)
	r.reports.pending.add(k, &v, near)
	if v.tells() {
		r.events.pending.add(k, &v, near)
	}
}

// Run writes until ctx ends, and then what is still pending, for a few seconds.
func (r *Recorder) Run(ctx context.Context) {
	var writers sync.WaitGroup
	writers.Go(func() { r.events.run(ctx) })
	writers.Go(func() { r.reports.run(ctx) })
	writers.Wait()
}

// logVerdict writes the one line that holds everything.
func (r *Recorder) logVerdict(v *Verdict) {
	rules := make([]string, len(v.Findings))
	texts := make([]string, len(v.Findings))
	for i, f := range v.Findings {
		rules[i], texts[i] = f.Rule, f.String()
	}
	owner := ""
	for _, o := range v.Object.OwnerReferences {
		if o.Controller {
			owner = o.Kind + "/" + o.Name
		}
	}
	r.log.Info("object has findings", "refused", v.Refused, "mode", string(v.Mode), "operation", v.Operation,
		"namespace", v.Namespace, "kind", v.Object.Kind, "name", v.Object.name(), "owner", owner, "user", v.User, "rules", rules, "findings", texts)
}
