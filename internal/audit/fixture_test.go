package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/dynawire/dynawire/internal/audit"
	"github.com/dynawire/dynawire/internal/report"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/validate"
	"github.com/dynawire/dynawire/pkg/wiring"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var mismatch = validate.Finding{Rule: "component-mismatch", Severity: validate.Deny, Field: "spec.containers[0].args", Message: "says prefill."}

func refusal(findings ...validate.Finding) audit.Verdict {
	return audit.Verdict{
		Time: time.Date(2026, 11, 20, 21, 0, 0, 0, time.UTC), Namespace: "llm", Operation: "CREATE", User: "alice",
		Mode: wiring.Enforce, Refused: true, Findings: findings,
		Object: audit.Object{APIVersion: "v1", Kind: "Pod", Metadata: pod.Metadata{Name: "w-1", UID: "pod-uid", OwnerReferences: []pod.OwnerReference{
			{APIVersion: "v1", Kind: "ConfigMap", Name: "no controller"},
			{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "w", UID: "set-uid", Controller: true},
		}}},
	}
}

// of is the refusal as one of another workload.
func of(workload string, v audit.Verdict) audit.Verdict {
	v.Object.OwnerReferences = []pod.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: workload, UID: "uid-of-" + workload, Controller: true}}
	return v
}

// sink keeps Events in memory; its fail is asked first.
type sink struct {
	mu     sync.Mutex
	fail   func() error
	events []*corev1.Event
	writes int
}

// wrote is how many writes there were, and how many Events there are.
func (s *sink) wrote() (writes, events int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes, len(s.events)
}

func (s *sink) Create(ctx context.Context, namespace string, e *corev1.Event) (*corev1.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	if s.fail != nil {
		if err := s.fail(); err != nil {
			return nil, err
		}
	}
	if namespace != e.Namespace {
		return nil, fmt.Errorf("event of %s in %s", e.Namespace, namespace)
	}
	s.events = append(s.events, e)
	return e, ctx.Err()
}

func (s *sink) Patch(_ context.Context, _, name string, patch []byte) (*corev1.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	for i, e := range s.events {
		if e.Name == name {
			patched := e.DeepCopy()
			err := json.Unmarshal(patch, patched)
			s.events[i] = patched
			return patched, err
		}
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "events"}, name)
}

// reports is an API server's Reports in memory.
type reports struct {
	mu sync.Mutex
	// before and after are asked about each write, before and after it is done.
	before, after func() error
	stored        map[string]*report.Report
	version       int
	writes, bytes int
	largest       int
}

var resource = schema.GroupResource{Group: "openreports.io", Resource: "reports"}

func (s *reports) Get(_ context.Context, namespace, name string) (*report.Report, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.stored[namespace]; r != nil {
		return r.DeepCopy(), nil
	}
	return nil, apierrors.NewNotFound(resource, name)
}

func (s *reports) Create(ctx context.Context, r *report.Report) (int, error) {
	return s.write(ctx, r, func(stored *report.Report) error {
		if stored != nil {
			return apierrors.NewAlreadyExists(resource, r.Name)
		}
		return nil
	})
}

func (s *reports) Update(ctx context.Context, r *report.Report) (int, error) {
	return s.write(ctx, r, func(stored *report.Report) error {
		if stored == nil || stored.ResourceVersion != r.ResourceVersion {
			return apierrors.NewConflict(resource, r.Name, nil)
		}
		return nil
	})
}

func (s *reports) write(ctx context.Context, r *report.Report, check func(*report.Report) error) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, err := json.Marshal(r)
	if err != nil {
		return 0, err
	}
	s.writes++
	s.bytes += len(data)
	s.largest = max(s.largest, len(data))
	for _, ask := range []func() error{ctx.Err, s.before, func() error { return check(s.stored[r.Namespace]) }} {
		if ask == nil {
			continue
		}
		if err := ask(); err != nil {
			return len(data), err
		}
	}
	s.version++
	r = r.DeepCopy()
	r.ResourceVersion = strconv.Itoa(s.version)
	if s.stored == nil {
		s.stored = map[string]*report.Report{}
	}
	s.stored[r.Namespace] = r
	if s.after != nil {
		return len(data), s.after()
	}
	return len(data), nil
}

// wrote is how many writes there were, how many bytes they sent, and how many the largest.
func (s *reports) wrote() (writes, bytes, largest int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes, s.bytes, s.largest
}

// entries are those of a namespace.
func (s *reports) entries(namespace string) []report.Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stored[namespace] == nil {
		return nil
	}
	return report.Entries(s.stored[namespace])
}

type fixture struct {
	*audit.Recorder
	sink     *sink
	reports  *reports
	log      *bytes.Buffer
	logger   logr.Logger
	registry *prometheus.Registry
}

func newFixture() fixture {
	f := fixture{sink: &sink{}, reports: &reports{}, log: &bytes.Buffer{}, registry: prometheus.NewRegistry()}
	f.logger = logr.FromSlogHandler(slog.NewJSONHandler(f.log, nil))
	f.Recorder = f.replica(f.registry)
	return f
}

// replica is one more recorder with the same API server.
func (f fixture) replica(r prometheus.Registerer) *audit.Recorder {
	return audit.NewRecorder(audit.Config{
		Log: f.logger, Owners: &audit.Owners{}, Sink: f.sink, Reports: f.reports, Registerer: r, Host: "replica-0",
	})
}

// flush runs the recorder for as long as it takes to write what is pending.
func (f fixture) flush() {
	done, cancel := context.WithCancel(context.Background())
	cancel()
	f.Run(done)
}

// running runs recorders until the function that is returned is called.
func running(recorders ...*audit.Recorder) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for _, r := range recorders {
		all.Go(func() { r.Run(ctx) })
	}
	return func() {
		cancel()
		all.Wait()
	}
}

// metric is the value of a counter or a gauge.
func (f fixture) metric(t *testing.T, name string, labels ...string) float64 {
	t.Helper()
	families, err := f.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			var got []string
			for _, l := range m.GetLabel() {
				got = append(got, l.GetValue())
			}
			if fmt.Sprint(got) == fmt.Sprint(labels) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	t.Fatalf("no metric %s %v", name, labels)
	return 0
}
