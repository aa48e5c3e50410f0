//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dynawire/dynawire/pkg/wiring"
)

// plainWorker is a pod as anyone would write it: a Dynamo module, no word about discovery. The image is one that every
// cluster under test has; these tests look at what is stored and need no process that runs.
func plainWorker(name string, labels map[string]string, args ...string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "worker", Image: workerImage, ImagePullPolicy: corev1.PullNever,
			Command: []string{"python3", "-m", "dynamo.vllm"}, Args: append([]string{"--model", "m"}, args...),
		}}},
	}
}

func env(p *corev1.Pod, name string) string {
	for _, e := range p.Spec.Containers[0].Env {
		if e.Name == name && e.ValueFrom != nil && e.ValueFrom.FieldRef != nil {
			return "field " + e.ValueFrom.FieldRef.FieldPath
		}
		if e.Name == name {
			return e.Value
		}
	}
	return "(absent)"
}

func TestPodIsWired(t *testing.T) {
	ns := optedIn(t, map[string]string{wiring.AnnotationDynamoNamespace: "team"})
	p, err := client.CoreV1().Pods(ns).Create(t.Context(), plainWorker("w", map[string]string{"app": "w"}), metav1.CreateOptions{})
	require.NoError(t, err)

	assert.Equal(t, map[string]string{
		"app":                        "w",
		wiring.LabelNamespace:        "team",
		wiring.LabelComponent:        "backend",
		wiring.LabelComponentType:    "worker",
		wiring.LabelDiscoveryEnabled: "true",
		wiring.LabelDiscoveryBackend: "kubernetes",
	}, p.Labels)
	for name, want := range map[string]string{
		wiring.EnvPodName:              "field metadata.name",
		wiring.EnvPodNamespace:         "field metadata.namespace",
		wiring.EnvPodUID:               "field metadata.uid",
		wiring.EnvDiscoveryBackend:     "kubernetes",
		wiring.EnvNamespace:            "team",
		wiring.EnvComponent:            "backend",
		wiring.EnvEndpoint:             "team.backend.generate",
		wiring.EnvSystemPort:           "9090",
		wiring.EnvEndpointHealthStatus: `["generate"]`,
	} {
		assert.Equal(t, want, env(p, name), name)
	}
	c := p.Spec.Containers[0]
	assert.Contains(t, c.Ports, corev1.ContainerPort{Name: "system", ContainerPort: 9090, Protocol: corev1.ProtocolTCP})
	require.NotNil(t, c.ReadinessProbe)
	assert.Equal(t, "/health", c.ReadinessProbe.HTTPGet.Path)
	assert.Equal(t, "system", c.ReadinessProbe.HTTPGet.Port.String())
	assert.EqualValues(t, 1, c.ReadinessProbe.PeriodSeconds)
	assert.Nil(t, c.LivenessProbe, "a liveness probe would kill a worker that loads its model")
	assert.Equal(t, wiring.ServiceAccount, p.Spec.ServiceAccountName)
	assert.Equal(t, wiring.ServiceAccount, p.Spec.DeprecatedServiceAccount)
	assert.True(t, mountsToken(p), "the pod must reach the API server")

	eventually(t, "the Service of team/backend", func() error {
		svc, err := client.CoreV1().Services(ns).Get(t.Context(), wiring.ServiceName("team", "backend"), metav1.GetOptions{})
		if err != nil {
			return err
		}
		assert.Equal(t, corev1.ClusterIPNone, svc.Spec.ClusterIP)
		assert.Equal(t, map[string]string{wiring.LabelNamespace: "team", wiring.LabelComponent: "backend"}, svc.Spec.Selector)
		assert.False(t, svc.Spec.PublishNotReadyAddresses)
		return nil
	})
	eventually(t, "the pod in an EndpointSlice with the discovery labels", func() error {
		slices, err := client.DiscoveryV1().EndpointSlices(ns).List(t.Context(), metav1.ListOptions{LabelSelector: labelSelector(
			wiring.LabelDiscoveryEnabled, "true", wiring.LabelNamespace, "team", wiring.LabelComponent, "backend")})
		if err != nil {
			return err
		}
		if len(slices.Items) == 0 {
			return fmt.Errorf("no slice")
		}
		return nil
	})
	for _, resource := range []string{"role", "rolebinding"} {
		kubectl(t, "", "-n", ns, "get", resource, wiring.ServiceAccount)
	}
}

func labelSelector(pairs ...string) string {
	var terms []string
	for i := 0; i < len(pairs); i += 2 {
		terms = append(terms, pairs[i]+"="+pairs[i+1])
	}
	return strings.Join(terms, ",")
}

func mountsToken(p *corev1.Pod) bool {
	for _, m := range p.Spec.Containers[0].VolumeMounts {
		if m.MountPath == "/var/run/secrets/kubernetes.io/serviceaccount" {
			return true
		}
	}
	return false
}

