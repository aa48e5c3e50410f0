package audit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openreports/reports-api/apis/openreports.io/v1alpha1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/dynawire/dynawire/internal/cli/audit"
	"github.com/dynawire/dynawire/internal/report"
	"github.com/dynawire/dynawire/pkg/validate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func entry(kind, name, rule string, outcome report.Outcome, age time.Duration) report.Entry {
	e := report.Entry{
		Object: corev1.ObjectReference{APIVersion: "apps/v1", Kind: kind, Name: name}, Rule: rule, Field: "spec.containers[0].args",
		Message: "says \x1b[31m" + name + ".", Severity: validate.Deny, Outcome: outcome, Count: 3, First: noon.Add(-age - time.Hour), Last: noon.Add(-age),
		User: "alice", Mode: "enforce", Operation: "CREATE", Example: "Pod/" + name + "-x",
	}
	if rule == "stale-env" {
		e.Severity = validate.Warning
	}
	return e
}

func reportOf(t testing.TB, namespace, name string, entries ...report.Entry) report.Report {
	r := report.New(namespace, name)
	require.NoError(t, report.Replace(r, entries, report.Room(0), noon))
	return *r
}

func sample(t testing.TB) []report.Report {
	return []report.Report{
		reportOf(
			t, "llm", report.Admission, entry("Deployment", "decode", "component-mismatch", report.Refused, 5*time.Minute),
			entry("StatefulSet", "prefill-of-a-long-name", "stale-env", report.Warned, 3*time.Hour),
		),
		reportOf(t, "llm", report.Drift, entry("Pod", "w-0", "unwired", "", time.Minute)),
		reportOf(t, "llm", "of-somebody-else", entry("Pod", "x", "x", "", 0)),
		reportOf(t, "batch", report.Admission, entry("Job", "j", "role-mismatch", report.Admitted, 40*24*time.Hour)),
	}
}

func objects(findings []audit.Finding) []string {
	var out []string
	for _, f := range findings {
		out = append(out, f.Object)
	}
	return out
}

func TestFilter(t *testing.T) {
	for name, tc := range map[string]struct {
		filter audit.Filter
		want   []string
	}{
		"all, the latest last": {audit.Filter{}, []string{"Job/j", "StatefulSet/prefill-of-a-long-name", "Deployment/decode", "Pod/w-0"}},
		"since":                {audit.Filter{After: noon.Add(-time.Hour)}, []string{"Deployment/decode", "Pod/w-0"}},
		"rule":                 {audit.Filter{Rule: "role-mismatch"}, []string{"Job/j"}},
		"both":                 {audit.Filter{After: noon.Add(-time.Hour), Rule: "role-mismatch"}, nil},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, objects(audit.Findings(sample(t), tc.filter))) })
	}
}

// A workload's template and the pods made from it break a rule in different fields.
func TestLines(t *testing.T) {
	template := entry("Deployment", "decode", "component-mismatch", report.Refused, 5*time.Minute)
	template.Field, template.User, template.Message = "spec.template.spec.containers[0].args", "bob", "template"
	pod := entry("Deployment", "decode", "component-mismatch", report.Refused, time.Minute)
	warned := entry("Deployment", "decode", "component-mismatch", report.Warned, time.Hour)
	reports := []report.Report{reportOf(t, "llm", report.Admission, template, pod, warned), reportOf(t, "other", report.Admission, template)}
	all := audit.Findings(reports, audit.Filter{})
	assert.Len(t, all, 4)
	lines := audit.Findings(reports, audit.Filter{Lines: true})
	assert.Equal(t, []string{"llm warned 3", "other refused 3", "llm refused 6"}, func() (out []string) {
		for _, f := range lines {
			out = append(out, fmt.Sprint(f.Namespace, " ", f.Outcome, " ", f.Count))
		}
		return out
	}())
	last := lines[2]
	assert.Equal(t, noon.Add(-time.Minute), last.LastSeen)
	assert.Equal(t, noon.Add(-time.Hour-5*time.Minute), last.FirstSeen)
	assert.Equal(t, "spec.containers[0].args alice", last.Field+" "+last.User, "what was seen last")
}

func printed(t *testing.T, p audit.Printer, findings []audit.Finding) string {
	t.Helper()
	p.Now = func() time.Time { return noon }
	var out bytes.Buffer
	require.NoError(t, p.Print(&out, findings))
	return out.String()
}

