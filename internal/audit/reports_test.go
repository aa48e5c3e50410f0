package audit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/internal/report"
	"github.com/dynawire/dynawire/internal/report/store"
	"github.com/dynawire/dynawire/pkg/validate"
	"github.com/dynawire/dynawire/pkg/wiring"
)

const reportWrites = "dynawire_audit_report_writes_total"

func TestRefusalIsInTheReport(t *testing.T) {
	f := newFixture()
	v := refusal(mismatch)
	for range 3 {
		f.Record(v)
		v.Time = v.Time.Add(time.Minute)
		v.User = "bob"
	}
	f.flush()
	entries := f.reports.entries("llm")
	require.Len(t, entries, 1)
	e := entries[0]
	assert.Equal(t, "StatefulSet/w", e.Object.Kind+"/"+e.Object.Name)
	assert.Equal(t, []any{"component-mismatch", "spec.containers[0].args", "says prefill.", validate.Deny, report.Refused},
		[]any{e.Rule, e.Field, e.Message, e.Severity, e.Outcome})
	assert.Equal(t, []string{"enforce", "CREATE", "bob", "Pod/w-1"}, []string{e.Mode, e.Operation, e.User, e.Example})
	assert.EqualValues(t, 3, e.Count)
	assert.Equal(t, 2*time.Minute, e.Last.Sub(e.First))
}

func TestOutcomes(t *testing.T) {
	warning := validate.Finding{Rule: "stale-env", Severity: validate.Warning, Field: "f", Message: "m"}
	type actions = map[string]wiring.Action
	for name, tc := range map[string]struct {
		mode    wiring.Mode
		rules   actions
		refused bool
		want    map[string]report.Outcome
	}{
		"enforce":  {wiring.Enforce, nil, true, map[string]report.Outcome{"component-mismatch": report.Refused, "stale-env": report.Warned}},
		"template": {wiring.Enforce, nil, false, map[string]report.Outcome{"component-mismatch": report.Warned, "stale-env": report.Warned}},
		"warn":     {wiring.Warn, nil, false, map[string]report.Outcome{"component-mismatch": report.Warned, "stale-env": report.Warned}},
		"audit":    {wiring.Audit, nil, false, map[string]report.Outcome{"component-mismatch": report.Admitted, "stale-env": report.Admitted}},
		"a rule that refuses under audit": {
			wiring.Audit, actions{"component-mismatch": wiring.ActionDeny}, true,
			map[string]report.Outcome{"component-mismatch": report.Refused, "stale-env": report.Admitted},
		},
		"rules that do not refuse": {
			wiring.Enforce, actions{"component-mismatch": wiring.ActionWarn, "stale-env": wiring.ActionAudit}, false,
			map[string]report.Outcome{"component-mismatch": report.Warned, "stale-env": report.Admitted},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture()
			v := refusal(mismatch, warning)
			v.Mode, v.Rules, v.Refused = tc.mode, tc.rules, tc.refused
			f.Record(v)
			f.flush()
			got := map[string]report.Outcome{}
			for _, e := range f.reports.entries("llm") {
				got[e.Rule] = e.Outcome
			}
			assert.Equal(t, tc.want, got)
		})
	}
}

// A write of which the answer is lost is tried again, and counted once.
func TestAnAmbiguousWriteIsNotDoubled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		lost := 3
		f.reports.after = func() error {
			if lost--; lost >= 0 {
				return context.DeadlineExceeded
			}
			return nil
		}
		stop := running(f.Recorder)
		for range 5 {
			f.Record(refusal(mismatch))
		}
		time.Sleep(2 * time.Second)
		f.Record(refusal(mismatch)) // meanwhile
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		require.Len(t, f.reports.entries("llm"), 1)
		assert.EqualValues(t, 6, f.reports.entries("llm")[0].Count)
		assert.EqualValues(t, 0, f.metric(t, "dynawire_audit_pending", "reports"))
		stop()
	})
}

func TestReplicasLoseAndDoubleNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		n := 0
		f.reports.after = func() error {
			if n++; n%3 == 0 {
				return errors.New("connection lost")
			}
			return nil
		}
		other := f.replica(prometheus.NewRegistry())
		stop := running(f.Recorder, other)
		for i := range 60 {
			f.Record(of(fmt.Sprint("w-", i%7), refusal(mismatch)))
			other.Record(of(fmt.Sprint("w-", i%5), refusal(mismatch)))
			time.Sleep(time.Second)
		}
		time.Sleep(30 * time.Minute)
		stop()
		var total int64
		for _, e := range f.reports.entries("llm") {
			total += e.Count
		}
		assert.EqualValues(t, 120, total)
		assert.Len(t, f.reports.entries("llm"), 7)
	})
}