func TestDryRunLeavesNoTrace(t *testing.T) {
	ns := optedIn(t, nil)
	p, err := client.CoreV1().Pods(ns).Create(t.Context(), plainWorker("w", nil), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	require.NoError(t, err)
	assert.Equal(t, "backend", p.Labels[wiring.LabelComponent], "a dry run shows what would be wired")

	refused := plainWorker("refused", map[string]string{wiring.LabelComponent: "decode"}, "--endpoint", "dyn://dynamo.prefill.generate")
	before := findings(t, "component-mismatch")
	_, err = client.CoreV1().Pods(ns).Create(t.Context(), refused, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	require.ErrorContains(t, err, "[component-mismatch]", "a dry run shows what would be refused")

	// A refusal that counts comes last: once its Event is there, the dry run's would be, too.
	refused.Name = "for-real"
	_, err = client.CoreV1().Pods(ns).Create(t.Context(), refused, metav1.CreateOptions{})
	require.ErrorContains(t, err, "[component-mismatch]")
	eventually(t, "the Event of the refusal that was no dry run", func() error {
		events := refusals(t, ns)
		if len(events) == 0 {
			return fmt.Errorf("no Event")
		}
		for _, e := range events {
			assert.Equal(t, "for-real", e.InvolvedObject.Name)
		}
		return nil
	})
	assert.Equal(t, before+1, findings(t, "component-mismatch"), "only the refusal that was no dry run counts")
	services, err := client.CoreV1().Services(ns).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Empty(t, services.Items)
}

func TestOthersAreUntouched(t *testing.T) {
	stranger := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "redis"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "redis", Image: "redis:8", Command: []string{"redis-server"},
	}}}}
	for name, tc := range map[string]struct {
		namespace map[string]string
		pod       *corev1.Pod
	}{
		"a Dynamo pod in a namespace without the label": {nil, plainWorker("w", nil)},
		"an inconsistent pod in a namespace without the label": {nil, plainWorker("w", map[string]string{wiring.LabelComponent: "decode"},
			"--endpoint", "dyn://dynamo.prefill.generate")},
		"a pod that opted out": {map[string]string{wiring.LabelDiscoveryEnabled: "true"},
			plainWorker("w", map[string]string{wiring.LabelDiscoveryEnabled: "false"}, "--endpoint", "nonsense")},
		"a pod of the Dynamo operator": {map[string]string{wiring.LabelDiscoveryEnabled: "true"},
			plainWorker("w", map[string]string{wiring.LabelGraphDeployment: "g"})},
		"a pod that is not Dynamo's": {map[string]string{wiring.LabelDiscoveryEnabled: "true"}, stranger},
	} {
		t.Run(name, func(t *testing.T) {
			ns := newNamespace(t, tc.namespace, nil)
			p, err := client.CoreV1().Pods(ns).Create(t.Context(), tc.pod.DeepCopy(), metav1.CreateOptions{})
			require.NoError(t, err)
			assert.Equal(t, tc.pod.Labels, p.Labels)
			assert.Empty(t, p.Annotations)
			assert.Empty(t, p.Spec.Containers[0].Env)
			assert.Empty(t, p.Spec.Containers[0].Ports)
			assert.Nil(t, p.Spec.Containers[0].ReadinessProbe)
			assert.Equal(t, "default", p.Spec.ServiceAccountName)
		})
	}
}

// The first pod may come in the same breath as the label: the account is made by a reconciler that has just heard of the
// namespace, and the pod must neither be lost nor stay without a way to the API server.
func TestFirstPodRightAfterTheLabel(t *testing.T) {
	for _, dryRun := range []bool{false, true} {
		t.Run(fmt.Sprintf("dryRun=%v", dryRun), func(t *testing.T) {
			const rounds = 50
			var own int
			for i := range rounds {
				ns := newNamespace(t, nil, nil)
				kubectl(t, "", "label", "namespace", ns, wiring.LabelDiscoveryEnabled+"=true")
				opts := metav1.CreateOptions{}
				if dryRun {
					opts.DryRun = []string{metav1.DryRunAll}
				}
				p, err := client.CoreV1().Pods(ns).Create(t.Context(), plainWorker("first", nil), opts)
				require.NoErrorf(t, err, "round %d", i)
				require.Equalf(t, "backend", p.Labels[wiring.LabelComponent], "round %d: not wired", i)
				if p.Spec.ServiceAccountName != wiring.ServiceAccount {
					own++
				}
				zero := int64(0)
				require.NoError(t, client.CoreV1().Namespaces().Delete(t.Context(), ns, metav1.DeleteOptions{GracePeriodSeconds: &zero}))
			}
			t.Logf("%d of %d wired, %d kept their own account", rounds, rounds, own)
		})
	}
}
