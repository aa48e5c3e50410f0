//go:build integration

package integration_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dynawire/dynawire/pkg/wiring"
)

// A pod that came in before the rules can be worked with in every way until it is gone.
func TestPodWithAKnownViolationCanBeWorkedWith(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"before the namespace opted in", "while it only warned"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			var namespace string
			p := worker("", "w", mismatched, func(p *corev1.Pod) { p.Finalizers = []string{"example.com/hold"} })
			if how == "while it only warned" {
				namespace = optedIn(t, map[string]string{wiring.AnnotationValidation: "warn"})
				p.Namespace = namespace
				create(t, p)
				ns := getObject[corev1.Namespace](t, "", namespace)
				delete(ns.Annotations, wiring.AnnotationValidation)
				require.NoError(t, cluster.Update(t.Context(), ns))
			} else {
				namespace = newNamespace(t, nil)
				p.Namespace = namespace
				create(t, p)
				label(t, namespace, "true")
			}
			eventually(t, func(t require.TestingT) {
				require.Error(t, cluster.Create(context.Background(), worker(namespace, "new", mismatched), client.DryRunAll))
			})

			patch := func(body string) {
				t.Helper()
				require.NoError(t, cluster.Patch(t.Context(), p, client.RawPatch(types.MergePatchType, []byte(body))))
			}
			patch(`{"metadata":{"annotations":{"a":"b"},"labels":{"c":"d"}}}`)
			p.Spec.Containers[0].Image = "dynamo:1.6.2"
			require.NoError(t, cluster.Update(t.Context(), p))

			// kubectl debug
			core, err := corev1client.NewForConfig(config)
			require.NoError(t, err)
			p.Spec.EphemeralContainers = append(p.Spec.EphemeralContainers, corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
				Name: "debugger", Image: "busybox", Command: []string{"sh"}, TerminationMessagePolicy: corev1.TerminationMessageReadFile, ImagePullPolicy: corev1.PullIfNotPresent,
			}})
			p, err = core.Pods(namespace).UpdateEphemeralContainers(t.Context(), p.Name, p, metav1.UpdateOptions{})
			require.NoError(t, err)
			require.Len(t, p.Spec.EphemeralContainers, 1)
			patch(`{"metadata":{"annotations":{"a":"c"}}}`) // with the debugger in it

			p.Status.Phase = corev1.PodRunning
			require.NoError(t, cluster.Status().Update(t.Context(), p))
			remove(t, p)
			p = getObject[corev1.Pod](t, namespace, "w")
			require.NotNil(t, p.DeletionTimestamp)
			patch(`{"metadata":{"finalizers":null}}`)
			gone(t, p)
		})
	}
}

func TestIdentityOfARunningPodStays(t *testing.T) {
	t.Parallel()
	namespace := optedIn(t, nil)
	p := worker(namespace, "w")
	create(t, p)
	err := cluster.Patch(t.Context(), p.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"nvidia.com/dynamo-component":"other"}}}`)))
	require.Error(t, err)
	assert.Contains(t, err.Error(), "[identity-changed]")
	require.NoError(t, cluster.Patch(t.Context(), p, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"app":"other"}}}`))))
}
