package kube_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/dynawire/dynawire/api/v1alpha1"
	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/kube"
	"github.com/dynawire/dynawire/pkg/runtime/kube/apitest"
)

func workerPod(name, uid string, labels map[string]string, statuses ...corev1.ContainerStatus) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: kubeNamespace, UID: types.UID(uid), Labels: labels},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: statuses},
	}
}

// looker is a client that is nobody's pod.
func looker(c *kube.Config) { c.Identity = runtime.Identity{PodNamespace: kubeNamespace} }

// ownWiredPod is the client of worker-0 in a wired pod.
func ownWiredPod(c *kube.Config) { c.Identity.Backend = "kubernetes" }

func TestDiagnose(t *testing.T) {
	crashing := corev1.ContainerStatus{Name: "main", State: corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 10s"},
	}}
	all := func(s *apitest.Server) {
		s.Set(workerPod("worker-0", "uid-0", labelsOf(component)))
		s.Set(workerPod("worker-1", "uid-1", labelsOf(component)))
		s.Set(slice("s1", endpoint("worker-0", "uid-0", "10.0.0.1", "ready"), endpoint("worker-1", "uid-1", "10.0.0.2", "ready")))
		s.Set(workerMetadata("worker-0", "uid-0", 1))
		s.Set(workerMetadata("worker-1", "uid-1", 1))
	}
	for name, tc := range map[string]struct {
		config   func(*kube.Config)
		cluster  func(*apitest.Server)
		cause    runtime.CheckID // empty: none
		says     string
		details  []string
		warnings []runtime.CheckID
		ready    int
	}{
		"all is well":          {config: ownWiredPod, cluster: all, ready: 2},
		"all is well, outside": {config: looker, cluster: all, ready: 2},
		"another backend": {
			config: func(c *kube.Config) { c.Identity.Backend = "etcd" }, cluster: all, ready: 2,
			cause: runtime.CheckBackend, says: `DYN_DISCOVERY_BACKEND is "etcd": peers that look in Kubernetes never see this process`,
		},
		"no backend": {cluster: all, ready: 2, warnings: []runtime.CheckID{runtime.CheckBackend}},
		"a pod that is not there": {
			config: ownWiredPod, cluster: func(*apitest.Server) {}, cause: runtime.CheckIdentity, says: "there is no pod llm/worker-0",
		},
		"a UID set by hand": {
			config:  func(c *kube.Config) { ownWiredPod(c); c.Identity.PodUID = "uid-9" },
			cluster: all, cause: runtime.CheckIdentity, says: "pod worker-0 has UID uid-0, but POD_UID is uid-9: its metadata would belong to nobody",
		},
		"labels of another component": {
			config: ownWiredPod, cluster: func(s *apitest.Server) { s.Set(workerPod("worker-0", "uid-0", labelsOf("decode"))) },
			cause: runtime.CheckLabels, says: "the pod's labels do not name the component: no Service selects it",
			details: []string{`label nvidia.com/dynamo-component is "decode", the process registers as "backend"`},
		},
		"no right to watch slices": {
			config: looker, cluster: func(s *apitest.Server) { all(s); s.Deny("watch", "endpointslices", true) },
			cause: runtime.CheckAccess, says: "the account may not read what discovery reads",
			details: []string{`endpointslices.discovery.k8s.io is forbidden: user "system:serviceaccount:llm:test" cannot watch resource "endpointslices"`},
		},
		"no right to list metadata": {
			config: looker, cluster: func(s *apitest.Server) { all(s); s.Deny("list", v1alpha1.Resource, true) },
			cause: runtime.CheckAccess, says: "the account may not read what discovery reads",
			details: []string{`dynamoworkermetadatas.nvidia.com is forbidden: user "system:serviceaccount:llm:test" cannot list resource "dynamoworkermetadatas"`},
		},
		"no API server": {
			config: looker, cluster: func(s *apitest.Server) { s.SetDown(true) },
			cause: runtime.CheckAccess, says: "what discovery reads cannot be read",
		},
		"no pods, but others": {
			config: looker, cluster: func(s *apitest.Server) { s.Set(workerPod("worker-0", "uid-0", labelsOf("Backend"))) },
			cause: runtime.CheckPods, says: "no pod carries nvidia.com/dynamo-namespace=dynamo and nvidia.com/dynamo-component=backend",
			details: []string{"dynamo/Backend has 1"},
		},
		"no Service": {
			config: looker, cluster: func(s *apitest.Server) { s.Set(workerPod("worker-0", "uid-0", labelsOf(component))) },
			cause: runtime.CheckService, says: "no EndpointSlice is labelled nvidia.com/dynamo-discovery-enabled=true,nvidia.com/dynamo-namespace=dynamo," +
				"nvidia.com/dynamo-component=backend: no Service has made one",
		},
		"a Service that selects nothing": {
			config: looker, cluster: func(s *apitest.Server) {
				s.Set(workerPod("worker-0", "uid-0", labelsOf(component)))
				s.Set(slice("s1"))
			},
			cause: runtime.CheckEndpoints, says: "the EndpointSlices list no pod",
		},
		"a Service that selects others": {
			config: ownWiredPod, cluster: func(s *apitest.Server) {
				all(s)
				s.Set(slice("s1", endpoint("worker-1", "uid-1", "10.0.0.2", "ready")))
			},
			cause: runtime.CheckEndpoints, says: "the EndpointSlices list other pods (1), but not worker-0",
		},
		"none is ready": {
			config: looker, cluster: func(s *apitest.Server) {
				s.Set(workerPod("worker-0", "uid-0", labelsOf(component), crashing))
				s.Set(workerPod("worker-1", "uid-1", labelsOf(component), corev1.ContainerStatus{Name: "main", RestartCount: 2}))
				s.Set(slice("s1", endpoint("worker-0", "uid-0", "10.0.0.1", "not ready"), endpoint("worker-1", "uid-1", "10.0.0.2", "not ready"),
					endpoint("worker-2", "uid-2", "10.0.0.3", "terminating")))
				s.Set(workerMetadata("worker-0", "uid-0", 1))
			},
			cause: runtime.CheckReady, says: "ready: 0 of 3", details: []string{
				"worker-0: container main waits: CrashLoopBackOff back-off 10s",
				"worker-1: the readiness probe of container main has not succeeded (restarts: 2)", "worker-2: it is terminating",
			},
			warnings: []runtime.CheckID{runtime.CheckMetadata},
		},
		"others are ready, this one is not": {
			config: ownWiredPod, cluster: func(s *apitest.Server) {
				all(s)
				s.Set(slice("s1", endpoint("worker-0", "uid-0", "10.0.0.1", "not ready"), endpoint("worker-1", "uid-1", "10.0.0.2", "ready")))
			},
			cause: runtime.CheckReady, says: "worker-0 is not ready; ready: 1 of 2", ready: 1,
			details: []string{"worker-0: the pod is Running and its readiness probe has not succeeded"},
		},
		"metadata of others, of none and unreadable": {
			config: looker, cluster: func(s *apitest.Server) {
				all(s)
				s.Delete(v1alpha1.Resource, kubeNamespace, "worker-0")
				s.Set(workerMetadata("worker-0", "uid-old", 1))
				s.Set(rawMetadata("worker-1", "uid-1", `[]`))
				s.Set(slice("s2", endpoint("worker-2", "uid-2", "10.0.0.3", "ready")))
			},
			cause: runtime.CheckMetadata, says: "with metadata: 0 of 3", details: []string{
				"worker-0: its object belongs to another pod of that name (UID uid-old, not uid-0)",
				"worker-1: its object cannot be read: discovery metadata: not a JSON object", "worker-2: there is no DynamoWorkerMetadata worker-2",
			},
		},
		"some": {
			config: looker, cluster: func(s *apitest.Server) {
				all(s)
				s.Delete(v1alpha1.Resource, kubeNamespace, "worker-1")
			},
			ready: 1, warnings: []runtime.CheckID{runtime.CheckMetadata},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := apitest.New(t)
			tc.cluster(s)
			before := s.Requests("create", "pods")
			d, err := newClient(t, s, tc.config).Diagnose(t.Context(), dynNamespace, component)
			require.NoError(t, err)
			cause, found := d.Cause()
			assert.Equal(t, tc.cause, cause.ID, d.String())
			assert.Equal(t, tc.cause != "", found)
			assert.Equal(t, tc.says, cause.Found)
			if found {
				assert.NotEmpty(t, cause.Remedy)
			}
			if tc.details != nil {
				assert.Equal(t, tc.details, cause.Details)
			}
			var warnings []runtime.CheckID
			for _, c := range d.Checks {
				if c.Verdict == runtime.Warning {
					warnings = append(warnings, c.ID)
				}
			}
			if tc.cause == "" || tc.warnings != nil {
				assert.Equal(t, tc.warnings, warnings)
			}
			assert.Equal(t, tc.ready, d.Ready)
			for _, verb := range []string{"create", "update", "patch", "delete"} {
				for _, resource := range []string{"pods", "configmaps", "endpointslices", v1alpha1.Resource} {
					assert.Equal(t, before, s.Requests(verb, resource), "%s %s", verb, resource)
				}
			}
			s.WaitWatches(t, 0)
		})
	}
}

