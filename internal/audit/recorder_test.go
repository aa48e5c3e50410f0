package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"

	"github.com/dynawire/dynawire/internal/audit"
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
			{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "w", UID: "set-uid", Controller: true},
		}}},
	}
}

// sink keeps Events in memory; its fail is asked first.
type sink struct {
	mu     sync.Mutex
	fail   func() error
	events []*corev1.Event
}

func (s *sink) Create(ctx context.Context, namespace string, e *corev1.Event) (*corev1.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
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
	for i, e := range s.events {
		if e.Name == name {
			patched := e.DeepCopy()
			err := json.Unmarshal(patch, patched)
			s.events[i] = patched
			return patched, err
		}
	}
	return nil, errors.New("no such event")
}

type fixture struct {
	*audit.Recorder
	sink     *sink
	log      *bytes.Buffer
	registry *prometheus.Registry
}

func newFixture() fixture {
	f := fixture{sink: &sink{}, log: &bytes.Buffer{}, registry: prometheus.NewRegistry()}
	f.Recorder = audit.NewRecorder(audit.Config{
		Log: logr.FromSlogHandler(slog.NewJSONHandler(f.log, nil)), Owners: &audit.Owners{}, Sink: f.sink, Registerer: f.registry, Host: "replica-0",
	})
	return f
}

// flush runs the recorder for as long as it takes to write what is queued.
func (f fixture) flush() {
	done, cancel := context.WithCancel(context.Background())
	cancel()
	f.Run(done)
}

func (f fixture) metric(t *testing.T, want string) {
	t.Helper()
	const head = `# HELP dynawire_audit_events_total Events about refused pods by result (recorded, limited: the workload has had too many, failed, dropped: the queue was full).
# TYPE dynawire_audit_events_total counter
`
	require.NoError(t, testutil.GatherAndCompare(f.registry, strings.NewReader(head+want), "dynawire_audit_events_total"))
}

func TestRefusalBecomesAnEventOfTheWorkload(t *testing.T) {
	f := newFixture()
	f.Record(refusal(mismatch))
	f.flush()
	require.Len(t, f.sink.events, 1)
	e := f.sink.events[0]
	assert.Equal(t, corev1.ObjectReference{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: "llm", Name: "w", UID: "set-uid"}, e.InvolvedObject)
	assert.Equal(t, audit.ReasonRefused, e.Reason)
	assert.Equal(t, "Refused", e.Action)
	assert.Equal(t, corev1.EventTypeWarning, e.Type)
	assert.Equal(t, "spec.containers[0].args: says prefill. [component-mismatch]", e.Message)
	assert.Equal(t, "llm", e.Namespace)
	f.metric(t, `dynawire_audit_events_total{result="dropped"} 0
dynawire_audit_events_total{result="failed"} 0
dynawire_audit_events_total{result="limited"} 0
dynawire_audit_events_total{result="recorded"} 1
`)
}

func TestRefusalIsOneLogLine(t *testing.T) {
	f := newFixture()
	f.Record(refusal(mismatch))
	var line map[string]any
	require.NoError(t, json.Unmarshal(f.log.Bytes(), &line), "one JSON object, at once")
	for key, want := range map[string]any{
		"msg": "object has findings", "refused": true, "mode": "enforce", "namespace": "llm", "kind": "Pod", "name": "w-1", "owner": "StatefulSet/w",
		"user": "alice", "operation": "CREATE", "rules": []any{"component-mismatch"},
		"findings": []any{"spec.containers[0].args: says prefill. [component-mismatch]"},
	} {
		assert.Equal(t, want, line[key], key)
	}
}

func TestAdmittedFindingsAreAnotherReasonAndWarningsNoEvent(t *testing.T) {
	f := newFixture()
	v := refusal(mismatch)
	v.Refused, v.Mode = false, wiring.Audit
	f.Record(v)
	f.Record(refusal(validate.Finding{Rule: "stale-env", Severity: validate.Warning}))
	f.flush()
	require.Len(t, f.sink.events, 1)
	assert.Equal(t, audit.ReasonFindings, f.sink.events[0].Reason)
	assert.Equal(t, 2, strings.Count(f.log.String(), "object has findings"))
}

func TestSeveralFindingsAreNumbered(t *testing.T) {
	second := mismatch
	second.Rule = "role-mismatch"
	assert.Equal(t, "(1) spec.containers[0].args: says prefill. [component-mismatch] (2) spec.containers[0].args: says prefill. [role-mismatch]",
		audit.Message([]validate.Finding{mismatch, second}))
}

func TestEqualRefusalsAreCounted(t *testing.T) {
	f := newFixture()
	for range 3 {
		f.Record(refusal(mismatch))
	}
	f.flush()
	require.Len(t, f.sink.events, 1)
	assert.EqualValues(t, 3, f.sink.events[0].Count)
}

func TestOneWorkloadCannotFloodTheCluster(t *testing.T) {
	f := newFixture()
	for range 100 {
		f.Record(refusal(mismatch))
	}
	f.flush()
	f.metric(t, `dynawire_audit_events_total{result="dropped"} 0
dynawire_audit_events_total{result="failed"} 0
dynawire_audit_events_total{result="limited"} 75
dynawire_audit_events_total{result="recorded"} 25
`)
}

func TestFullQueueDropsAndNeverBlocks(t *testing.T) {
	f := newFixture()
	for i := range 600 {
		v := refusal(mismatch)
		v.Object.OwnerReferences[0].UID = fmt.Sprint("set-", i) // each a workload of its own
		f.Record(v)
	}
	f.flush()
	assert.Len(t, f.sink.events, 512)
	f.metric(t, `dynawire_audit_events_total{result="dropped"} 88
dynawire_audit_events_total{result="failed"} 0
dynawire_audit_events_total{result="limited"} 0
dynawire_audit_events_total{result="recorded"} 512
`)
}

func TestFailedEventIsLoggedAndCounted(t *testing.T) {
	f := newFixture()
	f.sink.fail = func() error { return errors.New("no connection") }
	f.Record(refusal(mismatch))
	f.flush()
	assert.Contains(t, f.log.String(), "no connection")
	f.metric(t, `dynawire_audit_events_total{result="dropped"} 0
dynawire_audit_events_total{result="failed"} 1
dynawire_audit_events_total{result="limited"} 0
dynawire_audit_events_total{result="recorded"} 0
`)
}

func TestRunWritesWhileItRuns(t *testing.T) {
	f := newFixture()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { f.Run(ctx) })
	f.Record(refusal(mismatch))
	assert.Eventually(t, func() bool {
		f.sink.mu.Lock()
		defer f.sink.mu.Unlock()
		return len(f.sink.events) == 1
	}, 10*time.Second, time.Millisecond)
	cancel()
	running.Wait()
}

func TestLongMessageIsCut(t *testing.T) {
	f := newFixture()
	long := mismatch
	long.Message = strings.Repeat("ö", 10_000)
	f.Record(refusal(long))
	f.flush()
	require.Len(t, f.sink.events, 1)
	assert.Less(t, len(f.sink.events[0].Message), 9000)
	assert.True(t, strings.HasSuffix(f.sink.events[0].Message, "ö …"))
}
