//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dynawire/dynawire/pkg/wiring"
)

// refusals are the Events that say that a pod was refused.
func refusals(t *testing.T, ns string) []corev1.Event {
	t.Helper()
	all, err := client.CoreV1().Events(ns).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=DynamoPodRefused"})
	require.NoError(t, err)
	return all.Items
}

// findings is the counter that every refusal raises.
func findings(t *testing.T, rule string) int {
	t.Helper()
	return metric(t, `dynawire_admission_findings_total\{[^}]*rule="`+rule+`"[^}]*\}`)
}

// metric is the sum over the replicas of the series that a pattern matches.
func metric(t *testing.T, series string) int {
	t.Helper()
	pods, err := client.CoreV1().Pods(systemNamespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=dynawire"})
	require.NoError(t, err)
	require.NotEmpty(t, pods.Items)
	line := regexp.MustCompile(`(?m)^` + series + ` ([0-9.e+]+)$`)
	total := 0
	for i := range pods.Items {
		data, err := client.CoreV1().RESTClient().Get().
			AbsPath("/api/v1/namespaces", systemNamespace, "pods", pods.Items[i].Name+":8080", "proxy", "metrics").DoRaw(t.Context())
		require.NoError(t, err)
		for _, m := range line.FindAllStringSubmatch(string(data), -1) {
			n, err := strconv.ParseFloat(m[1], 64)
			require.NoError(t, err)
			total += int(n)
		}
	}
	return total
}

func TestInconsistentDeploymentIsRefused(t *testing.T) {
	ns := optedIn(t, nil)
	before := findings(t, "component-mismatch")
	kubectl(t, "", "-n", ns, "apply", "-f", "../../examples/dynamo/inconsistent.yaml")

	eventually(t, "the refusal as an Event on the Deployment", func() error {
		for _, e := range refusals(t, ns) {
			if e.InvolvedObject.Kind == "Deployment" && e.InvolvedObject.Name == "inconsistent" {
				assert.Equal(t, corev1.EventTypeWarning, e.Type)
				assert.Contains(t, e.Message, `"prefill"`)
				assert.Contains(t, e.Message, "[component-mismatch]")
				return nil
			}
		}
		return fmt.Errorf("no such Event")
	})
	described := kubectl(t, "", "-n", ns, "describe", "deployment", "inconsistent")
	assert.Contains(t, described, "DynamoPodRefused", "what `kubectl describe` shows")
	assert.Greater(t, findings(t, "component-mismatch"), before)

	pods, err := client.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Empty(t, pods.Items)
	logs := kubectl(t, "", "-n", systemNamespace, "logs", "-l", "app.kubernetes.io/name=dynawire", "--tail=-1", "--prefix=false")
	var line string
	for l := range strings.Lines(logs) {
		if strings.Contains(l, ns) && strings.Contains(l, "component-mismatch") {
			line = l
		}
	}
	assert.True(t, strings.HasPrefix(line, "{"), "one structured line on record, got %q", line)
}

func TestRefusalNamesFieldAndRemedy(t *testing.T) {
	ns := optedIn(t, nil)
	p := plainWorker("w", map[string]string{wiring.LabelComponent: "decode", wiring.LabelNamespace: "a"},
		"--endpoint", "dyn://b.prefill.generate", "--discovery-backend", "etcd")
	_, err := client.CoreV1().Pods(ns).Create(t.Context(), p, metav1.CreateOptions{})
	require.Error(t, err)
	var status apierrors.APIStatus
	require.True(t, asStatus(err, &status))
	require.NotNil(t, status.Status().Details)
	var rules []string
	for _, c := range status.Status().Details.Causes {
		assert.True(t, strings.HasPrefix(c.Field, "spec.containers[0].") || strings.HasPrefix(c.Field, "metadata.labels"), c.Field)
		rules = append(rules, c.Message[strings.LastIndex(c.Message, "["):])
		assert.Contains(t, status.Status().Message, c.Message, "all findings in one answer")
	}
	assert.Equal(t, []string{"[namespace-mismatch]", "[component-mismatch]", "[discovery-backend-conflict]"}, rules)
}

func asStatus(err error, status *apierrors.APIStatus) bool { return errors.As(err, status) }
