//go:build integration

package integration_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/dynawire/dynawire/pkg/wiring"
)

// notReadyService publishes addresses that are not ready.
func notReadyService(namespace string, labels map[string]string) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "w", Labels: labels},
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true, Selector: map[string]string{"app": "w"}, Ports: []corev1.ServicePort{{Port: 9090}},
		},
	}
}

func TestServiceOfDiscoveryPublishesWhatIsReady(t *testing.T) {
	t.Parallel()
	namespace := optedIn(t, nil)
	discovery := map[string]string{wiring.LabelDiscoveryEnabled: "true"}

	err := cluster.Create(t.Context(), notReadyService(namespace, discovery), client.DryRunAll)
	require.True(t, apierrors.IsInvalid(err), "%v", err)
	time.Sleep(settling)
	assert.Empty(t, eventsAbout(namespace, "Service", "w", "DynamoObjectRefused"), "a dry run leaves no trace")

	err = cluster.Create(t.Context(), notReadyService(namespace, discovery))
	require.True(t, apierrors.IsInvalid(err), "%v", err)
	assert.Contains(t, err.Error(), "[publish-not-ready]")
	eventually(t, func(t require.TestingT) {
		require.Len(t, eventsAbout(namespace, "Service", "w", "DynamoObjectRefused"), 1)
	})

	manifest, err := yaml.Marshal(notReadyService(namespace, discovery))
	require.NoError(t, err)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, plane.WriteKubeconfig(kubeconfig))
	c := exec.Command(plane.Kubectl(), "--kubeconfig", kubeconfig, "--as", "admin", "--as-group", "system:masters", "apply", "-f", "-")
	c.Stdin = strings.NewReader(string(manifest))
	out, err := c.CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), `The Service "w" is invalid: spec.publishNotReadyAddresses:`)

	// Without the label it is nobody's business; the label cannot be added, and what is there can go.
	s := notReadyService(namespace, nil)
	create(t, s)
	s.Labels = discovery
	require.True(t, apierrors.IsInvalid(cluster.Update(t.Context(), s)))
	s.Spec.PublishNotReadyAddresses = false
	require.NoError(t, cluster.Update(t.Context(), s))
	remove(t, s)
}

// A Service that was there before the rule stays changeable.
func TestOldServicesStayChangeable(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t, nil)
	discovery := map[string]string{wiring.LabelDiscoveryEnabled: "true"}
	s := notReadyService(namespace, discovery)
	s.Finalizers = []string{"example.com/hold"}
	create(t, s)
	label(t, namespace, "true")
	eventually(t, func(t require.TestingT) {
		other := notReadyService(namespace, discovery)
		other.Name = "other"
		require.Error(t, cluster.Create(context.Background(), other, client.DryRunAll))
	})
	s.Annotations = map[string]string{"touched": "true"}
	require.NoError(t, cluster.Update(t.Context(), s))
	remove(t, s)
	s = getObject[corev1.Service](t, namespace, "w")
	s.Finalizers = nil
	require.NoError(t, cluster.Update(t.Context(), s))
	gone(t, s)
}
