//go:build integration

package integration_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dynawire/dynawire/test/controlplane"
)

func published(t require.TestingT) []byte {
	return getObject[admissionv1.MutatingWebhookConfiguration](t, "", "dynawire").Webhooks[0].ClientConfig.CABundle
}

func TestBundleIsPublishedAndNothingElseIsTouched(t *testing.T) {
	m := getObject[admissionv1.MutatingWebhookConfiguration](t, "", "dynawire")
	bundle := m.Webhooks[0].ClientConfig.CABundle
	require.NotEmpty(t, bundle)
	owned := 0
	for _, f := range m.ManagedFields {
		if f.Manager == "dynawire-cabundle" {
			owned++
			fields := string(f.FieldsV1.GetRawBytes())
			assert.Contains(t, fields, "f:caBundle")
			assert.NotContains(t, fields, "f:rules")
			assert.NotContains(t, fields, "f:url")
		}
	}
	assert.Equal(t, 1, owned)

	m.Webhooks[0].ClientConfig.CABundle = nil
	require.NoError(t, cluster.Update(t.Context(), m))
	v := getObject[admissionv1.ValidatingWebhookConfiguration](t, "", "dynawire")
	v.Webhooks[0].ClientConfig.CABundle = []byte(otherCA)
	require.NoError(t, cluster.Update(t.Context(), v))
	eventually(t, func(c require.TestingT) {
		require.Equal(c, bundle, published(c))
		require.Equal(c, bundle, getObject[admissionv1.ValidatingWebhookConfiguration](c, "", "dynawire").Webhooks[0].ClientConfig.CABundle)
	})

	// Whoever applies the manifests again sees no conflict and takes nothing away.
	require.NoError(t, plane.Install(t.Context(), first))
	assert.Equal(t, bundle, published(t))
}

// Two replicas serve leaves of one CA, and one takes over the reconcilers when the other goes.
func TestSecondReplica(t *testing.T) {
	second, err := newServer("second")
	require.NoError(t, err)
	require.NoError(t, second.Start("--log-level=debug"))
	t.Cleanup(func() { _ = second.Stop() })
	require.NoError(t, second.WaitReady(), second.Log.String())
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(published(t)))
	var keys []any
	for _, s := range []*controlplane.Server{first, second} {
		conn, err := tls.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.Port), &tls.Config{RootCAs: roots, ServerName: "dynawire-webhook.dynawire-system.svc"})
		require.NoError(t, err, s.Name)
		assert.EqualValues(t, tls.VersionTLS13, conn.ConnectionState().Version)
		keys = append(keys, conn.ConnectionState().PeerCertificates[0].PublicKey)
		conn.Close()
	}
	assert.NotEqual(t, keys[0], keys[1], "each has a leaf of its own")
	_, err = tls.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", second.Port), &tls.Config{
		RootCAs: roots, ServerName: "dynawire-webhook.dynawire-system.svc", MaxVersion: tls.VersionTLS12,
	})
	assert.Error(t, err, "TLS 1.2 is refused")
	for line := range strings.Lines(second.Log.String()) {
		assert.True(t, json.Valid([]byte(line)), "not JSON: %s", line)
	}

	leader := func(t require.TestingT) string {
		return *getObject[coordinationv1.Lease](t, controlplane.SystemNamespace, "dynawire").Spec.HolderIdentity
	}
	before := leader(t)
	restart(t, func() {})
	eventually(t, func(c require.TestingT) { require.NotEqual(c, before, leader(c)) })
	namespace := optedIn(t, nil)
	create(t, worker(namespace, "w"))
	eventually(t, func(c require.TestingT) { getObject[corev1.Service](c, namespace, backendService) })
}

// restart has nobody answer where the configurations point while meanwhile runs.
func restart(t *testing.T, meanwhile func()) {
	t.Helper()
	require.NoError(t, first.Stop(), first.Log.String())
	meanwhile()
	restarted, err := newServer("first")
	require.NoError(t, err)
	restarted.Port = first.Port
	*first = *restarted
	require.NoError(t, first.Start())
	require.NoError(t, first.WaitReady(), first.Log.String())
}

