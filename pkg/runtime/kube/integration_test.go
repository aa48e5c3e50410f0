//go:build integration

package kube_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/dynawire/dynawire/api/v1alpha1"
	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/kube"
)

// cluster is a real API server, seen by an administrator and by a pod's account.
type cluster struct {
	env   *envtest.Environment
	admin ctrlclient.Client
	pod   *rest.Config
}

// newCluster starts one. There is no EndpointSlice controller: tests write the slices.
func newCluster(t *testing.T) *cluster {
	env := &envtest.Environment{CRDDirectoryPaths: []string{"../../../manifests/crds"}, ErrorIfCRDPathMissing: true}
	cfg, err := env.Start()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, env.Stop()) })
	scheme := k8sruntime.NewScheme()
	for _, add := range []func(*k8sruntime.Scheme) error{
		corev1.AddToScheme, discoveryv1.AddToScheme, rbacv1.AddToScheme, v1alpha1.AddToScheme,
	} {
		require.NoError(t, add(scheme))
	}
	admin, err := ctrlclient.New(cfg, ctrlclient.Options{Scheme: scheme})
	require.NoError(t, err)
	c := &cluster{env: env, admin: admin}
	c.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: kubeNamespace}})
	c.pod = c.account(t)
	return c
}

// account has exactly the rights that the package comment asks for.
func (c *cluster) account(t *testing.T) *rest.Config {
	user, err := c.env.AddUser(envtest.User{Name: "pod"}, nil)
	require.NoError(t, err)
	meta := metav1.ObjectMeta{Name: "discovery", Namespace: kubeNamespace}
	c.create(t, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{v1alpha1.GroupName}, Resources: []string{v1alpha1.Resource}, Verbs: []string{"get", "list", "watch", "create", "patch"}},
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "create", "update"}},
	}})
	c.create(t, &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "discovery"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "pod"}},
	})
	return rest.CopyConfig(user.Config())
}

func (c *cluster) create(t *testing.T, obj ctrlclient.Object) {
	t.Helper()
	require.NoError(t, c.admin.Create(t.Context(), obj))
}

// runPod creates a pod and returns a client that believes to run in it.
func (c *cluster) runPod(t *testing.T, name string) (*kube.Client, *corev1.Pod) {
	t.Helper()
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: kubeNamespace, Labels: labelsOf(component)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "none"}}},
	}
	c.create(t, p)
	client, err := kube.New(kube.Config{
		Identity: runtime.Identity{
			PodName: name, PodNamespace: kubeNamespace, PodUID: string(p.UID), Namespace: dynNamespace, Component: component,
		},
		REST: c.pod, Health: runtime.NewHealth(), ServiceWait: patience, Grace: 100 * time.Millisecond,
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, client.Close()) })
	return client, p
}

// put writes a slice as the controller would.
func (c *cluster) put(t *testing.T, s *discoveryv1.EndpointSlice) {
	t.Helper()
	var old discoveryv1.EndpointSlice
	err := c.admin.Get(t.Context(), ctrlclient.ObjectKeyFromObject(s), &old)
	if apierrors.IsNotFound(err) {
		c.create(t, s)
		return
	}
	require.NoError(t, err)
	old.Endpoints = s.Endpoints
	require.NoError(t, c.admin.Update(t.Context(), &old))
}

func TestOnARealAPIServer(t *testing.T) {
	c := newCluster(t)
	t.Run("register and follow", func(t *testing.T) { testRegisterAndFollow(t, c) })
	t.Run("metadata survives", func(t *testing.T) { testMetadataSurvives(t, c) })
	t.Run("key-value", func(t *testing.T) { testKeyValue(t, c) })
	t.Run("outage", func(t *testing.T) { testOutage(t, c) })
}

