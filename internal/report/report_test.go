package report_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/dynawire/dynawire/internal/report"
	"github.com/dynawire/dynawire/pkg/validate"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func entry(name string, change ...func(*report.Entry)) report.Entry {
	e := report.Entry{
		Object: corev1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "llm", Name: name, UID: "8b1f0e9c-6a43-4a53-9a2b-2b8d8b6c9d1e"},
		Rule:   "component-mismatch", Field: "spec.containers[0].args", Severity: validate.Deny, Outcome: report.Refused,
		Message: `--endpoint names component "prefill", but label nvidia.com/dynamo-component is "decode"; peers looking for "decode" would never find this pod. Set the label to "prefill" or the argument to dyn://dynamo.decode.generate.`,
		Count:   1, First: noon, Last: noon, Mode: "enforce", Operation: "CREATE",
		User: "system:serviceaccount:kube-system:replicaset-controller", Example: "Pod/" + name + "-6d4f9c7b5-",
	}
	for _, f := range change {
		f(&e)
	}
	return e
}

func merge(t require.TestingT, r *report.Report, b report.Batch) bool {
	added, err := report.Merge(r, b, report.Room(0), noon)
	require.NoError(t, err)
	return added
}

func TestAnEntryIsAResult(t *testing.T) {
	r := report.New("llm", report.Admission)
	require.True(t, merge(t, r, report.Batch{Writer: "a", Number: 1, Entries: []report.Entry{
		entry("w", func(e *report.Entry) { e.Count, e.First = 3, noon.Add(-time.Minute) }),
		entry("v", func(e *report.Entry) {
			e.Severity, e.Outcome, e.Rule, e.Last = validate.Warning, report.Warned, "stale-env", noon.Add(-time.Second)
		}),
	}}))
	got, err := json.MarshalIndent(r, "", "  ")
	require.NoError(t, err)
	golden(t, "report.json", append(got, '\n'))
}

func TestEntriesComeBackAsTheyWere(t *testing.T) {
	r := report.New("llm", report.Admission)
	want := []report.Entry{entry("b"), entry("a", func(e *report.Entry) {
		e.First, e.Last, e.Count, e.Severity, e.Outcome = noon.Add(-2*time.Hour), noon.Add(-time.Hour), 7, validate.Warning, report.Admitted
	})}
	merge(t, r, report.Batch{Writer: "a", Number: 1, Entries: want})
	assert.Equal(t, want, report.Entries(r), "the one seen last first")
}

func TestEqualFindingsAreCounted(t *testing.T) {
	r := report.New("llm", report.Admission)
	later := entry("w", func(e *report.Entry) {
		e.Count, e.First, e.Last, e.User, e.Object.UID = 5, noon.Add(time.Second), noon.Add(time.Minute), "bob", "made anew"
	})
	earlier := entry("w", func(e *report.Entry) {
		e.Count, e.First, e.Last, e.User = 2, noon.Add(-time.Hour), noon.Add(-time.Minute), "eve"
	})
	merge(t, r, report.Batch{Writer: "a", Number: 1, Entries: []report.Entry{entry("w"), later}})
	merge(t, r, report.Batch{Writer: "b", Number: 1, Entries: []report.Entry{earlier}})
	want := later
	want.Count, want.First = 8, noon.Add(-time.Hour)
	assert.Equal(t, []report.Entry{want}, report.Entries(r), "of the last time, but for the first and the count")
}

func TestWhatIsDistinctStaysApart(t *testing.T) {
	for name, change := range map[string]func(*report.Entry){
		"object":  func(e *report.Entry) { e.Object.Name = "other" },
		"kind":    func(e *report.Entry) { e.Object.Kind = "StatefulSet" },
		"rule":    func(e *report.Entry) { e.Rule = "role-mismatch" },
		"field":   func(e *report.Entry) { e.Field = "spec.containers[1].args" },
		"message": func(e *report.Entry) { e.Message = "another" },
		"outcome": func(e *report.Entry) { e.Outcome = report.Admitted },
	} {
		t.Run(name, func(t *testing.T) {
			r := report.New("llm", report.Admission)
			merge(t, r, report.Batch{Writer: "a", Number: 1, Entries: []report.Entry{entry("w"), entry("w", change)}})
			assert.Len(t, r.Results, 2)
		})
	}
}

func TestABatchIsAddedOnce(t *testing.T) {
	r := report.New("llm", report.Admission)
	b := report.Batch{Writer: "a", Number: 1, Entries: []report.Entry{entry("w")}}
	assert.True(t, merge(t, r, b))
	assert.False(t, merge(t, r, b), "the write arrived, though nobody was told")
	b.Writer = "b"
	assert.True(t, merge(t, r, b), "another writer's")
	b.Number = 2
	assert.True(t, merge(t, r, b), "the next")
	assert.EqualValues(t, 3, report.Entries(r)[0].Count)
}

func TestOldWritersAreForgotten(t *testing.T) {
	r := report.New("llm", report.Admission)
	for i := range 100 {
		merge(t, r, report.Batch{Writer: fmt.Sprint("replica-", i), Number: 7})
	}
	assert.Less(t, len(r.Annotations[report.AnnotationBatches]), 300)
	assert.False(t, merge(t, r, report.Batch{Writer: "replica-99", Number: 7}), "not the latest ones")
	assert.False(t, merge(t, r, report.Batch{Writer: "replica-84", Number: 7}))
}