// While nobody answers pods can go, and all is refused that would have to be judged.
func TestPodsAreNotHeldWhileNobodyAnswers(t *testing.T) {
	namespace := optedIn(t, nil)
	p := worker(namespace, "w", func(p *corev1.Pod) { p.Finalizers = []string{"example.com/hold"} })
	create(t, p)
	restart(t, func() {
		patch := func(body string) error {
			return cluster.Patch(t.Context(), p.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(body)))
		}
		assert.ErrorContains(t, patch(`{"metadata":{"labels":{"app":"other"}}}`), "pods.validate.dynawire.io")
		assert.ErrorContains(t, patch(`{"spec":{"activeDeadlineSeconds":5}}`), "pods.validate.dynawire.io")
		assert.ErrorContains(t, cluster.Create(t.Context(), worker(namespace, "new")), "pods.mutate.dynawire.io")
		require.NoError(t, patch(`{"metadata":{"annotations":{"a":"b"}}}`))
		remove(t, p)
		require.NoError(t, patch(`{"metadata":{"finalizers":null}}`))
		gone(t, p)
	})
}

// The CA is lost: another one takes its place, in the certificates of all and in the configurations.
func TestLostSecretIsMadeAnew(t *testing.T) {
	before := published(t)
	remove(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: controlplane.SystemNamespace, Name: "dynawire-webhook-ca"}})
	namespace := newNamespace(t, nil)
	label(t, namespace, "true")
	eventually(t, func(c require.TestingT) {
		require.NotEqual(c, before, published(c))
		code, body := controlplane.Get("http://" + first.Health + "/readyz?verbose")
		require.Equal(c, http.StatusOK, code, body)
		require.NoError(c, cluster.Create(context.Background(), worker(namespace, "w"), client.DryRunAll))
	})
}

// Readiness is what the API server would find, not what the process believes.
func TestReadinessFollowsThePublishedBundle(t *testing.T) {
	second, err := newServer("blind")
	require.NoError(t, err)
	m := getObject[admissionv1.MutatingWebhookConfiguration](t, "", "dynawire")
	other := &admissionv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "dynawire-other"}, Webhooks: m.DeepCopy().Webhooks}
	other.Webhooks[0].NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"nobody": "has-this"}}
	other.Webhooks[0].ClientConfig.CABundle = []byte(otherCA)
	create(t, other)
	t.Cleanup(func() { _ = cluster.Delete(context.WithoutCancel(t.Context()), other) })
	grant(t, "dynawire-other")
	require.NoError(t, second.Start("--publish-ca-bundle=false", "--mutating-webhook-configuration=dynawire-other", "--validating-webhook-configuration="))
	t.Cleanup(func() { _ = second.Stop() })
	eventually(t, func(c require.TestingT) {
		code, body := controlplane.Get("http://" + second.Health + "/readyz?verbose")
		require.Equal(c, http.StatusInternalServerError, code)
		require.Contains(c, body, "[-]serving failed")
		require.Contains(c, body, "[+]caches ok")
	})
	fresh := getObject[admissionv1.MutatingWebhookConfiguration](t, "", other.Name)
	fresh.Webhooks[0].ClientConfig.CABundle = published(t)
	require.NoError(t, cluster.Update(t.Context(), fresh))
	require.NoError(t, second.WaitReady(), second.Log.String())
}

// On SIGTERM readiness fails first; requests are served until the delay is over.
func TestStoppingServerIsDrained(t *testing.T) {
	second, err := newServer("draining")
	require.NoError(t, err)
	require.NoError(t, second.Start("--shutdown-delay=3s"))
	require.NoError(t, second.WaitReady(), second.Log.String())
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(published(t))
	webhook := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	call := func() (*http.Response, error) {
		return webhook.Post(fmt.Sprintf("https://localhost:%d/mutate/pods", second.Port), "application/json", strings.NewReader("{}"))
	}
	stopping := time.Now()
	done := make(chan error, 1)
	go func() { done <- second.Stop() }()
	eventually(t, func(c require.TestingT) {
		code, _ := controlplane.Get("http://" + second.Health + "/readyz")
		require.Equal(c, http.StatusInternalServerError, code)
	})
	served := 0
	for time.Since(stopping) < 2500*time.Millisecond {
		resp, err := call()
		require.NoError(t, err)
		resp.Body.Close()
		assert.Equal(t, http.StatusBadRequest, resp.StatusCode)
		assert.True(t, resp.Close, "the client is asked to connect anew")
		served++
	}
	assert.Positive(t, served)
	require.NoError(t, <-done, second.Log.String())
	_, err = call()
	assert.Error(t, err)
}

