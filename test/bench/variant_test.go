//go:build bench

package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/dynawire/dynawire/pkg/wiring"
	"github.com/dynawire/dynawire/test/controlplane"
)

// variantLabel on a namespace says what happens to its pods.
const variantLabel = "bench.dynawire.io/variant"

// A variant is a way to admit a pod; its namespace has its name.
const (
	noHook    = "no-hook"
	noop      = "no-op-webhook"
	policy    = "policy"
	mutating  = "mutating" // dynawire without its validating webhook
	installed = "installed"
)

var variants = []string{noHook, noop, policy, mutating, installed}

// titles of the variants, in the table.
var titles = map[string]string{
	noHook: "no hook", noop: "a webhook that does nothing", policy: "MutatingAdmissionPolicy, same mutation",
	mutating: "dynawire, mutating webhook", installed: "dynawire, mutating and validating",
}

// installVariants makes a namespace for every variant, and the webhooks and the policy that select them.
func installVariants(t *testing.T) *controlplane.Server {
	t.Helper()
	server := startServer(t, "server")
	exceptMutating(t)
	url, bundle := startNoop(t)
	installNoop(t, url, bundle)
	installPolicy(t)
	for _, v := range variants {
		labels := map[string]string{variantLabel: v}
		if v == mutating || v == installed {
			labels[wiring.LabelDiscoveryEnabled] = "true"
		}
		newNamespace(t, v, labels)
	}
	newAccount(t, policy, wiring.ServiceAccount)
	waitAccount(t, mutating)
	waitAccount(t, installed)
	// The API server takes notice of webhooks and policies by and by.
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		for _, v := range variants {
			_, wired := admitted(c, v).Labels[wiring.LabelComponent]
			require.Equal(c, v != noHook && v != noop, wired, v)
		}
	}, time.Minute, 200*time.Millisecond)
	return server
}

// calls is how many pods the mutating webhook has been asked about.
func calls(t *testing.T, s *controlplane.Server) (sum float64) {
	t.Helper()
	_, page := controlplane.Get("http://" + s.Metrics + "/metrics")
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "dynawire_admission_requests_total{") && strings.Contains(line, `hook="mutate"`) {
			n, err := strconv.ParseFloat(strings.Fields(line)[1], 64)
			require.NoError(t, err, line)
			sum += n
		}
	}
	return sum
}

// exceptMutating takes one namespace out of the validating webhook's.
func exceptMutating(t *testing.T) {
	t.Helper()
	v := &admissionv1.ValidatingWebhookConfiguration{}
	require.NoError(t, plane.Client.Get(t.Context(), clientKey("dynawire"), v))
	s := v.Webhooks[0].NamespaceSelector
	s.MatchExpressions = append(s.MatchExpressions, metav1.LabelSelectorRequirement{
		Key: variantLabel, Operator: metav1.LabelSelectorOpNotIn, Values: []string{mutating},
	})
	require.NoError(t, plane.Client.Update(t.Context(), v))
}

func installNoop(t *testing.T, url string, bundle []byte) {
	t.Helper()
	var config admissionv1.MutatingWebhookConfiguration
	require.NoError(t, plane.Client.Get(t.Context(), clientKey("dynawire"), &config))
	hook := config.Webhooks[0]
	hook.Name = "noop.bench.dynawire.io"
	hook.ClientConfig = admissionv1.WebhookClientConfig{URL: &url, CABundle: bundle}
	hook.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{variantLabel: noop}}
	require.NoError(t, plane.Client.Create(t.Context(), &admissionv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "bench-noop"}, Webhooks: []admissionv1.MutatingWebhook{hook},
	}))
}

func installPolicy(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile("testdata/policy.yaml")
	require.NoError(t, err)
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		o := &unstructured.Unstructured{}
		err := decoder.Decode(o)
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		require.NoError(t, plane.Client.Create(t.Context(), o))
	}
}

// admitted is the pod that a variant makes of the worker, without what differs from one pod to the next.
func admitted(t require.TestingT, variant string) *corev1.Pod {
	body, err := createPod(context.Background(), variant, workerPod, true)
	require.NoError(t, err)
	p := &corev1.Pod{}
	require.NoError(t, json.Unmarshal(body, p))
	token := ""
	for i, v := range p.Spec.Volumes {
		if v.Projected != nil {
			token = v.Name
			p.Spec.Volumes[i].Name = "token"
		}
	}
	for _, containers := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for _, c := range containers {
			if i := slices.IndexFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == token }); i >= 0 {
				c.VolumeMounts[i].Name = "token"
			}
		}
	}
	p.Name, p.Namespace, p.UID, p.CreationTimestamp, p.ManagedFields = "", "", "", metav1.Time{}, nil
	return p
}
