package admission_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/dynawire/dynawire/internal/admission"
	"github.com/dynawire/dynawire/pkg/identity/identitytest"
	"github.com/dynawire/dynawire/pkg/wiring"
)

func TestWorkerIsWired(t *testing.T) {
	r := ask(t, newAdmission(t).MutatePods(), request(mocker()))
	require.True(t, r.Allowed)
	assert.Contains(t, string(r.Patch), `{"op":"replace","path":"/spec/serviceAccountName","value":"dynamo-discovery"}`)
	assert.Contains(t, string(r.Patch), wiring.EnvDiscoveryBackend)
	assert.Empty(t, r.Warnings)
}

func TestNamespaceSettingsReachTheMutation(t *testing.T) {
	a := newAdmission(t)
	a.Namespaces = fakeNamespaces{"llm": {OptedIn: true, Settings: wiring.Settings{DynamoNamespace: "team-a"}}}
	r := ask(t, a.MutatePods(), request(mocker()))
	assert.Contains(t, string(r.Patch), `"value":"team-a"`)
}

func TestUnreadableAnnotationIsAWarning(t *testing.T) {
	odd := func(p *corev1.Pod) { p.Annotations = map[string]string{wiring.AnnotationProbePeriod: "often"} }
	r := ask(t, newAdmission(t).MutatePods(), request(mocker(odd)))
	assert.True(t, r.Allowed)
	assert.NotEmpty(t, r.Patch)
	require.Len(t, r.Warnings, 1)
	assert.Contains(t, r.Warnings[0], wiring.AnnotationProbePeriod)
}

// The name in the request counts: a pod made through the API need not repeat it.
func TestNamespaceComesFromTheRequest(t *testing.T) {
	a := newAdmission(t)
	a.Namespaces = fakeNamespaces{"llm": {OptedIn: true}}
	r := ask(t, a.MutatePods(), request(mocker(func(p *corev1.Pod) { p.Namespace = "" }), func(r *admissionv1.AdmissionRequest) { r.Namespace = "llm" }))
	assert.NotEmpty(t, r.Patch)
}

func TestUntouched(t *testing.T) {
	optOut := func(p *corev1.Pod) { p.Labels[wiring.LabelDiscoveryEnabled] = "false" }
	operator := func(p *corev1.Pod) { p.Labels[wiring.LabelGraphDeployment] = "graph" }
	for name, r := range map[string]*admissionv1.AdmissionRequest{
		"not Dynamo":      request(mocker(plain)),
		"opted out":       request(mocker(optOut)),
		"of the operator": request(mocker(operator)),
		"an update":       request(mocker(), updateOf(mocker())),
	} {
		t.Run(name, func(t *testing.T) {
			a := newAdmission(t)
			a.Accounts = unexpectedLookUp{t}
			got := ask(t, a.MutatePods(), r)
			assert.Equal(t, &admissionv1.AdmissionResponse{UID: r.UID, Allowed: true}, got)
		})
	}
	t.Run("namespace without label", func(t *testing.T) {
		a := newAdmission(t)
		a.Namespaces = fakeNamespaces{}
		r := request(mocker(mismatched))
		want := &admissionv1.AdmissionResponse{UID: r.UID, Allowed: true}
		assert.Equal(t, want, ask(t, a.MutatePods(), r))
		assert.Equal(t, want, ask(t, a.ValidatePods(), r))
	})
}

// unexpectedLookUp fails the test: the account of a pod that wants none must not be waited for.
type unexpectedLookUp struct{ t *testing.T }

func (u unexpectedLookUp) Exists(context.Context, string) bool {
	u.t.Error("the account was looked up")
	return false
}

func TestOwnAccountIsNotWaitedFor(t *testing.T) {
	a := newAdmission(t)
	a.Accounts = unexpectedLookUp{t}
	r := ask(t, a.MutatePods(), request(mocker(func(p *corev1.Pod) {
		p.Spec.ServiceAccountName, p.Spec.DeprecatedServiceAccount = "mine", "mine"
	})))
	assert.Contains(t, string(r.Patch), `"dynawire.io/service-account"`)
	assert.NotContains(t, string(r.Patch), "/spec/serviceAccount")
}

func TestMissingAccountLeavesThePodItsOwn(t *testing.T) {
	for name, changes := range map[string][]func(*admissionv1.AdmissionRequest){"real": nil, "dry run": {dryRun}} {
		t.Run(name, func(t *testing.T) {
			a := newAdmission(t)
			a.Accounts = fakeAccounts(false)
			r := ask(t, a.MutatePods(), request(mocker(), changes...))
			require.True(t, r.Allowed)
			assert.NotContains(t, string(r.Patch), "/spec/serviceAccount")
			assert.Contains(t, string(r.Patch), wiring.EnvDiscoveryBackend, "it is wired all the same")
			require.Len(t, r.Warnings, 1)
			assert.Contains(t, r.Warnings[0], wiring.ServiceAccount)
		})
	}
}

type brokenNamespaces struct{}

func (brokenNamespaces) Get(context.Context, string) (admission.Namespace, error) {
	return admission.Namespace{}, errors.New("etcd is gone")
}

// Without its namespace a pod could only be wired wrongly: the failurePolicy decides.
func TestUnknownNamespaceFails(t *testing.T) {
	a := newAdmission(t)
	a.Namespaces = brokenNamespaces{}
	w := post(a.MutatePods(), "application/json", string(identitytest.Review(t, "worker")))
	assert.Equal(t, 500, w.Code)
	assert.Contains(t, w.Body.String(), "etcd is gone")
}

func TestMutationMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	a := newAdmission(t)
	a.Metrics = admission.NewMetrics(registry)
	h := a.MutatePods()
	ask(t, h, request(mocker()))
	ask(t, h, request(mocker(plain)))
	ask(t, h, request(mocker(), dryRun))
	a.Accounts = fakeAccounts(false)
	ask(t, h, request(mocker()))
	post(h, "application/json", "{}")
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP dynawire_admission_requests_total Admission requests by hook, operation, decision (patched, allowed, denied, dry-run, error) and reason.
# TYPE dynawire_admission_requests_total counter
dynawire_admission_requests_total{decision="allowed",hook="mutate",operation="CREATE",reason="not-dynamo"} 1
dynawire_admission_requests_total{decision="dry-run",hook="mutate",operation="CREATE",reason=""} 1
dynawire_admission_requests_total{decision="error",hook="mutate",operation="other",reason="400"} 1
dynawire_admission_requests_total{decision="patched",hook="mutate",operation="CREATE",reason="account-missing"} 1
dynawire_admission_requests_total{decision="patched",hook="mutate",operation="CREATE",reason="wired"} 1
`), "dynawire_admission_requests_total"))
}
