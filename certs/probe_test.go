package certs

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// served is a TLS server with a certificate for a name, and the certificate's PEM.
func served(t *testing.T, name string, answer int) (address, bundle string) {
	t.Helper()
	cert, key := keyPair(t, name)
	pair, err := tls.X509KeyPair(cert, key)
	require.NoError(t, err)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, ProbePath, r.URL.Path)
		w.WriteHeader(answer)
	}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), string(cert)
}

func check(t *testing.T, address string, objects []client.Object) error {
	t.Helper()
	p := &Probe{
		Reader: fake.NewClientBuilder().WithObjects(objects...).Build(), Address: address,
		Configurations: Configurations{Mutating: "dynawire", Validating: "dynawire"},
	}
	return p.Check(httptest.NewRequest(http.MethodGet, "/readyz", nil))
}

func TestReadyWhenThePublishedBundleVerifies(t *testing.T) {
	address, bundle := served(t, "webhook.example", http.StatusOK)
	assert.NoError(t, check(t, address, configurations(bundle)))
	_, another := served(t, "webhook.example", http.StatusOK)
	assert.NoError(t, check(t, address, configurations(another+bundle)), "among others")
}

func TestNotReady(t *testing.T) {
	address, bundle := served(t, "webhook.example", http.StatusOK)
	_, another := served(t, "webhook.example", http.StatusOK)
	assert.ErrorContains(t, check(t, address, configurations(another)), "certificate", "another CA is published")
	assert.ErrorContains(t, check(t, address, configurations("")), "certificate", "none is published")
	assert.ErrorContains(t, check(t, address, configurations("nonsense")), "no certificate")
	assert.Error(t, check(t, "127.0.0.1:1", configurations(bundle)), "nobody listens")

	objects := configurations(bundle)
	objects[1].(*admissionv1.ValidatingWebhookConfiguration).Webhooks[0].ClientConfig.CABundle = []byte(another)
	assert.ErrorContains(t, check(t, address, objects), "ValidatingWebhookConfiguration", "one of two configurations is behind")

	broken, itsBundle := served(t, "webhook.example", http.StatusInternalServerError)
	assert.ErrorContains(t, check(t, broken, configurations(itsBundle)), "500")
}

func TestNameOfTheServiceIsVerified(t *testing.T) {
	address, bundle := served(t, "hook.system.svc", http.StatusOK)
	objects := configurations(bundle)
	for i := range objects[0].(*admissionv1.MutatingWebhookConfiguration).Webhooks {
		c := &objects[0].(*admissionv1.MutatingWebhookConfiguration).Webhooks[i].ClientConfig
		c.URL, c.Service = nil, &admissionv1.ServiceReference{Namespace: "system", Name: "hook"}
	}
	assert.NoError(t, check(t, address, objects[:1]))
	assert.ErrorContains(t, check(t, address, objects), "webhook.example", "the other configuration calls us by another name")
}

func TestReadyWhereNobodyCalls(t *testing.T) {
	address, _ := served(t, "webhook.example", http.StatusOK)
	assert.NoError(t, check(t, address, nil))
}
