package kube_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/dynawire/dynawire/api/v1alpha1"
	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/kube"
	"github.com/dynawire/dynawire/pkg/runtime/kube/apitest"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// enginePod has two engines, which are instances, and a sidecar; the last engine is ready or not.
func enginePod(ready bool) *corev1.Pod {
	p := workerPod("worker-0", "uid-0", labelsOf(component), corev1.ContainerStatus{Name: "main", Ready: true},
		corev1.ContainerStatus{Name: "engine", Ready: ready, RestartCount: 3}, corev1.ContainerStatus{Name: "proxy"})
	p.Spec.Containers = []corev1.Container{{Name: "main"}, {Name: "engine"}, {Name: "proxy"}}
	return p
}

// In container mode the question is whether that container is found; no Service is asked for.
func TestDiagnoseOfAContainer(t *testing.T) {
	all := func(ready bool) func(*apitest.Server) {
		return func(s *apitest.Server) {
			s.Set(enginePod(ready))
			s.Set(workerMetadata("worker-0", "uid-0", 1))
			m := workerMetadata("worker-0-engine", "uid-0", 1)
			m.OwnerReferences[0].Name = "worker-0"
			s.Set(m)
		}
	}
	for name, tc := range map[string]struct {
		container string
		cluster   func(*apitest.Server)
		cause     runtime.CheckID
		says      string
		details   []string
		instances int
		ready     int
	}{
		"found":                       {cluster: all(true), instances: 2, ready: 2},
		"the main one beside another": {container: "main", cluster: all(false), instances: 2, ready: 1},
		"not ready": {
			cluster: all(false), cause: runtime.CheckReady, says: "worker-0-engine is not ready; ready: 1 of 3", instances: 2, ready: 1,
			details: []string{
				"worker-0-engine: the readiness probe of container engine has not succeeded (restarts: 3)",
				"worker-0-proxy: the readiness probe of container proxy has not succeeded (restarts: 0)",
			},
		},
		"a name that no container has": {
			container: "Engine", cluster: all(true), cause: runtime.CheckIdentity,
			says: "pod worker-0 has no container Engine (CONTAINER_NAME): nobody looks for what it publishes",
		},
		"no containers yet": {
			cluster: func(s *apitest.Server) {
				p := enginePod(false)
				p.Status.ContainerStatuses = nil
				s.Set(p)
			},
			cause: runtime.CheckEndpoints, says: "the pods' status lists no container",
		},
		"not yet among others": {
			cluster: func(s *apitest.Server) {
				p := enginePod(false)
				p.Status.ContainerStatuses = p.Status.ContainerStatuses[:1]
				s.Set(p)
			},
			cause: runtime.CheckEndpoints, says: "the pods' status lists other containers (1), but not worker-0-engine",
		},
		"an ended pod": {
			cluster: func(s *apitest.Server) {
				p := enginePod(false)
				p.Status.Phase = corev1.PodFailed
				s.Set(p)
			},
			cause: runtime.CheckEndpoints, says: "the pods' status lists no container",
		},
		"a pod that peers do not look for": {
			cluster: func(s *apitest.Server) {
				p := enginePod(true)
				delete(p.Labels, wiring.LabelDiscoveryEnabled)
				s.Set(p)
			},
			cause: runtime.CheckLabels, says: "the pod's labels do not name the component: nobody looks for it there",
			details: []string{"no label nvidia.com/dynamo-discovery-enabled"},
		},
		"no right to watch pods": {
			cluster: func(s *apitest.Server) {
				all(true)(s)
				s.Deny("watch", "pods", true)
				s.Deny("list", "endpointslices", true)
			},
			cause: runtime.CheckAccess, says: "the account may not read what discovery reads",
			details: []string{`pods is forbidden: user "system:serviceaccount:llm:test" cannot watch resource "pods"`},
		},
		"metadata under the pod's name": {
			cluster: func(s *apitest.Server) { all(true)(s); s.Delete(v1alpha1.Resource, kubeNamespace, "worker-0-engine") },
			cause:   runtime.CheckMetadata, says: "worker-0-engine has no metadata; with metadata: 1 of 3", instances: 1, ready: 1,
			details: []string{
				"worker-0-engine: there is no DynamoWorkerMetadata worker-0-engine", "worker-0-proxy: there is no DynamoWorkerMetadata worker-0-proxy",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.container == "" {
				tc.container = "engine"
			}
			s := apitest.New(t)
			tc.cluster(s)
			c := newClient(t, s, func(c *kube.Config) { ownWiredPod(c); c.Identity.Container = tc.container })
			d, err := c.Diagnose(t.Context(), "", "")
			require.NoError(t, err)
			cause, _ := d.Cause()
			assert.Equal(t, tc.cause, cause.ID, d.String())
			assert.Equal(t, tc.says, cause.Found)
			if tc.details != nil {
				assert.Equal(t, tc.details, cause.Details)
			}
			assert.Equal(t, []any{"worker-0", tc.container, tc.instances, tc.ready}, []any{d.Pod, d.Container, d.Instances, d.Ready}, d.String())
			for _, check := range d.Checks {
				assert.NotEqual(t, runtime.CheckService, check.ID)
			}
		})
	}
}

// Pods that have all labels but the one by which peers select them in container mode are told apart.
func TestDiagnoseOfContainersThatNobodyLooksFor(t *testing.T) {
	s := apitest.New(t)
	p := enginePod(true)
	delete(p.Labels, wiring.LabelDiscoveryEnabled)
	s.Set(p)
	c := newClient(t, s, func(c *kube.Config) { looker(c); c.Identity.Container = "main" })
	d, err := c.Diagnose(t.Context(), dynNamespace, component)
	require.NoError(t, err)
	cause, _ := d.Cause()
	assert.Equal(t, runtime.CheckPods, cause.ID)
	assert.Equal(t, []string{"dynamo/backend without nvidia.com/dynamo-discovery-enabled=true has 1"}, cause.Details)
}