func TestForeignHandsDoNoHarm(t *testing.T) {
	r := report.New("llm", report.Admission)
	merge(t, r, report.Batch{Writer: "a", Number: 1, Entries: []report.Entry{entry("w")}})
	r.Annotations[report.AnnotationBatches] = "=,a=b,,c"
	r.Annotations[report.AnnotationDroppedResults] = "many"
	r.Results[0].Properties = nil
	r.Results[0].Subjects = nil
	merge(t, r, report.Batch{Writer: "a", Number: 2, Entries: []report.Entry{entry("w")}})
	assert.Len(t, r.Results, 2)
	assert.Zero(t, report.Dropped(r, report.AnnotationDroppedResults))
	assert.Equal(t, "a=2", r.Annotations[report.AnnotationBatches])
}

func TestTheOldestGoesWhereThereIsNoRoom(t *testing.T) {
	r := report.New("llm", report.Admission)
	var all []report.Entry
	for i := range 10 {
		all = append(all, entry(fmt.Sprint("w-", i), func(e *report.Entry) {
			e.Count, e.Last = 3, noon.Add(time.Duration(i)*time.Second)
		}))
	}
	l := report.Limits{Results: 4, Bytes: 1 << 20}
	for n, count := range []int{0, 18, 36} {
		if n > 0 {
			_, err := report.Merge(r, report.Batch{Writer: "a", Number: uint64(n), Entries: all}, l, noon)
			require.NoError(t, err)
		}
		assert.EqualValues(t, count, report.Dropped(r, report.AnnotationDroppedFindings), "after batch %d", n)
	}
	require.Len(t, r.Results, 4)
	assert.Equal(t, "w-9", r.Results[0].Subjects[0].Name)
	assert.Equal(t, "w-6", r.Results[3].Subjects[0].Name)
	assert.Equal(t, 4, r.Summary.Fail)
	assert.EqualValues(t, 12, report.Dropped(r, report.AnnotationDroppedResults))
}

func TestBytesAreLimitedAndAThousandOrdinaryResultsFit(t *testing.T) {
	var all []report.Entry
	for i := range 3000 {
		all = append(all, entry(fmt.Sprintf("vllm-disagg-decode-worker-%04d", i)))
	}
	r := report.New("llm", report.Admission)
	merge(t, r, report.Batch{Writer: "a", Number: 1, Entries: all})
	data, err := json.Marshal(r)
	require.NoError(t, err)
	assert.Less(t, len(data), 1250<<10, "etcd takes 1.5 MiB")
	assert.Greater(t, len(r.Results), 1100)
	t.Logf("%d results in %d bytes: %d each", len(r.Results), len(data), len(data)/len(r.Results))
}

func TestLongTextsAreCut(t *testing.T) {
	r := report.New("llm", report.Admission)
	merge(t, r, report.Batch{Writer: "a", Number: 1, Entries: []report.Entry{entry("w", func(e *report.Entry) {
		e.Message, e.User = strings.Repeat("ö", 10_000), strings.Repeat("u", 10_000)
	})}})
	e := report.Entries(r)[0]
	assert.LessOrEqual(t, len(e.Message), report.MaxMessage)
	assert.True(t, strings.HasSuffix(e.Message, "ö …"))
	assert.LessOrEqual(t, len(e.User), 256)
}

func TestWhatIsOldGoes(t *testing.T) {
	r := report.New("llm", report.Admission)
	l := report.Limits{Results: 10, Bytes: 1 << 20, Age: 24 * time.Hour}
	_, err := report.Merge(r, report.Batch{Writer: "a", Number: 1, Entries: []report.Entry{entry("old")}}, l, noon)
	require.NoError(t, err)
	_, err = report.Merge(r, report.Batch{Writer: "a", Number: 2, Entries: []report.Entry{
		entry("new", func(e *report.Entry) { e.Last = noon.Add(25 * time.Hour) }),
	}}, l, noon.Add(25*time.Hour))
	require.NoError(t, err)
	require.Len(t, r.Results, 1)
	assert.Equal(t, "new", r.Results[0].Subjects[0].Name)
	assert.Zero(t, report.Dropped(r, report.AnnotationDroppedResults), "age is not lack of room")
}

func TestReplaceLeavesNothingOfBefore(t *testing.T) {
	r := report.New("llm", report.Drift)
	l := report.Limits{Results: 1, Bytes: 1 << 20}
	require.NoError(t, report.Replace(r, []report.Entry{entry("a"), entry("b")}, l, noon))
	assert.EqualValues(t, 1, report.Dropped(r, report.AnnotationDroppedResults))
	require.NoError(t, report.Replace(r, []report.Entry{entry("c")}, l, noon))
	require.Len(t, r.Results, 1)
	assert.Equal(t, "c", r.Results[0].Subjects[0].Name)
	assert.Zero(t, report.Dropped(r, report.AnnotationDroppedResults))
	require.NoError(t, report.Replace(r, nil, l, noon))
	assert.Empty(t, r.Results)
	assert.Zero(t, r.Summary)
}
