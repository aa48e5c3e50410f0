package audit

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
)

const (
	// queueLength holds what a burst of refused pods of a few hundred workloads brings, at about 2 KB each.
	queueLength = 512
	// writeTimeout is how long one Event may take, owner look-up included.
	writeTimeout = 5 * time.Second
	// flushTimeout is how long a shutdown waits for what is queued.
	flushTimeout = 5 * time.Second
)

// Results of a record, for the metric.
const (
	resultRecorded = "recorded"
	resultLimited  = "limited"
	resultFailed   = "failed"
	resultDropped  = "dropped"
)

// Recorder takes verdicts from admission and writes them down: a log line at once, an Event by and by. Where verdicts
// come faster than the API server takes Events, Events are dropped and counted; the log line is not.
type Recorder struct {
	log    logr.Logger
	events *eventWriter
	queue  chan Verdict
	total  *prometheus.CounterVec
}

// Config of a Recorder. All fields are required.
type Config struct {
	Log logr.Logger
	// Owners finds the workload that a pod belongs to.
	Owners OwnerGetter
	// Sink takes the Events.
	Sink EventSink
	// Registerer takes the metrics.
	Registerer prometheus.Registerer
	// Host is the name of this replica, for the Events.
	Host string
}

// NewRecorder makes a recorder; verdicts are queued until Run.
func NewRecorder(c Config) *Recorder {
	r := &Recorder{
		log:    c.Log,
		events: newEventWriter(c.Owners, c.Sink, c.Host),
		queue:  make(chan Verdict, queueLength),
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dynawire_audit_events_total",
			Help: "Events about refused pods by result (recorded, limited: the workload has had too many, failed, dropped: the queue was full).",
		}, []string{"result"}),
	}
	for _, result := range []string{resultRecorded, resultLimited, resultFailed, resultDropped} {
		r.total.WithLabelValues(result)
	}
	c.Registerer.MustRegister(r.total)
	return r
}

// Record logs a verdict and queues its Event. It never blocks.
func (r *Recorder) Record(v Verdict) {
	r.logVerdict(v)
	if len(v.denials()) == 0 {
		return // warnings were shown to the client: an Event for each pod would only be noise
	}
	select {
	case r.queue <- v:
	default:
		r.total.WithLabelValues(resultDropped).Inc()
	}
}

// Run writes Events until ctx ends, and then what is still queued, for a few seconds.
func (r *Recorder) Run(ctx context.Context) {
	for {
		select {
		case v := <-r.queue:
			// The end of ctx must not tear off what is being written.
			r.within(context.WithoutCancel(ctx), v)
		case <-ctx.Done():
			r.flush(context.WithoutCancel(ctx))
			return
		}
	}
}

// within writes one verdict in limited time: behind it, others wait.
func (r *Recorder) within(ctx context.Context, v Verdict) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	r.write(ctx, v)
}

func (r *Recorder) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	for {
		select {
		case v := <-r.queue:
			r.write(ctx, v)
		default:
			return
		}
	}
}

func (r *Recorder) write(ctx context.Context, v Verdict) {
	result, err := r.events.write(ctx, v)
	if err != nil {
		r.log.Error(err, "event was not recorded", "namespace", v.Namespace, "kind", v.Object.Kind, "name", v.Object.name())
	}
	r.total.WithLabelValues(result).Inc()
}

// logVerdict writes the one line that holds everything.
func (r *Recorder) logVerdict(v Verdict) {
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
