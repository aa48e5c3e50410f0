//go:build integration

package integration_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dynawire/dynawire/internal/drift"
	"github.com/dynawire/dynawire/internal/report"
)

// drifted are the entries of what the last scan of a namespace found.
func drifted(t require.TestingT, namespace string) []report.Entry {
	reports, err := newStore(config)
	require.NoError(t, err)
	r, err := reports.Get(context.Background(), namespace, report.Drift)
	require.NoError(t, err)
	return report.Entries(r)
}

// The tests for drift come before those that run in parallel and leave hundreds of namespaces to scan.
func TestPodsThatWereThereBeforeAreReported(t *testing.T) {
	namespace := newNamespace(t, nil)
	old, sidecar := worker(namespace, "old"), worker(namespace, "redis")
	sidecar.Spec.Containers[0].Command = []string{"redis-server"}
	create(t, old)
	create(t, sidecar)
	label(t, namespace, "true")
	eventually(t, func(c require.TestingT) {
		entries := drifted(c, namespace)
		require.Len(c, entries, 1)
		e := entries[0]
		require.Equal(c, "Pod/old", e.Object.Kind+"/"+e.Object.Name)
		require.Equal(c, drift.RuleUnwired, e.Rule)
		require.Equal(c, report.Running, e.Outcome)
		require.Contains(c, e.Message, "DYN_DISCOVERY_BACKEND")
	})
	remove(t, old)
	eventually(t, func(c require.TestingT) { require.Empty(c, drifted(c, namespace)) })
}

// Nobody tells a leader what the one before it has reported.
func TestReportOfANamespaceThatOptsOutBetweenTwoLeadersIsEmptied(t *testing.T) {
	namespace := newNamespace(t, nil)
	create(t, worker(namespace, "old"))
	label(t, namespace, "true")
	eventually(t, func(c require.TestingT) { require.Len(c, drifted(c, namespace), 1) })
	require.NoError(t, first.Stop(), first.Log.String())
	label(t, namespace, "")
	require.NoError(t, first.Start())
	require.NoError(t, first.WaitReady())
	eventually(t, func(c require.TestingT) { require.Empty(c, drifted(c, namespace)) })
}

// The right to evict comes with a component of the manifests.
func TestUnwiredPodIsEvicted(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, plane.WriteKubeconfig(kubeconfig))
	out, err := exec.CommandContext(t.Context(), plane.Kubectl(), "--kubeconfig", kubeconfig, "--as", "admin", "--as-group", "system:masters",
		"apply", "-f", filepath.Join("..", "..", "manifests", "components", "repair", "rbac.yaml")).CombinedOutput()
	require.NoError(t, err, string(out))

	namespace := newNamespace(t, nil)
	controlled := func(p *corev1.Pod) {
		yes := true
		p.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "StatefulSet", Name: "of-" + p.Name, UID: types.UID("11111111-2222-3333-4444-" + (p.Name + "000000000000")[:12]), Controller: &yes,
		}}
	}
	serving, crashing, bare := worker(namespace, "serving", controlled), worker(namespace, "crashing", controlled), worker(namespace, "bare")
	for _, p := range []*corev1.Pod{serving, crashing, bare} {
		create(t, p)
		status := corev1.ConditionTrue
		if p == crashing {
			status = corev1.ConditionFalse
		}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}
		require.NoError(t, cluster.Status().Update(t.Context(), p))
	}
	label(t, namespace, "true")
	for _, p := range []*corev1.Pod{serving, crashing} {
		eventually(t, func(c require.TestingT) { gone(c, p.DeepCopy()) })
		eventually(t, func(c require.TestingT) {
			var events corev1.EventList
			require.NoError(c, cluster.List(context.Background(), &events, client.InNamespace(namespace)))
			require.True(c, slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
				return e.Reason == drift.ReasonEvicted && e.InvolvedObject.Kind == "StatefulSet" && e.InvolvedObject.Name == "of-"+p.Name
			}), "an Event on the workload of %s", p.Name)
		})
	}
	require.NotNil(t, getObject[corev1.Pod](t, namespace, "bare"), "nobody would replace it")
}
