package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/discoverytest/fakecluster"
	"github.com/dynawire/dynawire/pkg/runtime/kube"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// liveCluster has two workers of dynamo/backend, one of them ready, and a pod without labels; it returns the flags for it.
func liveCluster(t *testing.T) (*fakecluster.Cluster, []string, func(ready bool)) {
	t.Helper()
	cluster := fakecluster.New(t, fakecluster.Options{})
	var set func(bool)
	for _, name := range []string{"worker-0", "worker-1"} {
		health := runtime.NewHealth()
		id := cluster.Run(fakecluster.Pod{Name: name, Namespace: "llm", Labels: fakecluster.Labels("dynamo", "backend"), Health: health})
		d, err := kube.New(kube.Config{Identity: id, REST: cluster.API.Config(), Health: health})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, d.Close()) })
		self, err := d.CreateInstance(t.Context(), runtime.Registration{Endpoints: []runtime.RegisterEndpoint{{
			Name: "generate", Transport: runtime.TCP("192.0.2.7:8080/1f/generate"), ModelCard: []byte(`{"display_name":"Qwen3-32B"}`),
		}}})
		require.NoError(t, err)
		set = func(ready bool) {
			status := runtime.StatusNotReady
			if ready {
				status = runtime.StatusReady
			}
			require.NoError(t, d.SetStatus(context.Background(), self, status))
		}
		if name == "worker-0" {
			set(true)
		}
	}
	cluster.Run(fakecluster.Pod{Name: "stranger", Namespace: "llm"})
	path := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(path, []byte(`
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "`+cluster.API.Config().Host+`"}}]
users: [{name: u, user: {}}]
contexts: [{name: x, context: {cluster: c, user: u, namespace: llm}}, {name: empty, context: {cluster: c, user: u, namespace: empty}}]
current-context: x
`), 0o600))
	flags := []string{"--kubeconfig", path}
	require.Eventually(t, func() bool { // readiness travels by itself
		_, out, _ := call("", append([]string{"instances"}, flags...)...)
		return strings.Contains(out, "yes")
	}, 10*time.Second, 10*time.Millisecond)
	return cluster, flags, set
}

func TestInstances(t *testing.T) {
	cluster, flags, _ := liveCluster(t)
	// A component that publishes nothing.
	cluster.Run(fakecluster.Pod{Name: "frontend-0", Namespace: "llm", Labels: fakecluster.Labels("dynamo", "frontend")})
	require.Eventually(t, func() bool { return len(cluster.API.All("endpointslices", "llm")) > 1 }, 10*time.Second, time.Millisecond)
	for name, c := range map[string]struct {
		args []string
		want string
		says string
	}{
		"all": {nil, `COMPONENT       POD       READY  ENDPOINTS  MODELS
dynamo/backend  worker-0  yes    generate   Qwen3-32B
dynamo/backend  worker-1  no     generate   Qwen3-32B
`, ""},
		"one that is not there": {[]string{"prefill"}, "COMPONENT  POD  READY  ENDPOINTS  MODELS\n", "no instance of dynamo/prefill in the Kubernetes" +
			" namespace llm; kubectl dynawire diagnose -n llm dynamo/prefill tells why.\n"},
		"none of two are": {[]string{"a/b", "backend", "-o", "json", "--context", "empty"}, "[]\n", "no instance of a/b in the Kubernetes" +
			" namespace empty; kubectl dynawire diagnose -n empty a/b tells why.\n" +
			"no instance of dynamo/backend in the Kubernetes namespace empty; kubectl dynawire diagnose -n empty dynamo/backend tells why.\n"},
		"wide": {[]string{"backend", "-o", "wide"}, `COMPONENT       POD       READY  ENDPOINTS  MODELS     NUMBER          ADDRESSES   NODE    ZONE    TRANSPORTS                      UID
dynamo/backend  worker-0  yes    generate   Qwen3-32B  43710f49c0cff   198.18.0.1  node-1  zone-a  tcp:192.0.2.7:8080/1f/generate  pod-uid-1
dynamo/backend  worker-1  no     generate   Qwen3-32B  15e9c1a30c211e  198.18.0.2  node-1  zone-a  tcp:192.0.2.7:8080/1f/generate  pod-uid-2
`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := call("", append(append([]string{"instances"}, c.args...), flags...)...)
			assert.Equal(t, exitOK, code, stderr)
			assert.Equal(t, c.want, stdout)
			assert.Equal(t, c.says, stderr)
		})
	}
	code, stdout, stderr := call("", append([]string{"instances", "-o", "json"}, flags...)...)
	require.Equal(t, exitOK, code, stderr)
	var list []struct {
		ID        runtime.InstanceID
		Number    string
		Ready     bool
		Models    []string
		Endpoints []runtime.Endpoint
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &list))
	require.Len(t, list, 2)
	assert.Equal(t, "43710f49c0cff", list[0].Number)
	assert.Equal(t, []string{"Qwen3-32B"}, list[0].Models)
	assert.Equal(t, "pod-uid-1", list[0].ID.UID)
	require.Len(t, list[0].Endpoints, 1)
	assert.True(t, list[0].Ready)
	code, stdout, stderr = call("", append([]string{"instances", "-o", "yaml"}, flags...)...)
	require.Equal(t, exitOK, code, stderr)
	assert.Contains(t, stdout, "number: 43710f49c0cff")
}

