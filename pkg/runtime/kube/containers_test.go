package kube_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/dynawire/dynawire/api/v1alpha1"
	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/kube"
	"github.com/dynawire/dynawire/pkg/runtime/kube/apitest"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// Two engines in one pod are two instances: each has an object, an id and a readiness of its own. There is no Service.
func TestContainersAreInstances(t *testing.T) {
	s := apitest.New(t)
	const uid = "6fe0c9a5-8a0f-4cb4-9c44-5e4ae3f0a001"
	pod := func(ready ...bool) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "worker-0", Namespace: kubeNamespace, UID: types.UID(uid), Labels: labelsOf(component)},
			Spec:       corev1.PodSpec{NodeName: "node-1"},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "192.0.2.1", ContainerStatuses: []corev1.ContainerStatus{
				{Name: "main", Ready: ready[0]}, {Name: "engine-1", Ready: ready[1]}, {Name: "sidecar", Ready: true},
			}},
		}
	}
	s.Set(pod(false, false))
	engine := func(name string) (*kube.Client, runtime.Instance) {
		c := newClient(t, s, func(c *kube.Config) {
			c.Identity.PodUID, c.Identity.Container = uid, name
			c.Health, c.ServiceWait = runtime.NewHealth(), time.Hour
		})
		self, err := c.CreateInstance(t.Context(), registration())
		require.NoError(t, err)
		return c, self
	}
	p := pod(false, false)
	p.Annotations = map[string]string{"nvidia.com/dynamo-main-container-name": "engine-1"} // a proposal's, which no release reads
	s.Set(p)
	_, first := engine("main")
	client, second := engine("engine-1")
	assert.Equal(t, runtime.InstanceID{Namespace: kubeNamespace, PodName: "worker-0", UID: uid}, first.ID)
	assert.Equal(t, runtime.InstanceID{Namespace: kubeNamespace, PodName: "worker-0-engine-1", UID: uid + "/engine-1"}, second.ID)
	assert.Equal(t, wiring.InstanceID("worker-0-engine-1"), second.ID.Number())
	e, _ := second.Endpoint("generate")
	assert.Equal(t, second.ID.Number(), e.InstanceID)
	object := s.Get(v1alpha1.Resource, kubeNamespace, "worker-0-engine-1").(*v1alpha1.DynamoWorkerMetadata)
	require.Len(t, object.OwnerReferences, 1)
	assert.Equal(t, "worker-0", object.OwnerReferences[0].Name)
	assert.Equal(t, types.UID(uid), object.OwnerReferences[0].UID)
	assert.Equal(t, new(false), object.OwnerReferences[0].Controller, "a pod controls the object of its own name alone, as Dynamo writes it")
	object = s.Get(v1alpha1.Resource, kubeNamespace, "worker-0").(*v1alpha1.DynamoWorkerMetadata)
	require.Len(t, object.OwnerReferences, 1)
	assert.Equal(t, new(true), object.OwnerReferences[0].Controller)
	assert.Equal(t, runtime.Owner{APIVersion: "v1", Kind: "Pod", Name: "worker-0", UID: uid}, second.ID.Owner())

	sub := subscribe(t, client)
	expect(t, sub, "Synced")
	all, err := client.ListInstances(t.Context(), dynNamespace, component)
	require.NoError(t, err)
	require.Len(t, all, 2, "a container without metadata is no instance")
	assert.Equal(t, second.ID, all[1].ID)
	assert.Equal(t, "node-1", all[1].Node)

	p = p.DeepCopy()
	p.Status.ContainerStatuses[1].Ready = true
	s.Set(p)
	_, ev := next(t, sub)
	assert.Equal(t, runtime.NewReady, ev.Type)
	assert.Equal(t, second.ID, ev.Instance.ID)
	d, err := client.Diagnose(t.Context(), dynNamespace, component)
	require.NoError(t, err)
	assert.Equal(t, 2, d.Instances, d.String())
	assert.Equal(t, 1, d.Ready)
	_, problem := d.Cause()
	assert.False(t, problem, d.String())
	m, err := client.Metadata(t.Context(), second.ID)
	require.NoError(t, err)
	assert.JSONEq(t, string(registration().Metadata), string(m.Values()))
	status, err := client.Status(t.Context(), first)
	require.NoError(t, err)
	assert.Equal(t, runtime.StatusNotReady, status)

	now := metav1.Now()
	p = p.DeepCopy()
	p.DeletionTimestamp = &now
	s.Set(p)
	expect(t, sub, "NotReady worker-0-engine-1")
	s.Delete("pods", kubeNamespace, "worker-0")
	expect(t, sub, "Deleted worker-0-engine-1")
	d, err = client.Diagnose(t.Context(), dynNamespace, component)
	require.NoError(t, err)
	cause, _ := d.Cause()
	assert.Equal(t, runtime.CheckIdentity, cause.ID)
}