func testRegisterAndFollow(t *testing.T, c *cluster) {
	client, pod := c.runPod(t, "worker-0")
	uid := string(pod.UID)
	sub := subscribe(t, client)
	expect(t, sub, "Synced")
	time.AfterFunc(200*time.Millisecond, func() { c.put(t, slice("s1", endpoint("worker-0", uid, "10.0.0.1", "not ready"))) })
	_, err := client.CreateInstance(t.Context(), registration())
	require.NoError(t, err)
	expectNothing(t, sub, 50*time.Millisecond)
	c.put(t, slice("s1", endpoint("worker-0", uid, "10.0.0.1", "ready")))
	expect(t, sub, "NewReady worker-0")

	r := registration()
	r.Endpoints[0].Transport = runtime.TCP("10.0.0.1:9999/43710f49c0cff/generate")
	_, err = client.CreateInstance(t.Context(), r)
	require.NoError(t, err)
	got, ev := next(t, sub)
	require.Equal(t, "Updated worker-0", got)
	assert.Equal(t, "10.0.0.1:9999", ev.Instance.Endpoints()[0].Transport.HostPort())

	c.put(t, slice("s1", endpoint("worker-0", uid, "10.0.0.1", "terminating")))
	expect(t, sub, "NotReady worker-0")
	c.put(t, slice("s1"))
	expect(t, sub, "Deleted worker-0")
}

func testMetadataSurvives(t *testing.T, c *cluster) {
	client, pod := c.runPod(t, "worker-1")
	c.put(t, slice("s1", endpoint("worker-1", string(pod.UID), "10.0.0.2", "not ready")))
	r := registration()
	r.Endpoints[0].ModelCard = json.RawMessage(`{"display_name":"m","media_decoder":null,"needs":[],"gen_config":{}}`)
	r.Metadata = json.RawMessage(`{"empty":{},"none":null,"list":[],"nested":[{"a":{}},null],"big":9007199254740993,"float":0.1,"text":"\u0000ü","dots.and/slashes":true}`)
	self, err := client.CreateInstance(t.Context(), r)
	require.NoError(t, err)
	m, err := client.Metadata(t.Context(), self.ID)
	require.NoError(t, err)
	var want, got map[string]any
	decode := func(raw json.RawMessage, into *map[string]any) {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		require.NoError(t, d.Decode(into))
	}
	decode(r.Metadata, &want)
	decode(m.Values(), &got)
	assert.Equal(t, want, got)
	require.Len(t, m.ModelCards(), 1)
	assert.JSONEq(t, string(r.Endpoints[0].ModelCard), string(m.ModelCards()[0].Card))

	var dwm v1alpha1.DynamoWorkerMetadata
	key := types.NamespacedName{Namespace: kubeNamespace, Name: "worker-1"}
	require.NoError(t, c.admin.Get(t.Context(), key, &dwm))
	require.Len(t, dwm.ManagedFields, 1)
	assert.Equal(t, "dynamo-worker", dwm.ManagedFields[0].Manager)
	assert.Equal(t, metav1.ManagedFieldsOperationApply, dwm.ManagedFields[0].Operation)
	require.Len(t, dwm.OwnerReferences, 1)
	assert.Equal(t, pod.UID, dwm.OwnerReferences[0].UID)

	// What others put on the object stays; what is registered no more goes.
	dwm.Labels = map[string]string{"stamped": "yes"}
	require.NoError(t, c.admin.Update(t.Context(), &dwm))
	_, err = client.CreateInstance(t.Context(), runtime.Registration{Endpoints: []runtime.RegisterEndpoint{
		{Name: "embed", Transport: runtime.TCP("10.0.0.2:1")},
	}})
	require.NoError(t, err)
	require.NoError(t, c.admin.Get(t.Context(), key, &dwm))
	assert.Equal(t, "yes", dwm.Labels["stamped"])
	m, err = client.Metadata(t.Context(), self.ID)
	require.NoError(t, err)
	require.Len(t, m.Endpoints(), 1)
	assert.Equal(t, "embed", m.Endpoints()[0].Name)
	assert.Nil(t, m.Values())
}