// safeBuffer is written by a command while the test reads it.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func TestInstancesWatched(t *testing.T) {
	_, flags, set := liveCluster(t)
	ctx, cancel := context.WithCancel(t.Context())
	var out safeBuffer
	root := newRoot()
	root.SetArgs(append([]string{"instances", "-w"}, flags...))
	root.SetOut(&out)
	done := make(chan error, 1)
	go func() { done <- root.ExecuteContext(ctx) }()
	seen := func(line string) {
		t.Helper()
		require.Eventually(t, func() bool { return strings.Contains(strings.Join(strings.Fields(out.String()), " "), line) },
			10*time.Second, 5*time.Millisecond, "%s", line)
	}
	seen("TIME EVENT COMPONENT POD READY ENDPOINTS MODELS")
	seen("NewReady dynamo/backend worker-0 yes generate Qwen3-32B")
	set(true)
	seen("NewReady dynamo/backend worker-1 yes")
	set(false)
	seen("NotReady dynamo/backend worker-1 no")
	cancel()
	require.NoError(t, <-done)
}

func TestInstancesWatchedBeforeThereAreAny(t *testing.T) {
	_, flags, _ := liveCluster(t)
	ctx, cancel := context.WithCancel(t.Context())
	var out, log safeBuffer
	root := newRoot()
	root.SetArgs(append([]string{"instances", "-w", "--context", "empty"}, flags...))
	root.SetOut(&out)
	root.SetErr(&log)
	done := make(chan error, 1)
	go func() { done <- root.ExecuteContext(ctx) }()
	require.Eventually(t, func() bool { return log.String() != "" }, 10*time.Second, time.Millisecond)
	assert.Equal(t, "no component has a Service for discovery in the Kubernetes namespace empty; waiting for one.\n", log.String())
	cancel()
	require.NoError(t, <-done)
	assert.Empty(t, out.String())
}

// twoEngines is a pod in container mode.
func twoEngines() *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "engines", Namespace: "llm", UID: "uid-engines", Labels: fakecluster.Labels("dynamo", "engines")},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	for _, name := range []string{"main", "second"} {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: name, Env: []corev1.EnvVar{
			{Name: "DYN_KUBE_DISCOVERY_MODE", Value: "container"}, {Name: "CONTAINER_NAME", Value: name},
		}})
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: name, Ready: true})
	}
	return p
}

