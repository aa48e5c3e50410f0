package kube_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dynawire/dynawire/api/v1alpha1"
	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/kube"
	"github.com/dynawire/dynawire/pkg/runtime/kube/apitest"
	"github.com/dynawire/dynawire/pkg/wiring"
)

func ownPod(labels map[string]string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "worker-0", Namespace: kubeNamespace, UID: "uid-0", Labels: labels}}
}

// freePort is one that nobody listens on.
func freePort(t testing.TB) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

func registration() runtime.Registration {
	return runtime.Registration{
		Endpoints: []runtime.RegisterEndpoint{{Name: "generate", Transport: runtime.TCP("10.0.0.1:8080/43710f49c0cff/generate")}},
		Metadata:  json.RawMessage(`{"Model": {"name": "Qwen3-32B", "runtime_config": {"total_kv_blocks": 24064}}}`),
	}
}

func TestCreateInstanceWritesWhatDynamoReads(t *testing.T) {
	s := apitest.New(t)
	s.Set(ownPod(labelsOf(component)))
	s.Set(slice("s1", endpoint("worker-0", "uid-0", "10.0.0.1", "not ready")))
	health := runtime.NewHealth()
	c := newClient(t, s, func(c *kube.Config) { c.Health = health })

	self, err := c.CreateInstance(t.Context(), registration())
	require.NoError(t, err)
	assert.False(t, self.Ready)
	assert.Equal(t, "uid-0", self.ID.UID)
	assert.Equal(t, runtime.StatusNotReady, health.Status(), "creating does not mark ready")

	dwm := s.Get(v1alpha1.Resource, kubeNamespace, "worker-0").(*v1alpha1.DynamoWorkerMetadata)
	assert.JSONEq(t, `{
		"endpoints": {"dynamo/backend/generate/43710f49c0cff": {"type": "Endpoint", "namespace": "dynamo", "component": "backend",
			"endpoint": "generate", "instance_id": 1186445869714687, "transport": {"tcp": "10.0.0.1:8080/43710f49c0cff/generate"}}},
		"model_cards": {},
		"event_channels": {},
		"dynawire.io/metadata": {"Model": {"name": "Qwen3-32B", "runtime_config": {"total_kv_blocks": 24064}}}
	}`, string(dwm.Spec.Data.Raw))
	yes, no := true, false
	assert.Equal(t, []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "Pod", Name: "worker-0", UID: "uid-0", Controller: &yes, BlockOwnerDeletion: &no,
	}}, dwm.OwnerReferences)

	m, err := c.Metadata(t.Context(), self.ID)
	require.NoError(t, err)
	assert.JSONEq(t, string(registration().Metadata), string(m.Values()))
}

func TestWorkerSuffixIsInTheEntriesAndNotInTheLabel(t *testing.T) {
	s := apitest.New(t)
	s.Set(ownPod(labelsOf(component)))
	s.Set(slice("s1", endpoint("worker-0", "uid-0", "10.0.0.1", "not ready")))
	c := newClient(t, s, func(c *kube.Config) { c.Identity.WorkerSuffix, c.Health = "abc", runtime.NewHealth() })
	self, err := c.CreateInstance(t.Context(), registration())
	require.NoError(t, err)
	assert.Equal(t, "dynamo-abc", self.Endpoints()[0].Namespace)
	_, ok := self.Endpoint("generate")
	assert.True(t, ok)
}

func TestCreateInstanceRefuses(t *testing.T) {
	wrong := labelsOf("decode")
	card := func(r *runtime.Registration, json string) { r.Endpoints[0].ModelCard = []byte(json) }
	for name, tc := range map[string]struct {
		labels map[string]string
		change func(*runtime.Registration)
		is     error
		says   string
	}{
		"a label that says otherwise": {wrong, nil, runtime.ErrLabelMismatch,
			`label nvidia.com/dynamo-component is "decode", registered is "backend"`},
		"no labels": {nil, nil, runtime.ErrLabelMismatch,
			`it has no label nvidia.com/dynamo-namespace, wanted "dynamo"; label the Kubernetes namespace nvidia.com/dynamo-discovery-enabled=true`},
		"no service": {labelsOf(component), nil, runtime.ErrNoService,
			"no EndpointSlice is labelled nvidia.com/dynamo-discovery-enabled=true"},
		"too much": {labelsOf(component), func(r *runtime.Registration) {
			r.Metadata = json.RawMessage(`{"a":"` + strings.Repeat("x", 1<<20) + `"}`)
		}, runtime.ErrTooLarge, "at most"},
		"metadata that is no object": {labelsOf(component), func(r *runtime.Registration) { r.Metadata = json.RawMessage(`[1]`) },
			nil, "not a JSON object"},
		"an endpoint with a dot": {labelsOf(component), func(r *runtime.Registration) { r.Endpoints[0].Name = "a.b" }, nil, `"a.b"`},
		"no transport": {labelsOf(component), func(r *runtime.Registration) { r.Endpoints[0].Transport = runtime.Transport{} },
			nil, "has no transport"},
		"a card without a name": {labelsOf(component), func(r *runtime.Registration) { card(r, `{}`) }, nil, "display_name"},
		"a component that no label can carry": {labelsOf(component), func(r *runtime.Registration) { r.Component = "a,b" }, nil,
			"cannot be a label value"},
	} {
		t.Run(name, func(t *testing.T) {
			s := apitest.New(t)
			s.Set(ownPod(tc.labels))
			c := newClient(t, s, func(c *kube.Config) { c.ServiceWait, c.Health = 20*time.Millisecond, runtime.NewHealth() })
			r := registration()
			if tc.change != nil {
				tc.change(&r)
			}
			_, err := c.CreateInstance(t.Context(), r)
			require.Error(t, err)
			if tc.is != nil {
				require.ErrorIs(t, err, tc.is)
			}
			assert.ErrorContains(t, err, tc.says)
			assert.Zero(t, s.Requests("patch", v1alpha1.Resource), "nothing was written")
		})
	}
}

