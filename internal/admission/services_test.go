package admission_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/dynawire/dynawire/internal/admission"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// service is one that discovery reads.
func service(change ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{}
	s.TypeMeta, s.ObjectMeta = meta("v1", "Service")
	s.Labels = map[string]string{wiring.LabelDiscoveryEnabled: "true"}
	for _, f := range change {
		f(s)
	}
	return s
}

func notReady(s *corev1.Service) { s.Spec.PublishNotReadyAddresses = true }
func unlabelled(s *corev1.Service) {
	s.Labels = map[string]string{wiring.LabelDiscoveryEnabled: "false"}
}

func TestServiceThatPublishesWhatIsNotReadyIsRefused(t *testing.T) {
	a, recorder := inMode(t, wiring.Enforce)
	for _, r := range []*admissionv1.AdmissionRequest{
		requestAbout(service(notReady)), requestAbout(service(notReady), updateFrom(service())),
		requestAbout(service(notReady), updateFrom(service(notReady, unlabelled))),
	} {
		got := ask(t, a.ValidateServices(), r)
		require.False(t, got.Allowed)
		assert.EqualValues(t, 422, got.Result.Code)
		assert.Equal(t, "Service", got.Result.Details.Kind)
		assert.Empty(t, got.Result.Details.Group)
		assert.Equal(t, "w", got.Result.Details.Name)
		require.Len(t, got.Result.Details.Causes, 1)
		assert.Equal(t, "spec.publishNotReadyAddresses", got.Result.Details.Causes[0].Field)
		assert.Equal(t, "publish-not-ready", got.AuditAnnotations["findings"])
	}
	require.Len(t, recorder.verdicts, 3)
	v := recorder.verdicts[0]
	assert.True(t, v.Refused)
	assert.Equal(t, "Service", v.Object.Kind)
	assert.Equal(t, "v1", v.Object.APIVersion)
}

func TestServicesThatPass(t *testing.T) {
	for name, r := range map[string]*admissionv1.AdmissionRequest{
		"good":                      requestAbout(service()),
		"not discovery's":           requestAbout(service(notReady, unlabelled)),
		"it was so before":          requestAbout(service(notReady, func(s *corev1.Service) { s.Labels["a"] = "b" }), updateFrom(service(notReady))),
		"mended":                    requestAbout(service(), updateFrom(service(notReady))),
		"the label is taken off":    requestAbout(service(notReady, unlabelled), updateFrom(service(notReady))),
		"status":                    requestAbout(service(notReady), func(r *admissionv1.AdmissionRequest) { r.SubResource = "status" }),
		"something else altogether": requestAbout(deployment(mocker(mismatched))),
	} {
		t.Run(name, func(t *testing.T) {
			a, recorder := inMode(t, wiring.Enforce)
			a.Namespaces = unexpectedNamespaces{t}
			assert.Equal(t, &admissionv1.AdmissionResponse{UID: r.UID, Allowed: true}, ask(t, a.ValidateServices(), r))
			assert.Empty(t, recorder.verdicts)
		})
	}
}

// unexpectedNamespaces fails the test: what has no findings needs no mode.
type unexpectedNamespaces struct{ t *testing.T }

func (u unexpectedNamespaces) Get(_ context.Context, name string) (admission.Namespace, error) {
	u.t.Errorf("namespace %s was looked up", name)
	return admission.Namespace{}, nil
}

func TestServicesByMode(t *testing.T) {
	for mode, warnings := range map[wiring.Mode]int{wiring.Warn: 2, wiring.Audit: 0} {
		a, recorder := inMode(t, mode)
		r := ask(t, a.ValidateServices(), requestAbout(service(notReady)))
		assert.True(t, r.Allowed)
		assert.Len(t, r.Warnings, warnings)
		assert.Len(t, recorder.verdicts, 1)
	}
	a := newAdmission(t)
	a.Namespaces = fakeNamespaces{}
	assert.True(t, ask(t, a.ValidateServices(), requestAbout(service(notReady))).Allowed, "the namespace is not opted in")
}