func TestDiagnoseCommand(t *testing.T) {
	cluster, flags, _ := liveCluster(t)
	cluster.API.Set(twoEngines())
	unlabelled := twoEngines()
	unlabelled.Name, unlabelled.UID, unlabelled.Spec.Containers = "half", "uid-half", unlabelled.Spec.Containers[:1]
	delete(unlabelled.Labels, wiring.LabelNamespace)
	cluster.API.Set(unlabelled)
	for name, c := range map[string]struct {
		args       []string
		code       int
		out, fails string
	}{
		"a component": {args: []string{"dynamo/backend"}, out: `dynamo/backend in llm: 2 instances, 1 ready
ok       access     endpointslices and dynamoworkermetadatas can be listed and watched
ok       pods       pods with the labels: 2
ok       service    Service dynamo-backend-service, EndpointSlices: 1
ok       endpoints  pods listed: 2
warning  ready      ready: 1 of 2
                    - worker-1: the readiness probe of container main has not succeeded (restarts: 0)
ok       metadata   with metadata: 2 of 2
`},
		"a pod that is not ready, in CI": {args: []string{"worker-1", "--exit-code"}, code: exitFound,
			out: "problem  ready      worker-1 is not ready; ready: 1 of 2\n"},
		"a pod in container mode": {args: []string{"engines"}, out: "container main of pod engines of dynamo/engines in llm: 0 instances, 0 ready\n",
			fails: "This is about container main; -c asks about another of main, second.\n"},
		"another of its containers":     {args: []string{"engines", "-c", "second"}, out: "    - engines-second: there is no DynamoWorkerMetadata engines-second\n"},
		"a container of a component":    {args: []string{"backend", "-c", "main"}, code: exitFailed, fails: "there is no pod backend in llm"},
		"a pod without labels":          {args: []string{"stranger"}, out: "problem  labels     the pod's labels do not name the component"},
		"a pod without the namespace's": {args: []string{"half"}, out: "container main of pod half of dynamo/engines in llm: "},
		"a component with a typo":       {args: []string{"Backend"}, out: "                    - dynamo/backend has 2\n"},
		"JSON":                          {args: []string{"backend", "-o", "json"}, out: `"id": "access"`},
		"YAML":                          {args: []string{"backend", "-o", "yaml"}, out: "  id: access\n"},
		"unknown format":                {args: []string{"backend", "-o", "xml"}, code: exitFailed, fails: "want text, json or yaml"},
		"neither pod nor component":     {args: []string{"a..b/c d"}, code: exitFailed, fails: "NAMESPACE/COMPONENT"},
		"nothing":                       {code: exitFailed, fails: "what to ask about is missing: a pod or a component: kubectl dynawire diagnose POD, or diagnose [NAMESPACE/]COMPONENT"},
		"two":                           {args: []string{"a", "b"}, code: exitFailed, fails: `one pod or component at a time, found 2: "a" and "b"`},
		"a context that is not there":   {args: []string{"backend", "--context", "none"}, code: exitFailed, fails: `context "none" does not exist`},
		"a kubeconfig that is no such":  {args: []string{"backend", "--kubeconfig", "/nowhere"}, code: exitFailed, fails: "/nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := call("", append(append([]string{"diagnose"}, flags...), c.args...)...)
			assert.Equal(t, c.code, code, stderr)
			if strings.HasSuffix(c.out, "metadata: 2 of 2\n") {
				assert.Equal(t, c.out, stdout)
			}
			assert.Contains(t, stdout, c.out)
			assert.Contains(t, stderr, c.fails)
		})
	}
	code, _, stderr := call("", append([]string{"instances", "--context", "empty"}, flags...)...)
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, stderr, "no component has a Service for discovery in the Kubernetes namespace empty")
	cluster.API.Deny("list", "endpointslices", true)
	code, _, stderr = call("", append([]string{"instances"}, flags...)...)
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, stderr, "forbidden")
}