func testKeyValue(t *testing.T, c *cluster) {
	client, _ := c.runPod(t, "worker-2")
	ctx := t.Context()
	for _, value := range [][]byte{[]byte(`{"display_name":"Qwen3-32B"}`), {0xff, 0, 1}, {}, bytes.Repeat([]byte("v"), 1<<20)} {
		require.NoError(t, client.WriteKV(ctx, "mdc/Qwen3-32B", value))
		kv, err := client.ReadKV(ctx, "mdc/Qwen3-32B")
		require.NoError(t, err)
		assert.True(t, bytes.Equal(value, kv.Value))
	}
	kv, err := client.ReadKV(ctx, "mdc/Qwen3-32B")
	require.NoError(t, err)
	require.NoError(t, client.WriteKV(ctx, "mdc/Qwen3-32B", []byte("w"), runtime.IfVersion(kv.Version)))
	require.ErrorIs(t, client.WriteKV(ctx, "mdc/Qwen3-32B", []byte("x"), runtime.IfVersion(kv.Version)), runtime.ErrConflict)

	// Many replicas write the same card, then each its own: all succeed, one is there.
	var writers sync.WaitGroup
	for i := range 20 {
		writers.Go(func() {
			assert.NoError(t, client.WriteKV(ctx, "shared", []byte("the same")))
			assert.NoError(t, client.WriteKV(ctx, "shared", []byte{byte(i)}))
		})
	}
	writers.Wait()
	_, err = client.ReadKV(ctx, "shared")
	require.NoError(t, err)
}

func testOutage(t *testing.T, c *cluster) {
	direct := c.pod
	wire := newWire(t, strings.Trim(strings.TrimPrefix(direct.Host, "https:"), "/"))
	c.pod = rest.CopyConfig(direct)
	c.pod.Host = "https://" + wire.listener.Addr().String()
	defer func() { c.pod = direct }()
	client, pod := c.runPod(t, "worker-3")
	uid := string(pod.UID)
	c.put(t, slice("s1", endpoint("worker-3", uid, "10.0.0.3", "ready")))
	_, err := client.CreateInstance(t.Context(), registration())
	require.NoError(t, err)
	sub := subscribe(t, client)
	expect(t, sub, "NewReady worker-3", "Synced")

	wire.cut(true)
	require.Eventually(t, func() bool { return !sub.Snapshot().StaleSince.IsZero() }, patience, 10*time.Millisecond)
	c.put(t, slice("s1", endpoint("worker-3", uid, "10.0.0.3", "not ready")))
	expectNothing(t, sub, 500*time.Millisecond)
	all, err := client.ListInstances(t.Context(), dynNamespace, component)
	require.NoError(t, err)
	assert.Len(t, all, 1)

	wire.cut(false)
	expect(t, sub, "NotReady worker-3")
	require.Eventually(t, func() bool { return sub.Snapshot().StaleSince.IsZero() }, patience, 10*time.Millisecond)
}

// wire is a connection to the API server that can be cut.
type wire struct {
	listener net.Listener
	mu       sync.Mutex
	isCut    bool
	open     map[net.Conn]struct{}
}

func newWire(t *testing.T, target string) *wire {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := &wire{listener: l, open: map[net.Conn]struct{}{}}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { w.pass(in, target) })
		}
	})
	t.Cleanup(func() {
		w.cut(true)
		assert.NoError(t, l.Close())
		running.Wait()
	})
	return w
}

func (w *wire) pass(in net.Conn, target string) {
	defer func() { _ = in.Close() }()
	out, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer func() { _ = out.Close() }()
	w.mu.Lock()
	if w.isCut {
		w.mu.Unlock()
		return
	}
	w.open[in], w.open[out] = struct{}{}, struct{}{}
	w.mu.Unlock()
	var half sync.WaitGroup
	half.Go(func() {
		_, _ = io.Copy(out, in)
		_ = out.Close()
	})
	_, _ = io.Copy(in, out)
	_ = in.Close()
	half.Wait()
}

func (w *wire) cut(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isCut = cut
	if cut {
		for c := range w.open {
			_ = c.Close()
		}
		clear(w.open)
	}
}
