package audit

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
)

// Reasons of our Events.
const (
	// ReasonRefused is a pod that was turned away.
	ReasonRefused = "DynamoPodRefused"
	// ReasonFindings is a pod that got in although a rule of severity deny found something: validation is warn or audit.
	ReasonFindings = "DynamoPodFindings"
)

const (
	component = "dynawire"
	// maxMessage keeps an Event small; the log has everything. The API server takes any length in core/v1.
	maxMessage = 8 << 10
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
	owners     OwnerGetter
	sink       EventSink
	host       string
	correlator *record.EventCorrelator
}

func newEventWriter(owners OwnerGetter, sink EventSink, host string) *eventWriter {
	return &eventWriter{owners: owners, sink: sink, host: host, correlator: record.NewEventCorrelatorWithOptions(record.CorrelatorOptions{})}
}

// write records a verdict and returns a result for the metric.
func (w *eventWriter) write(ctx context.Context, v Verdict) (string, error) {
	owner := w.owners.Owner(ctx, v)
	correlated, err := w.correlator.EventCorrelate(w.event(owner, v))
	if err != nil {
		return resultFailed, fmt.Errorf("correlate an event about %s %s/%s: %w", owner.Kind, owner.Namespace, owner.Name, err)
	}
	if correlated.Skip {
		return resultLimited, nil
	}
	stored, err := w.send(ctx, correlated.Event, correlated.Patch)
	if err != nil {
		return resultFailed, fmt.Errorf("record an event about %s %s/%s: %w", owner.Kind, owner.Namespace, owner.Name, err)
	}
	w.correlator.UpdateState(stored)
	return resultRecorded, nil
}

func (w *eventWriter) send(ctx context.Context, e *corev1.Event, patch []byte) (*corev1.Event, error) {
	if e.Count > 1 {
		stored, err := w.sink.Patch(ctx, e.Namespace, e.Name, patch)
		if !apierrors.IsNotFound(err) {
			return stored, err
		}
		// The earlier Event has expired: begin anew.
		e = e.DeepCopy()
		e.Name, e.ResourceVersion = eventName(e.InvolvedObject.Name), ""
	}
	return w.sink.Create(ctx, e.Namespace, e)
}

func (w *eventWriter) event(owner corev1.ObjectReference, v Verdict) *corev1.Event {
	reason, action := ReasonFindings, "Admitted"
	if v.Refused {
		reason, action = ReasonRefused, "Refused"
	}
	message := Message(v.denials())
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + " …"
	}
	at := metav1.NewTime(v.Time)
	return &corev1.Event{
		ObjectMeta:          metav1.ObjectMeta{Name: eventName(owner.Name), Namespace: v.Namespace},
		InvolvedObject:      owner,
		Reason:              reason,
		Message:             message,
		Source:              corev1.EventSource{Component: component, Host: w.host},
		FirstTimestamp:      at,
		LastTimestamp:       at,
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
