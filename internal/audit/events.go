package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/dynawire/dynawire/internal/report"
)

// Reasons of our Events.
const (
	// ReasonRefused is a pod that was turned away.
	ReasonRefused = "DynamoPodRefused"
	// ReasonFindings is a pod that got in although a rule of severity deny found something (validation is warn or audit), or
	// a workload whose pods will be refused.
	ReasonFindings = "DynamoPodFindings"
	// ReasonObjectRefused and ReasonObjectFindings are the same for objects that neither are nor make pods.
	ReasonObjectRefused  = "DynamoObjectRefused"
	ReasonObjectFindings = "DynamoObjectFindings"
)

const (
	component = "dynawire"
	// maxMessage keeps an Event small; the log has everything. The API server takes any length in core/v1.
	maxMessage = 8 << 10
	// eventsPerSecond and eventsAtOnce bound what a replica writes, whatever happens; flushPerSecond does while it stops.
	eventsPerSecond = 10
	eventsAtOnce    = 50
	flushPerSecond  = 100
	// workloadsKept is of how many workloads client-go's correlator knows the latest Events.
	workloadsKept = 1024
)

// EventSink is where Events go: what is used of a typed client for Events.
type EventSink interface {
	Create(ctx context.Context, namespace string, e *corev1.Event) (*corev1.Event, error)
	Patch(ctx context.Context, namespace, name string, patch []byte) (*corev1.Event, error)
}

// Events is the EventSink of a cluster.
type Events struct{ Client corev1client.EventsGetter }

// Create implements EventSink.
func (s Events) Create(ctx context.Context, namespace string, e *corev1.Event) (*corev1.Event, error) {
	return s.Client.Events(namespace).Create(ctx, e, metav1.CreateOptions{})
}

// Patch implements EventSink.
func (s Events) Patch(ctx context.Context, namespace, name string, patch []byte) (*corev1.Event, error) {
	return s.Client.Events(namespace).Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
}

// eventWriter turns verdicts into Events. client-go's correlator counts equal ones up instead of adding more, gathers
// similar ones, and lets a workload have 25 at once and one every five minutes after that. It is used without client-go's
// broadcaster, which can neither be flushed nor say what it lost.
type eventWriter struct {
	log        logr.Logger
	pending    *pending
	owners     OwnerGetter
	sink       EventSink
	host       string
	total      *prometheus.CounterVec
	limiter    *rate.Limiter
	correlator *record.EventCorrelator
}

func newEventWriter(c Config, p *pending, m *metrics) *eventWriter {
	return &eventWriter{
		log: c.Log, pending: p, owners: c.Owners, sink: c.Sink, host: c.Host, total: m.events,
		limiter:    rate.NewLimiter(eventsPerSecond, eventsAtOnce),
		correlator: record.NewEventCorrelatorWithOptions(record.CorrelatorOptions{LRUCacheSize: workloadsKept}),
	}
}

// run writes until ctx ends, and then what is still pending, for a few seconds.
func (w *eventWriter) run(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-w.pending.wake:
			// The end of ctx must not tear off what is being written.
			w.drain(ctx, context.WithoutCancel(ctx))
		case <-ctx.Done():
		}
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	w.limiter.SetLimit(flushPerSecond)
	w.drain(late, late)
	if n := w.pending.held(); n > 0 {
		w.log.Info("events were not written before the end", "entries", n)
	}
}

// drain writes what is pending until ctx ends, each Event within inFlight.
func (w *eventWriter) drain(ctx, inFlight context.Context) {
	// Waiting comes before taking: meanwhile equal verdicts are counted into the entry.
	for w.pending.held() > 0 && w.limiter.Wait(ctx) == nil {
		e := w.pending.pop()
		w.within(inFlight, e)
		w.pending.done(e)
	}
}

// within writes one Event in limited time: behind it, others wait.
func (w *eventWriter) within(ctx context.Context, e *entry) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	result, err := w.write(ctx, e)
	if err != nil {
		w.log.Error(err, "event was not recorded", "namespace", e.namespace, "object", e.example)
	}
	w.total.WithLabelValues(result).Inc()
}

// write records an entry and returns a result for the metric.
func (w *eventWriter) write(ctx context.Context, e *entry) (string, error) {
	owner := w.owners.Owner(ctx, e.near)
	correlated, err := w.correlator.EventCorrelate(w.event(owner, e))
	if err != nil {
		return resultFailed, fmt.Errorf("correlate an event about %s %s/%s: %w", owner.Kind, owner.Namespace, owner.Name, err)
	}
	if correlated.Skip {
		return resultLimited, nil
	}
	stored, err := w.send(ctx, correlated.Event, e.count)
	if err != nil {
		return resultFailed, fmt.Errorf("record an event about %s %s/%s: %w", owner.Kind, owner.Namespace, owner.Name, err)
	}
	w.correlator.UpdateState(stored)
	return resultRecorded, nil
}

// send creates an Event that stands for so many, or counts up the one before.
func (w *eventWriter) send(ctx context.Context, correlated *corev1.Event, count int64) (*corev1.Event, error) {
	e := correlated.DeepCopy()
	again := e.Count > 1
	// The correlator has counted one.
	e.Count = int32(min(int64(e.Count)-1+count, math.MaxInt32))
	if again {
		patch, err := json.Marshal(map[string]any{"count": e.Count, "lastTimestamp": e.LastTimestamp, "message": e.Message})
		if err != nil {
			return nil, err
		}
		stored, err := w.sink.Patch(ctx, e.Namespace, e.Name, patch)
		if !apierrors.IsNotFound(err) {
			return stored, err
		}
		// The earlier Event has expired: begin anew.
		e.Name, e.ResourceVersion, e.Count = eventName(e.InvolvedObject.Name), "", int32(min(count, math.MaxInt32))
		e.FirstTimestamp = e.LastTimestamp
	}
	return w.sink.Create(ctx, e.Namespace, e)
}

func (w *eventWriter) event(owner corev1.ObjectReference, e *entry) *corev1.Event {
	reason, action := ReasonFindings, "Admitted"
	switch object := e.kind == "Service" || e.kind == "DynamoWorkerMetadata"; {
	case e.refused && object:
		reason, action = ReasonObjectRefused, "Refused"
	case e.refused:
		reason, action = ReasonRefused, "Refused"
	case object:
		reason = ReasonObjectFindings
	}
	return &corev1.Event{
		ObjectMeta:          metav1.ObjectMeta{Name: eventName(owner.Name), Namespace: e.namespace},
		InvolvedObject:      owner,
		Reason:              reason,
		Message:             report.Cut(Message(e.telling()), maxMessage),
		Source:              corev1.EventSource{Component: component, Host: w.host},
		FirstTimestamp:      metav1.NewTime(e.first),
		LastTimestamp:       metav1.NewTime(e.last),
		Count:               1,
		Type:                corev1.EventTypeWarning,
		Action:              action,
		ReportingController: component,
		ReportingInstance:   w.host,
	}
}

// eventName is unique, and readable as client-go's own.
func eventName(object string) string {
	if object == "" {
		object = component
	}
	const longest = 253 - 17
	if len(object) > longest {
		object = object[:longest]
	}
	return strings.TrimRight(object, "-.") + "." + rand.String(16)
}
