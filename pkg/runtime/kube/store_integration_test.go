//go:build integration

package kube_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/kube"
)

// What the fake API server cannot vouch for: server-side apply of ConfigMaps, owners of values, and what RBAC says to
// Diagnose.
func TestStoresOnARealAPIServer(t *testing.T) {
	c := newCluster(t)
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "worker-0", Namespace: kubeNamespace, Labels: labelsOf(component)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "none"}}},
	}
	c.create(t, p)
	client := func(as *rest.Config) *kube.Client {
		d, err := kube.New(kube.Config{
			Identity: runtime.Identity{
				PodName: "worker-0", PodNamespace: kubeNamespace, PodUID: string(p.UID), Namespace: dynNamespace, Component: component,
				Backend: "kubernetes",
			},
			REST: as, Health: runtime.NewHealth(), ServiceWait: patience, MetadataStore: kube.ConfigMaps,
		})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, d.Close()) })
		return d
	}
	d := client(c.env.Config)
	c.put(t, slice("s1", endpoint("worker-0", string(p.UID), "10.0.0.1", "ready")))
	self, err := d.CreateInstance(t.Context(), registration())
	require.NoError(t, err)
	sub := subscribe(t, d)
	expect(t, sub, "NewReady worker-0", "Synced")
	r := registration()
	r.Endpoints[0].Transport = runtime.TCP("10.0.0.1:9999/43710f49c0cff/generate")
	_, err = d.CreateInstance(t.Context(), r)
	require.NoError(t, err)
	expect(t, sub, "Updated worker-0")
	m, err := d.Metadata(t.Context(), self.ID)
	require.NoError(t, err)
	assert.JSONEq(t, string(r.Metadata), string(m.Values()))
	var cm corev1.ConfigMap
	require.NoError(t, c.admin.Get(t.Context(), types.NamespacedName{Namespace: kubeNamespace, Name: "dynawire-instance-worker-0"}, &cm))
	require.Len(t, cm.OwnerReferences, 1)
	assert.Equal(t, p.UID, cm.OwnerReferences[0].UID)

	for range 2 {
		require.NoError(t, d.WriteKV(t.Context(), "owned", []byte("v"), runtime.OwnedBy(self.ID.Owner())))
	}
	other := runtime.Owner{APIVersion: "apps/v1", Kind: "Deployment", Name: "d", UID: "3b4f6a5e-0000-4000-8000-000000000001"}
	require.NoError(t, d.WriteKV(t.Context(), "owned", []byte("v"), runtime.OwnedBy(other)))
	var list corev1.ConfigMapList
	require.NoError(t, c.admin.List(t.Context(), &list))
	owners := 0
	for i := range list.Items {
		if list.Items[i].Annotations["dynawire.io/key"] == "owned" {
			owners = len(list.Items[i].OwnerReferences)
		}
	}
	assert.Equal(t, 2, owners)

	diagnosis, err := d.Diagnose(t.Context(), "", "")
	require.NoError(t, err)
	_, problem := diagnosis.Cause()
	assert.False(t, problem, diagnosis.String())
	diagnosis, err = client(c.pod).Diagnose(t.Context(), "", "") // an account that may not list ConfigMaps
	require.NoError(t, err)
	cause, _ := diagnosis.Cause()
	assert.Equal(t, runtime.CheckAccess, cause.ID, diagnosis.String())
	require.Len(t, cause.Details, 2)
	assert.Contains(t, cause.Details[0], `cannot list resource "configmaps"`)
	assert.Contains(t, cause.Details[1], `cannot watch resource "configmaps"`)
}