func TestCreateInstanceWaitsForTheService(t *testing.T) {
	s := apitest.New(t)
	s.Set(ownPod(labelsOf(component)))
	c := newClient(t, s, func(c *kube.Config) { c.Health = runtime.NewHealth() })
	time.AfterFunc(150*time.Millisecond, func() { s.Set(slice("s1", endpoint("other", "uid-9", "10.0.0.9", "ready"))) })
	time.AfterFunc(300*time.Millisecond, func() { s.Set(slice("s1", endpoint("worker-0", "uid-0", "10.0.0.1", "not ready"))) })
	_, err := c.CreateInstance(t.Context(), registration())
	require.NoError(t, err)
}

func TestServiceThatSelectsOthersIsNoService(t *testing.T) {
	s := apitest.New(t)
	s.Set(ownPod(labelsOf(component)))
	s.Set(slice("s1", endpoint("other", "uid-9", "10.0.0.9", "ready")))
	c := newClient(t, s, func(c *kube.Config) { c.ServiceWait, c.Health = 50*time.Millisecond, runtime.NewHealth() })
	_, err := c.CreateInstance(t.Context(), registration())
	require.ErrorIs(t, err, runtime.ErrNoService)
	assert.ErrorContains(t, err, "do not list it")
}

func TestLargeComponentIsTakenAtItsWord(t *testing.T) {
	s := apitest.New(t)
	s.Set(ownPod(labelsOf(component)))
	for i := range 11 {
		s.Set(slice(fmt.Sprintf("s%02d", i)))
	}
	c := newClient(t, s, func(c *kube.Config) { c.Health = runtime.NewHealth() })
	_, err := c.CreateInstance(t.Context(), registration())
	require.NoError(t, err)
}

func TestCreateInstanceSitsOutAnAPIServerThatRestarts(t *testing.T) {
	s := apitest.New(t)
	s.Set(ownPod(labelsOf(component)))
	s.Set(slice("s1", endpoint("worker-0", "uid-0", "10.0.0.1", "not ready")))
	s.SetDown(true)
	time.AfterFunc(200*time.Millisecond, func() { s.SetDown(false) })
	c := newClient(t, s, func(c *kube.Config) { c.Health = runtime.NewHealth() })
	_, err := c.CreateInstance(t.Context(), registration())
	require.NoError(t, err)
}

func TestStatusIsWhatTheKubeletIsTold(t *testing.T) {
	s := apitest.New(t)
	s.Set(ownPod(labelsOf(component)))
	s.Set(slice("s1", endpoint("worker-0", "uid-0", "10.0.0.1", "not ready"), endpoint("worker-1", "uid-1", "10.0.0.2", "ready")))
	s.Set(workerMetadata("worker-1", "uid-1", 1001))
	port := freePort(t)
	c := newClient(t, s, func(c *kube.Config) { c.Identity.SystemPort = port })
	probe := func() (int, string) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:"+strconv.Itoa(port)+wiring.HealthPath, nil)
		require.NoError(t, err)
		req.Close = true
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, string(body)
	}
	self, err := c.CreateInstance(t.Context(), registration())
	require.NoError(t, err)
	code, body := probe()
	assert.Equal(t, http.StatusServiceUnavailable, code)
	assert.Contains(t, body, `"endpoints":{"generate":"notready"}`)

	require.NoError(t, c.SetStatus(t.Context(), self, runtime.StatusReady))
	code, body = probe()
	assert.Equal(t, http.StatusOK, code)
	assert.Contains(t, body, `"status":"ready"`)
	status, err := c.Status(t.Context(), self)
	require.NoError(t, err)
	assert.Equal(t, runtime.StatusReady, status)

	other := runtime.Instance{
		ID:        runtime.InstanceID{Namespace: kubeNamespace, PodName: "worker-1", UID: "uid-1"},
		Namespace: dynNamespace, Component: component,
	}
	require.ErrorIs(t, c.SetStatus(t.Context(), other, runtime.StatusReady), runtime.ErrNotOwn)
	status, err = c.Status(t.Context(), other)
	require.NoError(t, err)
	assert.Equal(t, runtime.StatusReady, status)
	other.ID.UID = "gone"
	_, err = c.Status(t.Context(), other)
	require.ErrorIs(t, err, runtime.ErrNotFound)

	c.Health().Drain()
	require.ErrorIs(t, c.SetStatus(t.Context(), self, runtime.StatusReady), runtime.ErrDraining)
}

func TestPortInUseSaysWhatToDo(t *testing.T) {
	s := apitest.New(t)
	l, err := net.Listen("tcp", ":0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	c := newClient(t, s, func(c *kube.Config) { c.Identity.SystemPort = l.Addr().(*net.TCPAddr).Port })
	_, err = c.CreateInstance(t.Context(), registration())
	assert.ErrorContains(t, err, "mount Health on its mux")
}
