package admission_test

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/dynawire/dynawire/internal/admission"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// What a namespace says of a rule beats its mode.
func TestActionOfOneRule(t *testing.T) {
	for name, tc := range map[string]struct {
		mode     wiring.Mode
		action   wiring.Action
		allowed  bool
		warnings int
		recorded int
		metric   string
	}{
		"warn in enforce":  {wiring.Enforce, wiring.ActionWarn, true, 1, 1, "warn"},
		"audit in enforce": {wiring.Enforce, wiring.ActionAudit, true, 0, 1, "audit"},
		"off in enforce":   {wiring.Enforce, wiring.ActionOff, true, 0, 0, ""},
		"deny in warn":     {wiring.Warn, wiring.ActionDeny, false, 0, 1, "enforce"},
		"deny in audit":    {wiring.Audit, wiring.ActionDeny, false, 0, 1, "enforce"},
	} {
		for hook, rule := range map[string]string{"pod": "component-mismatch", "service": "publish-not-ready", "metadata": "metadata-impersonation"} {
			t.Run(name+"/"+hook, func(t *testing.T) {
				registry := prometheus.NewRegistry()
				a := newAdmission(t)
				a.Metrics = admission.NewMetrics(registry)
				a.Namespaces = fakeNamespaces{"llm": {OptedIn: true, Settings: wiring.Settings{Validation: tc.mode, Rules: map[string]wiring.Action{rule: tc.action}}}}
				h, req := a.ValidatePods(), request(mocker(mismatched))
				switch hook {
				case "service":
					h, req = a.ValidateServices(), requestAbout(service(notReady))
				case "metadata":
					h, req = a.ValidateMetadata(), requestAbout(workerMetadata("w", named("v")), asPod("w"))
				}
				r := ask(t, h, req)
				assert.Equal(t, tc.allowed, r.Allowed)
				assert.Len(t, r.Warnings, tc.warnings)
				verdicts := a.Recorder.(*fakeRecorder).verdicts
				require.Len(t, verdicts, tc.recorded)
				want := ""
				if tc.recorded > 0 {
					assert.Equal(t, !tc.allowed, verdicts[0].Refused)
					assert.Equal(t, rule, r.AuditAnnotations["findings"])
					want = `
# HELP dynawire_admission_findings_total Findings of validation by rule, severity (deny, warn) and mode (enforce, warn, audit).
# TYPE dynawire_admission_findings_total counter
dynawire_admission_findings_total{mode="` + tc.metric + `",rule="` + rule + `",severity="deny"} 1
`
				}
				require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(want), "dynawire_admission_findings_total"))
			})
		}
	}
}

// The identity of a pod that runs is what its peers know it by.
func TestIdentityOfARunningPodStays(t *testing.T) {
	a, recorder := inMode(t, wiring.Enforce)
	wired := func(component string) *corev1.Pod {
		return mocker(func(p *corev1.Pod) {
			p.Labels[wiring.LabelNamespace], p.Labels[wiring.LabelComponent], p.Labels[wiring.LabelDiscoveryEnabled] = "dynamo", component, "true"
			p.Spec.NodeName = "n"
		})
	}
	r := ask(t, a.ValidatePods(), request(wired("decode"), updateOf(wired("backend"))))
	require.False(t, r.Allowed)
	assert.Equal(t, "identity-changed", r.AuditAnnotations["findings"])
	assert.Len(t, recorder.verdicts, 1)
}

// What only takes finalizers off an object must pass whatever else is wrong with it: else it could never be deleted.
func TestObjectsThatAreBeingDeletedCanGo(t *testing.T) {
	terminating := func(o object, finalizers ...string) object {
		m := o["metadata"].(object)
		m["deletionTimestamp"], m["finalizers"] = "2026-11-21T04:06:45Z", finalizers
		return o
	}
	as := func(v any) object { return asObject(t, v) }
	pod := func() object { return as(mocker(mismatched)) }
	bad := func() object { return as(service(notReady)) }
	orphan := func() object { return as(workerMetadata("w")) }
	a, recorder := inMode(t, wiring.Enforce)
	for path, o := range map[string]func() object{
		admission.ValidatePodsPath: pod, admission.ValidateServicesPath: bad, admission.ValidateMetadataPath: orphan,
	} {
		r := requestAbout(terminating(o()), updateFrom(terminating(o(), "example.com/hold")), asAccount)
		assert.True(t, ask(t, a.Hooks()[path], r).Allowed, path)
	}
	assert.Empty(t, recorder.verdicts)
}