func TestTable(t *testing.T) {
	findings := audit.Findings(sample(t), audit.Filter{})
	assert.Equal(t, `LAST SEEN   OBJECT                               RULE                 OUTCOME    COUNT
40d         Job/j                                role-mismatch        admitted   3
3h          StatefulSet/prefill-of-a-long-name   stale-env            warned     3
5m          Deployment/decode                    component-mismatch   refused    3
60s         Pod/w-0                              unwired              running    3
`, printed(t, audit.Printer{}, findings))
	assert.Equal(t, `LAST SEEN   NAMESPACE   OBJECT              RULE                 OUTCOME   COUNT   USER    FIELD                     MESSAGE
5m          llm         Deployment/decode   component-mismatch   refused   3       alice   spec.containers[0].args   says ·[31mdecode.
`, printed(t, audit.Printer{Format: "wide", Namespaces: true}, findings[2:3]), "a message does nothing to the terminal")
	assert.Equal(t, "LAST SEEN   OBJECT              RULE                 OUTCOME   COUNT\n"+
		"\x1b[31m5m          Deployment/decode   component-mismatch   refused   3\x1b[0m\n", printed(t, audit.Printer{Colour: true}, findings[2:3]))
}

func TestStructuredOutput(t *testing.T) {
	findings := audit.Findings(sample(t), audit.Filter{Rule: "component-mismatch"})
	assert.JSONEq(t, `[{"lastSeen":"2026-11-20T11:55:00Z","firstSeen":"2026-11-20T10:55:00Z","count":3,"namespace":"llm","object":"Deployment/decode",
		"example":"Pod/decode-x","rule":"component-mismatch","severity":"deny","outcome":"refused","field":"spec.containers[0].args",
		"message":"says \u001b[31mdecode.","mode":"enforce","operation":"CREATE","user":"alice","report":"dynawire-admission"}]`,
		printed(t, audit.Printer{Format: "json"}, findings))
	assert.Contains(t, printed(t, audit.Printer{Format: "yaml"}, findings), "\n  rule: component-mismatch\n")
	assert.Equal(t, "[]\n", printed(t, audit.Printer{Format: "json"}, []audit.Finding{}), "nothing is a list, too")
	assert.Contains(t, printed(t, audit.Printer{Format: "json", Streaming: true}, findings), "}\n")
	assert.Contains(t, printed(t, audit.Printer{Format: "yaml", Streaming: true}, findings), "---\ncount: 3\n")
	assert.ErrorContains(t, (&audit.Printer{Format: "xml"}).Check(), `"xml" is unknown: want wide, json or yaml`)
}

// store is a cluster whose watches end when told.
type store struct {
	list    []report.Report
	watcher *watch.FakeWatcher
	lists   int
	err     error
}

func (s *store) List(context.Context, string) (*v1alpha1.ReportList, error) {
	s.lists++
	return &v1alpha1.ReportList{Items: s.list}, s.err
}

func (s *store) Watch(ctx context.Context, _, _ string) (watch.Interface, error) {
	s.watcher = watch.NewFake()
	w := s.watcher
	context.AfterFunc(ctx, w.Stop)
	return w, nil
}

func TestFollowShowsWhatIsNewOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{list: sample(t)[:1]}
		ctx, cancel := context.WithCancel(t.Context())
		var got []string
		done := make(chan error)
		go func() {
			done <- audit.Follow(ctx, s, "llm", audit.Filter{}, func(f []audit.Finding) error {
				got = append(got, fmt.Sprint(objects(f)))
				return nil
			})
		}()
		synctest.Wait()
		again := entry("Deployment", "decode", "component-mismatch", report.Refused, 0)
		again.Count = 4
		fresh := reportOf(t, "llm", report.Admission, again, entry("StatefulSet", "prefill-of-a-long-name", "stale-env", report.Warned, 3*time.Hour))
		s.watcher.Modify(&fresh)
		synctest.Wait()
		s.list = []report.Report{fresh}
		s.watcher.Stop() // as the API server does, every few minutes
		time.Sleep(2 * time.Second)
		synctest.Wait()
		cancel()
		require.NoError(t, <-done)
		assert.Equal(t, []string{"[StatefulSet/prefill-of-a-long-name Deployment/decode]", "[Deployment/decode]", "[]"}, got)
		assert.Equal(t, 2, s.lists)
	})
}

func TestFollowEndsWithAnError(t *testing.T) {
	s := &store{err: errors.New("forbidden")}
	require.ErrorContains(t, audit.Follow(t.Context(), s, "", audit.Filter{}, func([]audit.Finding) error { return nil }), "forbidden")
}
