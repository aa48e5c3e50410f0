//go:build integration

package integration_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/dynawire/dynawire/pkg/wiring"
)

func TestStoredPodIsWired(t *testing.T) {
	t.Parallel()
	namespace := optedIn(t, map[string]string{wiring.AnnotationDynamoNamespace: "team-a"})
	create(t, worker(namespace, "w"))
	p := getObject[corev1.Pod](t, namespace, "w")

	assert.Equal(t, map[string]string{
		"app": "w", wiring.LabelNamespace: "team-a", wiring.LabelComponent: "backend", wiring.LabelComponentType: "worker",
		wiring.LabelDiscoveryEnabled: "true", wiring.LabelDiscoveryBackend: "kubernetes",
	}, p.Labels)
	assert.Equal(t, wiring.ServiceAccount, p.Spec.ServiceAccountName)
	assert.Equal(t, wiring.ServiceAccount, p.Spec.DeprecatedServiceAccount)
	c := p.Spec.Containers[0]
	env := map[string]corev1.EnvVar{}
	for _, v := range c.Env {
		env[v.Name] = v
	}
	assert.Equal(t, "metadata.uid", env[wiring.EnvPodUID].ValueFrom.FieldRef.FieldPath)
	assert.Equal(t, "kubernetes", env[wiring.EnvDiscoveryBackend].Value)
	assert.Equal(t, "team-a", env[wiring.EnvNamespace].Value)
	require.NotNil(t, c.ReadinessProbe)
	assert.Equal(t, "/health", c.ReadinessProbe.HTTPGet.Path)
	assert.Equal(t, "system", c.ReadinessProbe.HTTPGet.Port.String())
	require.Len(t, c.VolumeMounts, 1, "the token of the account is mounted by the API server")
}

func TestWhatIsNotServedIsUntouched(t *testing.T) {
	t.Parallel()
	in, out := optedIn(t, nil), newNamespace(t, nil)
	for name, p := range map[string]*corev1.Pod{
		"another namespace": worker(out, "w", mismatched),
		"opted out":         worker(in, "out", mismatched, func(p *corev1.Pod) { p.Labels[wiring.LabelDiscoveryEnabled] = "false" }),
		"of the operator":   worker(in, "operator", mismatched, func(p *corev1.Pod) { p.Labels[wiring.LabelGraphDeployment] = "g" }),
		"not Dynamo":        worker(in, "plain", func(p *corev1.Pod) { p.Spec.Containers[0].Command = []string{"sleep"} }),
	} {
		t.Run(name, func(t *testing.T) {
			labels := len(p.Labels)
			create(t, p)
			stored := getObject[corev1.Pod](t, p.Namespace, p.Name)
			assert.Len(t, stored.Labels, labels)
			assert.Equal(t, "default", stored.Spec.ServiceAccountName)
			assert.Empty(t, stored.Spec.Containers[0].Env)
			assert.Nil(t, stored.Spec.Containers[0].ReadinessProbe)
		})
	}
}