func TestMetricsAreServed(t *testing.T) {
	namespace := optedIn(t, nil)
	require.Error(t, cluster.Create(t.Context(), worker(namespace, "w", mismatched)))
	_, page := controlplane.Get("http://" + first.Metrics + "/metrics")
	for _, line := range []string{
		`dynawire_admission_requests_total{decision="denied",hook="validate",operation="CREATE",reason="findings"}`,
		`dynawire_admission_findings_total{mode="enforce",rule="component-mismatch",severity="deny"}`,
		`dynawire_admission_duration_seconds_bucket{hook="mutate",le="0.001"}`,
		`dynawire_audit_events_total{result="recorded"}`,
	} {
		assert.Contains(t, page, line)
	}
}

// The account of the manifests may do what it must, and not what would hurt.
func TestPrivileges(t *testing.T) {
	for what, tc := range map[string]struct {
		attributes authorizationv1.ResourceAttributes
		allowed    bool
	}{
		"its own CA":                  {authorizationv1.ResourceAttributes{Namespace: controlplane.SystemNamespace, Verb: "get", Resource: "secrets", Name: "dynawire-webhook-ca"}, true},
		"another secret of its own":   {authorizationv1.ResourceAttributes{Namespace: controlplane.SystemNamespace, Verb: "get", Resource: "secrets", Name: "x"}, false},
		"secrets elsewhere":           {authorizationv1.ResourceAttributes{Namespace: "default", Verb: "list", Resource: "secrets"}, false},
		"creating secrets elsewhere":  {authorizationv1.ResourceAttributes{Namespace: "default", Verb: "create", Resource: "secrets"}, false},
		"other roles":                 {authorizationv1.ResourceAttributes{Namespace: "default", Verb: "patch", Group: "rbac.authorization.k8s.io", Resource: "roles", Name: "x"}, false},
		"escalation":                  {authorizationv1.ResourceAttributes{Namespace: "default", Verb: "escalate", Group: "rbac.authorization.k8s.io", Resource: "roles", Name: "dynamo-discovery"}, false},
		"cluster roles":               {authorizationv1.ResourceAttributes{Verb: "patch", Group: "rbac.authorization.k8s.io", Resource: "clusterroles", Name: "dynawire"}, false},
		"others' webhooks":            {authorizationv1.ResourceAttributes{Verb: "patch", Group: "admissionregistration.k8s.io", Resource: "mutatingwebhookconfigurations", Name: "x"}, false},
		"creating pods":               {authorizationv1.ResourceAttributes{Namespace: "default", Verb: "create", Resource: "pods"}, false},
		"deleting others' accounts":   {authorizationv1.ResourceAttributes{Namespace: "default", Verb: "delete", Resource: "serviceaccounts", Name: "default"}, false},
		"deleting accounts of ours":   {authorizationv1.ResourceAttributes{Namespace: "default", Verb: "delete", Resource: "serviceaccounts", Name: "dynamo-discovery"}, true},
		"writing namespaces":          {authorizationv1.ResourceAttributes{Verb: "patch", Resource: "namespaces", Name: "default"}, false},
		"deleting anybody's services": {authorizationv1.ResourceAttributes{Namespace: "default", Verb: "delete", Resource: "services", Name: "x"}, true},
	} {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: controlplane.ServerAccount, Groups: []string{"system:serviceaccounts", "system:authenticated"}, ResourceAttributes: &tc.attributes,
		}}
		require.NoError(t, cluster.Create(t.Context(), review))
		assert.Equal(t, tc.allowed, review.Status.Allowed, what)
	}
}
