package admission_test

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dynawire/dynawire/internal/admission"
	"github.com/dynawire/dynawire/pkg/wiring"
)

func inMode(t *testing.T, m wiring.Mode) (*admission.Admission, *fakeRecorder) {
	a := newAdmission(t)
	a.Namespaces = fakeNamespaces{"llm": {OptedIn: true, Settings: wiring.Settings{Validation: m}, Warnings: []string{"odd annotation"}}}
	return a, a.Recorder.(*fakeRecorder)
}

func TestEnforceRefusesWithACauseForEveryFinding(t *testing.T) {
	for _, mode := range []wiring.Mode{"", wiring.Enforce} {
		a, recorder := inMode(t, mode)
		r := ask(t, a.ValidatePods(), request(mocker(mismatched)))
		require.False(t, r.Allowed)
		assert.EqualValues(t, 422, r.Result.Code)
		assert.Equal(t, metav1.StatusReasonInvalid, r.Result.Reason)
		assert.Equal(t, "w", r.Result.Details.Name)
		require.Len(t, r.Result.Details.Causes, 1)
		cause := r.Result.Details.Causes[0]
		assert.Equal(t, metav1.CauseTypeFieldValueInvalid, cause.Type)
		assert.Contains(t, cause.Field, "spec.containers[0].args")
		assert.Contains(t, cause.Message, "[component-mismatch]")
		assert.Equal(t, cause.Field+": "+cause.Message, r.Result.Message, "the message holds the full text too")
		assert.Equal(t, map[string]string{"findings": "component-mismatch"}, r.AuditAnnotations)

		require.Len(t, recorder.verdicts, 1)
		v := recorder.verdicts[0]
		assert.True(t, v.Refused)
		assert.Equal(t, wiring.Enforce, v.Mode)
		assert.Equal(t, "alice", v.User)
		assert.Equal(t, "llm", v.Namespace)
	}
}

func TestWarnTellsTheClientAndLetsItIn(t *testing.T) {
	a, recorder := inMode(t, wiring.Warn)
	r := ask(t, a.ValidatePods(), request(mocker(mismatched)))
	assert.True(t, r.Allowed)
	require.Len(t, r.Warnings, 2)
	assert.Equal(t, "odd annotation", r.Warnings[0])
	assert.Contains(t, r.Warnings[1], "[component-mismatch]")
	require.Len(t, recorder.verdicts, 1)
	assert.False(t, recorder.verdicts[0].Refused)
}

func TestAuditTellsTheClientNothingAndRecordsEverything(t *testing.T) {
	a, recorder := inMode(t, wiring.Audit)
	r := ask(t, a.ValidatePods(), request(mocker(mismatched)))
	assert.True(t, r.Allowed)
	assert.Empty(t, r.Warnings)
	assert.Nil(t, r.Result)
	assert.Len(t, recorder.verdicts, 1)
	assert.Equal(t, "component-mismatch", r.AuditAnnotations["findings"])
}

func TestDryRunAnswersAlikeAndLeavesNoTrace(t *testing.T) {
	registry := prometheus.NewRegistry()
	a, recorder := inMode(t, wiring.Enforce)
	a.Metrics = admission.NewMetrics(registry)
	dry := ask(t, a.ValidatePods(), request(mocker(mismatched), dryRun))
	assert.False(t, dry.Allowed)
	assert.Empty(t, dry.AuditAnnotations)
	assert.Empty(t, recorder.verdicts)
	found, err := testutil.GatherAndCount(registry, "dynawire_admission_findings_total")
	require.NoError(t, err)
	assert.Zero(t, found)

	wet := ask(t, a.ValidatePods(), request(mocker(mismatched)))
	assert.Equal(t, wet.Result, dry.Result)
	assert.Equal(t, wet.Warnings, dry.Warnings)
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP dynawire_admission_findings_total Findings of validation by rule, severity (deny, warn) and mode (enforce, warn, audit).
# TYPE dynawire_admission_findings_total counter
dynawire_admission_findings_total{mode="enforce",rule="component-mismatch",severity="deny"} 1
`), "dynawire_admission_findings_total"))
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP dynawire_admission_requests_total Admission requests by hook, operation, decision (patched, allowed, denied, dry-run, error) and reason.
# TYPE dynawire_admission_requests_total counter
dynawire_admission_requests_total{decision="denied",hook="validate",operation="CREATE",reason="findings"} 1
dynawire_admission_requests_total{decision="dry-run",hook="validate",operation="CREATE",reason=""} 1
`), "dynawire_admission_requests_total"))
}

func TestUpdateIsJudgedByWhatItBrings(t *testing.T) {
	a, recorder := inMode(t, wiring.Enforce)
	old := mocker(mismatched)
	annotated := mocker(mismatched, func(p *corev1.Pod) { p.Annotations = map[string]string{"a": "b"} })
	assert.True(t, ask(t, a.ValidatePods(), request(annotated, updateOf(old))).Allowed, "the pod was like that before")
	assert.Empty(t, recorder.verdicts)
	assert.False(t, ask(t, a.ValidatePods(), request(mocker(mismatched), updateOf(mocker()))).Allowed)
	assert.Len(t, recorder.verdicts, 1)
}

func TestGoodPodsAndDeletionsPass(t *testing.T) {
	a, recorder := inMode(t, wiring.Enforce)
	r := ask(t, a.ValidatePods(), request(mocker()))
	assert.True(t, r.Allowed)
	assert.Equal(t, []string{"odd annotation"}, r.Warnings)
	assert.True(t, ask(t, a.ValidatePods(), request(mocker(mismatched), func(r *admissionv1.AdmissionRequest) {
		r.Operation, r.OldObject, r.Object.Object = admissionv1.Delete, r.Object, nil
	})).Allowed)
	assert.Empty(t, recorder.verdicts)
}
