package audit_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/dynawire/dynawire/internal/audit"
	"github.com/dynawire/dynawire/pkg/validate"
	"github.com/dynawire/dynawire/pkg/wiring"
)

const (
	eventsTotal  = "dynawire_audit_events_total"
	droppedTotal = "dynawire_audit_dropped_total"
)

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
	assert.EqualValues(t, 1, e.Count)
	assert.EqualValues(t, 1, f.metric(t, eventsTotal, "recorded"))
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
	assert.Len(t, f.reports.entries("llm"), 2, "the report has warnings too")
}

func TestReasonsOfObjectsThatAreNoPods(t *testing.T) {
	f := newFixture()
	v := refusal(mismatch)
	v.Object.Kind, v.Object.OwnerReferences = "Service", nil
	f.Record(v)
	v.Refused, v.Mode = false, wiring.Warn
	f.Record(v)
	f.flush()
	var reasons []string
	for _, e := range f.sink.events {
		reasons = append(reasons, e.Reason)
	}
	assert.ElementsMatch(t, []string{audit.ReasonObjectRefused, audit.ReasonObjectFindings}, reasons)
}

func TestSeveralFindingsAreNumbered(t *testing.T) {
	second := mismatch
	second.Rule = "role-mismatch"
	assert.Equal(t, "(1) spec.containers[0].args: says prefill. [component-mismatch] (2) spec.containers[0].args: says prefill. [role-mismatch]",
		audit.Message([]validate.Finding{mismatch, second}))
}

// What a namespace asks for a rule goes before its mode.
func TestEventNamesWhatRefused(t *testing.T) {
	f := newFixture()
	second := mismatch
	second.Rule = "role-mismatch"
	v := refusal(mismatch, second)
	v.Rules = map[string]wiring.Action{"role-mismatch": wiring.ActionWarn}
	f.Record(v)
	f.flush()
	require.Len(t, f.sink.events, 1)
	assert.Equal(t, "spec.containers[0].args: says prefill. [component-mismatch]", f.sink.events[0].Message)
}

func TestEqualRefusalsAreOneWriteAndCounted(t *testing.T) {
	f := newFixture()
	for range 100 {
		f.Record(refusal(mismatch))
	}
	f.flush()
	require.Len(t, f.sink.events, 1)
	assert.EqualValues(t, 100, f.sink.events[0].Count)
	for range 7 {
		f.Record(refusal(mismatch))
	}
	f.flush()
	require.Len(t, f.sink.events, 1)
	assert.EqualValues(t, 107, f.sink.events[0].Count)
	assert.Equal(t, 2, f.sink.writes)
}

func TestAnEventThatExpiredBeginsAnew(t *testing.T) {
	f := newFixture()
	f.Record(refusal(mismatch))
	f.flush()
	f.sink.events = nil
	for range 3 {
		f.Record(refusal(mismatch))
	}
	f.flush()
	require.Len(t, f.sink.events, 1)
	assert.EqualValues(t, 3, f.sink.events[0].Count)
}

func TestOneWorkloadCannotFloodTheCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		stop := running(f.Recorder)
		for range 600 { // ten minutes
			f.Record(refusal(mismatch))
			time.Sleep(time.Second)
		}
		stop()
		assert.InDelta(t, 27, f.sink.writes, 1, "25 at once, and one every five minutes")
		assert.Len(t, f.sink.events, 1)
	})
}

func TestManyWorkloadsGetTheirEventsByAndBy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		stop := running(f.Recorder)
		for i := range 1000 {
			f.Record(of(fmt.Sprint("w-", i), refusal(mismatch)))
		}
		time.Sleep(time.Second)
		synctest.Wait()
		writes, _ := f.sink.wrote()
		assert.InDelta(t, 60, writes, 1)
		time.Sleep(95 * time.Second)
		synctest.Wait()
		_, events := f.sink.wrote()
		assert.Equal(t, 1000, events)
		stop()
	})
}

func TestWhatDoesNotFitIsDroppedAndNeverBlocks(t *testing.T) {
	f := newFixture()
	for i := range 5000 {
		v := of(fmt.Sprint("w-", i), refusal(mismatch))
		v.Namespace = fmt.Sprint("ns-", i%5)
		f.Record(v)
		f.Record(v) // the ones that are held go on counting
	}
	held := f.metric(t, "dynawire_audit_pending", "reports")
	assert.EqualValues(t, 4096, held)
	assert.EqualValues(t, 2*(5000-held), f.metric(t, droppedTotal, "reports", "full"))
	assert.Equal(t, 10_000, strings.Count(f.log.String(), "object has findings"), "the log has them all")
	f.flush()
	assert.Zero(t, f.metric(t, "dynawire_audit_pending", "reports"))
}

func TestHugeFindingsAreBounded(t *testing.T) {
	f := newFixture()
	huge := mismatch
	huge.Message = strings.Repeat("ö", 1500)
	for i := range 2400 {
		v := of(fmt.Sprint("w-", i), refusal(mismatch, huge))
		v.Namespace = fmt.Sprint("ns-", i%4)
		f.Record(v)
		f.log.Reset()
	}
	assert.InDelta(t, 6<<20/(768+2048+100.), f.metric(t, "dynawire_audit_pending", "reports"), 100)
}

func TestFailedEventIsLoggedAndCounted(t *testing.T) {
	f := newFixture()
	f.sink.fail = func() error { return errors.New("no connection") }
	f.Record(refusal(mismatch))
	f.flush()
	assert.Contains(t, f.log.String(), "no connection")
	assert.EqualValues(t, 1, f.metric(t, eventsTotal, "failed"))
}

func TestRunWritesWhileItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		stop := running(f.Recorder)
		f.Record(refusal(mismatch))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		_, events := f.sink.wrote()
		assert.Equal(t, 1, events)
		assert.Len(t, f.reports.entries("llm"), 1)
		stop()
	})
}

func TestLongMessageIsCut(t *testing.T) {
	f := newFixture()
	long := mismatch
	long.Message = strings.Repeat("ö", 10_000)
	f.Record(refusal(long, long, long, long, long))
	f.flush()
	require.Len(t, f.sink.events, 1)
	assert.Less(t, len(f.sink.events[0].Message), 9000)
	assert.True(t, strings.HasSuffix(f.sink.events[0].Message, "ö …"))
}

func TestPodWithoutControllerIsItsOwnWorkload(t *testing.T) {
	f := newFixture()
	v := refusal(mismatch)
	v.Object.OwnerReferences, v.Object.Name, v.Object.GenerateName = nil, "", "p-"
	f.Record(v)
	f.flush()
	assert.Equal(t, corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: "llm", Name: "p-", UID: "pod-uid"}, f.sink.events[0].InvolvedObject)
}
