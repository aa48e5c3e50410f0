package drift

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/dynawire/dynawire/internal/report"
	"github.com/dynawire/dynawire/internal/report/store"
	"github.com/dynawire/dynawire/pkg/validate"
)

// reports is a ReportStore of one namespace.
type reports struct {
	stored    *report.Report
	conflicts int
	fail      error
	writes    int
}

var kind = schema.GroupResource{Group: "openreports.io", Resource: "reports"}

func (s *reports) Get(_ context.Context, _, name string) (*report.Report, error) {
	switch {
	case s.fail != nil:
		return nil, s.fail
	case s.stored == nil:
		return &report.Report{}, apierrors.NewNotFound(kind, name)
	}
	return s.stored.DeepCopy(), nil
}

func (s *reports) Namespaces(_ context.Context, name string) ([]string, error) {
	if s.stored == nil || s.stored.Name != name {
		return nil, s.fail
	}
	return []string{s.stored.Namespace}, s.fail
}

func (s *reports) Create(_ context.Context, r *report.Report) (int, error) { return s.put(r) }
func (s *reports) Update(_ context.Context, r *report.Report) (int, error) { return s.put(r) }

func (s *reports) put(r *report.Report) (int, error) {
	if s.conflicts > 0 {
		s.conflicts--
		return 0, apierrors.NewConflict(kind, r.Name, nil)
	}
	s.writes++
	s.stored = r.DeepCopy()
	return 0, nil
}

// deployments makes every ReplicaSet a Deployment's.
type deployments struct{}

func (deployments) Owner(_ context.Context, near corev1.ObjectReference) corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: near.Namespace, Name: near.Name, UID: near.UID}
}

func fault(owner, name string) Finding {
	return Finding{Pod: of(owner, name), Finding: validate.Finding{Rule: RuleUnwired, Severity: validate.Deny, Field: "metadata.labels", Message: "m"}}
}

func TestRecord(t *testing.T) {
	s := &reports{}
	r := Record{Store: s, Owners: deployments{}}
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	require.NoError(t, r.Replace(t.Context(), "llm", noon, nil))
	assert.Zero(t, s.writes, "nothing to say, and nothing to take back")

	s.conflicts = 1
	require.NoError(t, r.Replace(t.Context(), "llm", noon, []Finding{fault("w", "w-1"), fault("w", "w-2"), fault("", "bare")}))
	assert.Equal(t, report.Drift, s.stored.Name)
	require.NoError(t, r.Replace(t.Context(), "llm", noon.Add(time.Hour), []Finding{fault("w", "w-2")}))
	entries := report.Entries(s.stored)
	require.Len(t, entries, 1)
	assert.Equal(t, report.Entry{
		Object: corev1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "llm", Name: "w", UID: "w"},
		Rule:   RuleUnwired, Severity: validate.Deny, Field: "metadata.labels", Message: "m", Outcome: report.Running,
		Count: 1, First: noon, Last: noon.Add(time.Hour), Example: "Pod/w-2",
	}, entries[0], "one that is still there keeps when it was seen first")

	require.NoError(t, r.Replace(t.Context(), "llm", noon, nil))
	assert.Empty(t, s.stored.Results, "what is mended is taken back")
	writes := s.writes
	require.NoError(t, r.Replace(t.Context(), "llm", noon, nil))
	assert.Equal(t, writes, s.writes)
}

func TestRecordKnowsWhereItIs(t *testing.T) {
	s := &reports{}
	r := Record{Store: s, Owners: deployments{}}
	require.NoError(t, r.Replace(t.Context(), "llm", time.Now(), []Finding{fault("w", "w-1")}))
	namespaces, err := r.Namespaces(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"llm"}, namespaces)
	s.fail = store.ErrNotInstalled
	namespaces, err = r.Namespaces(t.Context())
	require.NoError(t, err)
	assert.Empty(t, namespaces)
	s.fail = apierrors.NewForbidden(kind, "", nil)
	_, err = r.Namespaces(t.Context())
	require.ErrorContains(t, err, "find the reports dynawire-drift: ")
}

func TestRecordWithoutTheKind(t *testing.T) {
	r := Record{Store: &reports{fail: store.ErrNotInstalled}, Owners: deployments{}}
	require.NoError(t, r.Replace(t.Context(), "llm", time.Time{}, []Finding{fault("w", "w-1")}))
	r.Store = &reports{fail: apierrors.NewForbidden(kind, report.Drift, nil)}
	assert.ErrorContains(t, r.Replace(t.Context(), "llm", time.Time{}, []Finding{fault("w", "w-1")}), "read report dynawire-drift: ")
}