func TestDiagnoseOfTheOwnPodWithoutLabels(t *testing.T) {
	s := apitest.New(t)
	s.Set(workerPod("worker-0", "uid-0", nil))
	c := newClient(t, s, func(c *kube.Config) { ownWiredPod(c); c.Identity.Component = "" })
	d, err := c.Diagnose(t.Context(), "", "")
	require.NoError(t, err)
	cause, _ := d.Cause()
	assert.Equal(t, runtime.CheckLabels, cause.ID)
	assert.Equal(t, []string{"no label nvidia.com/dynamo-namespace", "no label nvidia.com/dynamo-component"}, cause.Details)
	_, err = c.Diagnose(t.Context(), "a/b", component)
	require.ErrorContains(t, err, "cannot be a label value")
	require.NoError(t, c.Close())
	_, err = c.Diagnose(t.Context(), "", "")
	require.ErrorIs(t, err, runtime.ErrClosed)
}

func TestDiagnoseTellsOfItsOwnWatches(t *testing.T) {
	s := apitest.New(t)
	s.Set(workerPod("worker-1", "uid-1", labelsOf(component)))
	s.Set(slice("s1", endpoint("worker-1", "uid-1", "10.0.0.1", "ready")))
	s.Set(workerMetadata("worker-1", "uid-1", 1))
	c := newClient(t, s, looker)
	sub := subscribe(t, c)
	expect(t, sub, "NewReady worker-1", "Synced")
	d, err := c.Diagnose(t.Context(), dynNamespace, component)
	require.NoError(t, err)
	last := d.Checks[len(d.Checks)-1]
	assert.Equal(t, runtime.CheckSynced, last.ID)
	assert.Equal(t, runtime.OK, last.Verdict)
}

func TestDiagnosisIsReadable(t *testing.T) {
	d := runtime.Diagnosis{
		KubeNamespace: "llm", Namespace: "dynamo", Component: "backend", Pod: "worker-0", Instances: 1,
		Checks: []runtime.Check{
			{ID: runtime.CheckBackend, Verdict: runtime.OK, Found: "it is"},
			{ID: runtime.CheckReady, Verdict: runtime.Problem, Found: "none", Remedy: "wait", Details: []string{"worker-0: it loads"}},
		},
	}
	assert.Equal(t, `pod worker-0 of dynamo/backend in llm: 1 instance, 0 ready
ok       backend    it is
problem  ready      none
                    - worker-0: it loads
                    > wait
`, d.String())
	assert.Equal(t, "[component=dynamo/backend instances=1 ready=0 check=ready found=none remedy=wait]", fmt.Sprint(d.LogValue()))
	data, err := json.Marshal(d.Checks[1])
	require.NoError(t, err)
	assert.JSONEq(t, `{"id":"ready","verdict":"problem","found":"none","remedy":"wait","details":["worker-0: it loads"]}`, string(data))
}