// The interval grows with the report's size.
func TestBytesPerSecondAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		stop := running(f.Recorder)
		const minutes = 4
		for i := range 60 * minutes {
			for j := range 20 {
				f.Record(of(fmt.Sprint("w-", (20*i+j)%700), refusal(mismatch)))
			}
			f.log.Reset()
			time.Sleep(time.Second)
		}
		synctest.Wait()
		writes, bytes, largest := f.reports.wrote()
		t.Logf("%d writes, %d bytes, the largest %d", writes, bytes, largest)
		assert.LessOrEqual(t, bytes, 60*minutes*64<<10+largest)
		assert.Greater(t, writes, 20)
		stop()
	})
}

func TestOneLineWhereTheCRDIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.reports.before = func() error { return fmt.Errorf("%w: 404", store.ErrNotInstalled) }
		stop := running(f.Recorder)
		synctest.Wait()
		n, err := testutil.GatherAndCount(f.registry, "dynawire_audit_reports_installed")
		require.NoError(t, err)
		assert.Zero(t, n, "nobody knows before the first write")
		for i := range 60 {
			v := refusal(mismatch)
			v.Namespace = fmt.Sprint("ns-", i%3)
			f.Record(v)
			time.Sleep(time.Minute)
		}
		synctest.Wait()
		assert.Contains(t, f.log.String(), "reports.openreports.io is not installed")
		assert.Equal(t, 1, strings.Count(f.log.String(), "not installed"))
		writes, _, _ := f.reports.wrote()
		assert.Less(t, writes, 14, "every five minutes")
		assert.Zero(t, f.metric(t, "dynawire_audit_reports_installed"))
		_, events := f.sink.wrote()
		assert.Equal(t, 3, events, "Events go on")

		f.reports.mu.Lock()
		f.reports.before = nil
		f.reports.mu.Unlock()
		time.Sleep(6 * time.Minute)
		synctest.Wait()
		assert.EqualValues(t, 1, f.metric(t, "dynawire_audit_reports_installed"))
		for i := range 3 {
			entries := f.reports.entries(fmt.Sprint("ns-", i))
			require.Len(t, entries, 1)
			assert.EqualValues(t, 20, entries[0].Count, "nothing is lost meanwhile")
		}
		stop()
	})
}

func TestANamespaceThatIsGoneIsGivenUp(t *testing.T) {
	f := newFixture()
	f.reports.before = func() error { return fmt.Errorf("%w: 404", store.ErrNamespaceGone) }
	for range 3 {
		f.Record(refusal(mismatch))
	}
	f.flush()
	assert.EqualValues(t, 3, f.metric(t, droppedTotal, "reports", "namespace-gone"))
	assert.Zero(t, f.metric(t, "dynawire_audit_pending", "reports"))
}

// One namespace that cannot be written holds up no other.
func TestFailuresStayInTheirNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		bad := true
		f.reports.before = func() error {
			if bad = !bad; !bad {
				return nil
			}
			return errors.New("exceeded quota")
		}
		stop := running(f.Recorder)
		for i := range 4 {
			v := refusal(mismatch)
			v.Namespace = fmt.Sprint("ns-", i)
			f.Record(v)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.EqualValues(t, 2, f.metric(t, reportWrites, "written"))
		assert.EqualValues(t, 2, f.metric(t, reportWrites, "failed"))
		assert.Contains(t, f.log.String(), "exceeded quota")
		stop()
	})
}

func TestWhatIsPendingIsWrittenAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		stop := running(f.Recorder)
		f.Record(refusal(mismatch))
		time.Sleep(1500 * time.Millisecond)
		for i := range 20 { // the next write would be seconds away
			v := refusal(mismatch)
			v.Namespace = fmt.Sprint("ns-", i)
			f.Record(v)
			f.Record(refusal(mismatch))
		}
		stop()
		assert.EqualValues(t, 21, f.reports.entries("llm")[0].Count)
		for i := range 20 {
			assert.Len(t, f.reports.entries(fmt.Sprint("ns-", i)), 1)
		}
	})
}

// A restarted replica is a new writer and goes on with what is stored.
func TestCountsGoOnAfterARestart(t *testing.T) {
	f := newFixture()
	f.Record(refusal(mismatch))
	f.flush()
	again := f.replica(prometheus.NewRegistry())
	again.Record(refusal(mismatch))
	done, cancel := context.WithCancel(t.Context())
	cancel()
	again.Run(done)
	assert.EqualValues(t, 2, f.reports.entries("llm")[0].Count)
}
