package certs

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// configurations are a mutating one with two webhooks and a validating one with one.
func configurations(bundle string) []client.Object {
	url := "https://webhook.example/"
	none := admissionv1.SideEffectClassNone
	trust := admissionv1.WebhookClientConfig{URL: &url, CABundle: []byte(bundle)}
	return []client.Object{
		&admissionv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "dynawire"}, Webhooks: []admissionv1.MutatingWebhook{
			{Name: "a.dynawire.io", ClientConfig: trust, SideEffects: &none}, {Name: "b.dynawire.io", ClientConfig: trust, SideEffects: &none},
		}},
		&admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "dynawire"}, Webhooks: []admissionv1.ValidatingWebhook{
			{Name: "c.dynawire.io", ClientConfig: trust, SideEffects: &none},
		}},
	}
}

// constant is a Source with a bundle.
type constant struct {
	Source
	pem string
}

func (c constant) Bundle() []byte { return []byte(c.pem) }

func TestPublisherWritesIntoEveryWebhook(t *testing.T) {
	applies := 0
	c := fake.NewClientBuilder().WithObjects(configurations("")...).WithInterceptorFuncs(interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			applies++
			return c.Apply(ctx, o, opts...)
		},
	}).Build()
	p := &Publisher{Client: c, Source: constant{pem: "two CAs"}, Configurations: Configurations{Mutating: "dynawire", Validating: "dynawire"}}
	for range 2 {
		for _, kind := range []string{mutating, validating} {
			_, err := p.Reconcile(t.Context(), configuration{kind, "dynawire"})
			require.NoError(t, err)
		}
	}
	assert.Equal(t, 2, applies, "nothing is written twice")
	for _, kind := range []string{mutating, validating} {
		_, hooks, err := read(t.Context(), c, configuration{kind, "dynawire"})
		require.NoError(t, err)
		require.NotEmpty(t, hooks)
		for _, h := range hooks {
			assert.Equal(t, "two CAs", string(h.client.CABundle), h.name)
			assert.Equal(t, "https://webhook.example/", *h.client.URL, "all else stays")
		}
	}
}

func TestPublisherKeepsOffWhatIsNotOurs(t *testing.T) {
	for name, p := range map[string]*Publisher{
		"another name":     {Source: constant{pem: "CA"}, Configurations: Configurations{Mutating: "other", Validating: "other"}},
		"no name":          {Source: constant{pem: "CA"}},
		"no bundle as yet": {Source: constant{}, Configurations: Configurations{Mutating: "dynawire", Validating: "dynawire"}},
	} {
		p.Client = fake.NewClientBuilder().WithObjects(configurations("before")...).Build()
		for _, kind := range []string{mutating, validating} {
			_, err := p.Reconcile(t.Context(), configuration{kind, "dynawire"})
			require.NoError(t, err)
			_, hooks, err := read(t.Context(), p.Client, configuration{kind, "dynawire"})
			require.NoError(t, err)
			assert.Equal(t, "before", string(hooks[0].client.CABundle), name)
		}
	}
}

func TestPublisherMakesNoConfiguration(t *testing.T) {
	p := &Publisher{
		Client: fake.NewClientBuilder().Build(), Source: constant{pem: "CA"}, Configurations: Configurations{Mutating: "dynawire", Validating: "dynawire"},
	}
	_, err := p.Reconcile(t.Context(), configuration{mutating, "dynawire"})
	require.NoError(t, err)
	object, _, err := read(t.Context(), p.Client, configuration{mutating, "dynawire"})
	require.NoError(t, err)
	assert.Nil(t, object)
}
