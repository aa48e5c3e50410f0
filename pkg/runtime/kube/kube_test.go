package kube_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/dynawire/dynawire/api/v1alpha1"
	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/kube"
	"github.com/dynawire/dynawire/pkg/runtime/kube/apitest"
	"github.com/dynawire/dynawire/pkg/wiring"
)

const (
	kubeNamespace = "llm"
	dynNamespace  = "dynamo"
	component     = "backend"
	patience      = 10 * time.Second
)

func TestMain(m *testing.M) {
	if fleet := os.Getenv(serveEnv); fleet != "" {
		if err := serve(fleet); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// clientConfig is that of pod worker-0.
func clientConfig(rest *rest.Config) kube.Config {
	return kube.Config{
		Identity: runtime.Identity{
			PodName: "worker-0", PodNamespace: kubeNamespace, PodUID: "uid-0",
			Namespace: dynNamespace, Component: component, Endpoint: "generate", SystemPort: runtime.AnyPort,
		},
		REST:        rest,
		Logger:      slog.New(slog.DiscardHandler),
		ServiceWait: patience,
		Grace:       100 * time.Millisecond,
	}
}

// newClient returns a client of pod worker-0, which ends with the test.
func newClient(t testing.TB, s *apitest.Server, change func(*kube.Config)) *kube.Client {
	t.Helper()
	cfg := clientConfig(s.Config())
	if change != nil {
		change(&cfg)
	}
	c, err := kube.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	return c
}

func labelsOf(component string) map[string]string {
	return map[string]string{
		wiring.LabelDiscoveryEnabled: "true", wiring.LabelDiscoveryBackend: wiring.BackendKubernetes,
		wiring.LabelNamespace: dynNamespace, wiring.LabelComponent: component,
	}
}

// endpoint is one pod's entry in a slice: ready, not ready, or terminating.
func endpoint(pod, uid, address string, state string) discoveryv1.Endpoint {
	ready, terminating := state == "ready", state == "terminating"
	node, zone := "node-1", "zone-a"
	return discoveryv1.Endpoint{
		Addresses:  []string{address},
		Conditions: discoveryv1.EndpointConditions{Ready: &ready, Serving: &ready, Terminating: &terminating},
		NodeName:   &node, Zone: &zone,
		TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: kubeNamespace, Name: pod, UID: types.UID(uid)},
	}
}

func slice(name string, endpoints ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: name, Namespace: kubeNamespace, Labels: labelsOf(component)},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   endpoints,
	}
}

// workerMetadata is what a worker of that name on that port wrote.
func workerMetadata(pod, uid string, port int) *v1alpha1.DynamoWorkerMetadata {
	id := wiring.InstanceID(pod)
	data := fmt.Sprintf(`{"endpoints":{"dynamo/backend/generate/%[1]x":{"type":"Endpoint","namespace":"dynamo",`+
		`"component":"backend","endpoint":"generate","instance_id":%[1]d,"transport":{"tcp":"10.0.0.1:%[2]d/%[1]x/generate"}}},`+
		`"model_cards":{},"event_channels":{}}`, id, port)
	return rawMetadata(pod, uid, data)
}

func rawMetadata(pod, uid, data string) *v1alpha1.DynamoWorkerMetadata {
	return &v1alpha1.DynamoWorkerMetadata{
		ObjectMeta: metav1.ObjectMeta{
			Name: pod, Namespace: kubeNamespace, UID: types.UID("cr-" + uid),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod, UID: types.UID(uid)}},
		},
		Spec: v1alpha1.DynamoWorkerMetadataSpec{Data: k8sruntime.RawExtension{Raw: json.RawMessage(data)}},
	}
}

func subscribe(t testing.TB, c *kube.Client) *runtime.Subscription {
	t.Helper()
	sub, err := c.Subscribe(context.Background(), dynNamespace, component)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, sub.Close()) })
	return sub
}

// next returns the next event's type and pod, as "NewReady worker-0".
func next(t testing.TB, sub *runtime.Subscription) (string, runtime.Event) {
	t.Helper()
	select {
	case ev, ok := <-sub.C():
		if !ok {
			return "closed", runtime.Event{}
		}
		if ev.Type == runtime.Synced {
			return string(ev.Type), ev
		}
		return string(ev.Type) + " " + ev.Instance.ID.PodName, ev
	case <-time.After(patience):
		t.Fatal("no event")
		return "", runtime.Event{}
	}
}

func expect(t testing.TB, sub *runtime.Subscription, want ...string) {
	t.Helper()
	for _, w := range want {
		got, _ := next(t, sub)
		require.Equal(t, w, got)
	}
}

func expectNothing(t testing.TB, sub *runtime.Subscription, within time.Duration) {
	t.Helper()
	select {
	case ev := <-sub.C():
		t.Fatalf("unexpected event %s %s", ev.Type, ev.Instance.ID)
	case <-time.After(within):
	}
}

func TestSubscribeTellsWhatHappens(t *testing.T) {
	s := apitest.New(t)
	s.Set(slice("s1", endpoint("worker-1", "uid-1", "10.0.0.1", "ready"), endpoint("worker-2", "uid-2", "10.0.0.2", "not ready")))
	s.Set(workerMetadata("worker-1", "uid-1", 1001))
	s.Set(workerMetadata("worker-2", "uid-2", 1002))
	sub := subscribe(t, newClient(t, s, nil))

	got, ev := next(t, sub)
	require.Equal(t, "NewReady worker-1", got)
	assert.Equal(t, runtime.InstanceID{Namespace: kubeNamespace, PodName: "worker-1", UID: "uid-1"}, ev.Instance.ID)
	assert.Equal(t, []netip.Addr{netip.MustParseAddr("10.0.0.1")}, ev.Instance.Addresses)
	assert.Equal(t, "zone-a", ev.Instance.Zone)
	assert.Equal(t, "node-1", ev.Instance.Node)
	e, ok := ev.Instance.Endpoint("generate")
	require.True(t, ok)
	assert.Equal(t, wiring.InstanceID("worker-1"), e.InstanceID)
	expect(t, sub, "Synced")
	assert.Len(t, sub.Snapshot().Instances, 2, "not ready is not gone")

	s.Set(slice("s1", endpoint("worker-1", "uid-1", "10.0.0.1", "not ready"), endpoint("worker-2", "uid-2", "10.0.0.2", "ready")))
	first, _ := next(t, sub)
	second, _ := next(t, sub)
	assert.ElementsMatch(t, []string{"NotReady worker-1", "NewReady worker-2"}, []string{first, second})

	s.Set(slice("s1", endpoint("worker-1", "uid-1", "10.0.0.1", "ready"), endpoint("worker-2", "uid-2", "10.0.0.2", "ready")))
	expect(t, sub, "Ready worker-1")

	s.Set(workerMetadata("worker-1", "uid-1", 2001))
	expect(t, sub, "Updated worker-1")

	s.Set(slice("s1", endpoint("worker-1", "uid-1", "10.0.0.1", "terminating"), endpoint("worker-2", "uid-2", "10.0.0.2", "ready")))
	expect(t, sub, "NotReady worker-1")
	s.Set(slice("s1", endpoint("worker-2", "uid-2", "10.0.0.2", "ready")))
	expect(t, sub, "Deleted worker-1")
}

func TestInstanceNeedsEndpointAndMetadata(t *testing.T) {
	s := apitest.New(t)
	s.Set(slice("s1", endpoint("worker-1", "uid-1", "10.0.0.1", "ready")))
	sub := subscribe(t, newClient(t, s, nil))
	expect(t, sub, "Synced")
	s.Set(workerMetadata("worker-1", "another-uid", 1001))
	expectNothing(t, sub, 50*time.Millisecond)
	s.Set(workerMetadata("worker-1", "uid-1", 1001))
	expect(t, sub, "NewReady worker-1")
	s.Delete(v1alpha1.Resource, kubeNamespace, "worker-1")
	expect(t, sub, "Deleted worker-1")
}

func TestPodRecreatedUnderItsNameIsAnotherInstance(t *testing.T) {
	s := apitest.New(t)
	s.Set(slice("s1", endpoint("worker-1", "uid-1", "10.0.0.1", "ready")))
	s.Set(workerMetadata("worker-1", "uid-1", 1001))
	sub := subscribe(t, newClient(t, s, func(c *kube.Config) { c.Grace = time.Hour }))
	expect(t, sub, "NewReady worker-1", "Synced")
	// Same name and address: the controller changes the entry in place.
	s.Set(slice("s1", endpoint("worker-1", "uid-2", "10.0.0.1", "ready")))
	expect(t, sub, "Deleted worker-1")
	s.Set(workerMetadata("worker-1", "uid-2", 1001))
	_, ev := next(t, sub)
	assert.Equal(t, runtime.NewReady, ev.Type)
	assert.Equal(t, "uid-2", ev.Instance.ID.UID)
}

func TestMoveBetweenSlicesMakesNoEvent(t *testing.T) {
	s := apitest.New(t)
	here := endpoint("worker-1", "uid-1", "10.0.0.1", "ready")
	s.Set(slice("s1", here))
	s.Set(workerMetadata("worker-1", "uid-1", 1001))
	sub := subscribe(t, newClient(t, s, func(c *kube.Config) { c.Grace = time.Hour }))
	expect(t, sub, "NewReady worker-1", "Synced")
	s.Set(slice("s2", here)) // in both
	s.Set(slice("s1"))       // in the new one
	s.Delete("endpointslices", kubeNamespace, "s1")
	s.Delete("endpointslices", kubeNamespace, "s2") // in none for a moment
	s.Set(slice("s3", here))
	expectNothing(t, sub, 100*time.Millisecond)
}

func TestVanishedWithoutTerminatingIsHeldBack(t *testing.T) {
	s := apitest.New(t)
	s.Set(slice("s1", endpoint("worker-1", "uid-1", "10.0.0.1", "ready")))
	s.Set(workerMetadata("worker-1", "uid-1", 1001))
	sub := subscribe(t, newClient(t, s, func(c *kube.Config) { c.Grace = 300 * time.Millisecond }))
	expect(t, sub, "NewReady worker-1", "Synced")
	s.Set(slice("s1"))
	expectNothing(t, sub, 100*time.Millisecond)
	expect(t, sub, "Deleted worker-1")
}

func TestInterruptedWatchesResume(t *testing.T) {
	s := apitest.New(t)
	s.Set(slice("s1", endpoint("worker-1", "uid-1", "10.0.0.1", "ready")))
	s.Set(workerMetadata("worker-1", "uid-1", 1001))
	c := newClient(t, s, nil)
	sub := subscribe(t, c)
	expect(t, sub, "NewReady worker-1", "Synced")
	s.WaitWatches(t, 2)
	for range 3 { // the first time at once, as agreed; then something is wrong
		before := s.Requests("watch", "endpointslices")
		s.EndWatches()
		s.Set(slice("s1", endpoint("worker-1", "uid-1", "10.0.0.1", "not ready")))
		expect(t, sub, "NotReady worker-1")
		s.Set(slice("s1", endpoint("worker-1", "uid-1", "10.0.0.1", "ready")))
		expect(t, sub, "Ready worker-1")
		assert.Equal(t, 1, s.Requests("watch", "endpointslices")-before)
	}
}

// A watch that ends as agreed, as every few minutes, is not out of contact meanwhile.
func TestAgreedEndIsNoLossOfContact(t *testing.T) {
	s := apitest.New(t)
	s.Set(slice("s1", endpoint("worker-1", "uid-1", "10.0.0.1", "ready")))
	s.Set(workerMetadata("worker-1", "uid-1", 1001))
	sub := subscribe(t, newClient(t, s, nil))
	expect(t, sub, "NewReady worker-1", "Synced")
	s.WaitWatches(t, 2)
	before := s.Requests("watch", "endpointslices")
	s.EndWatches()
	for s.Requests("watch", "endpointslices") == before {
		require.Zero(t, sub.Snapshot().StaleSince)
	}
	s.WaitWatches(t, 2)
	require.Zero(t, sub.Snapshot().StaleSince)
}

// One object that nobody can read must not hide the others.
func TestUnreadableObjectIsPassedOver(t *testing.T) {
	s := apitest.New(t)
	s.Set(slice("s1", endpoint("worker-1", "uid-1", "10.0.0.1", "ready")))
	nameless := rawMetadata("", "uid-0", `{"endpoints":{}}`)
	s.Set(nameless)
	s.Set(workerMetadata("worker-1", "uid-1", 1001))
	sub := subscribe(t, newClient(t, s, nil))
	expect(t, sub, "NewReady worker-1", "Synced")
	s.WaitWatches(t, 2)
	s.Set(nameless)
	s.Delete(v1alpha1.Resource, kubeNamespace, "worker-1")
	expect(t, sub, "Deleted worker-1")
	assert.Equal(t, 1, s.Requests("watch", v1alpha1.Resource))
}

// Close ends what waits, and what comes after it writes nothing.
func TestCloseEndsCreateInstance(t *testing.T) {
	s := apitest.New(t)
	s.Set(ownPod(labelsOf(component)))
	c := newClient(t, s, func(c *kube.Config) { c.Health, c.ServiceWait = runtime.NewHealth(), time.Hour })
	ended := make(chan error)
	go func() {
		_, err := c.CreateInstance(t.Context(), registration())
		ended <- err
	}()
	require.Eventually(t, func() bool { return s.Requests("list", "endpointslices") > 0 }, patience, time.Millisecond)
	require.NoError(t, c.Close())
	require.ErrorIs(t, <-ended, runtime.ErrClosed)
	_, err := c.CreateInstance(t.Context(), registration())
	require.ErrorIs(t, err, runtime.ErrClosed)
	assert.Zero(t, s.Requests("patch", v1alpha1.Resource))
}

// Who has left the component behind does not hold on to it as if it were current.
func TestSnapshotAfterTheLastLeft(t *testing.T) {
	s := apitest.New(t)
	s.Set(slice("s1", endpoint("worker-1", "uid-1", "10.0.0.1", "ready")))
	s.Set(workerMetadata("worker-1", "uid-1", 1001))
	sub := subscribe(t, newClient(t, s, nil))
	expect(t, sub, "NewReady worker-1", "Synced")
	s.WaitWatches(t, 2)
	require.NoError(t, sub.Close())
	assert.False(t, sub.Snapshot().StaleSince.IsZero())
}

func TestForgottenVersionStartsOver(t *testing.T) {
	s := apitest.New(t)
	s.Set(slice("s1", endpoint("worker-1", "uid-1", "10.0.0.1", "ready")))
	s.Set(slice("s2", endpoint("worker-2", "uid-2", "10.0.0.2", "ready")))
	s.Set(workerMetadata("worker-1", "uid-1", 1001))
	s.Set(workerMetadata("worker-2", "uid-2", 1002))
	sub := subscribe(t, newClient(t, s, nil))
	_, _ = next(t, sub)
	_, _ = next(t, sub)
	expect(t, sub, "Synced")
	s.WaitWatches(t, 2)
	s.SetDown(true)
	s.WaitWatches(t, 0)
	s.Delete("endpointslices", kubeNamespace, "s2")
	s.Compact()
	s.SetDown(false)
	expect(t, sub, "Deleted worker-2")
	expectNothing(t, sub, 50*time.Millisecond)
}

func TestServerThatCannotStreamInitialState(t *testing.T) {
	s := apitest.New(t)
	s.RefuseInitialState()
	s.Set(slice("s1", endpoint("worker-1", "uid-1", "10.0.0.1", "ready")))
	s.Set(workerMetadata("worker-1", "uid-1", 1001))
	sub := subscribe(t, newClient(t, s, nil))
	expect(t, sub, "NewReady worker-1", "Synced")
	s.Set(slice("s1", endpoint("worker-1", "uid-1", "10.0.0.1", "not ready")))
	expect(t, sub, "NotReady worker-1")
	assert.Equal(t, 1, s.Requests("list", "endpointslices"))
}

func TestStateIsServedWhileTheServerIsAway(t *testing.T) {
	s := apitest.New(t)
	s.Set(slice("s1", endpoint("worker-1", "uid-1", "10.0.0.1", "ready")))
	s.Set(workerMetadata("worker-1", "uid-1", 1001))
	c := newClient(t, s, nil)
	sub := subscribe(t, c)
	expect(t, sub, "NewReady worker-1", "Synced")
	require.Eventually(t, func() bool { return sub.Snapshot().StaleSince.IsZero() }, patience, time.Millisecond)

	s.SetDown(true)
	require.Eventually(t, func() bool { return !sub.Snapshot().StaleSince.IsZero() }, patience, time.Millisecond)
	all, err := c.ListInstances(t.Context(), dynNamespace, component)
	require.NoError(t, err)
	assert.Len(t, all, 1)
	_, err = c.Metadata(t.Context(), all[0].ID)
	require.NoError(t, err)
	expectNothing(t, sub, 50*time.Millisecond)

	s.SetDown(false)
	require.Eventually(t, func() bool { return sub.Snapshot().StaleSince.IsZero() }, patience, time.Millisecond)
}

func TestListWaitsForTheFirstSync(t *testing.T) {
	s := apitest.New(t)
	s.Deny("watch", "endpointslices", true)
	c := newClient(t, s, nil)
	_, err := c.ListInstances(t.Context(), dynNamespace, component, runtime.NoWait())
	require.ErrorIs(t, err, runtime.ErrNotSynced)

	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = c.ListInstances(ctx, dynNamespace, component)
	require.ErrorIs(t, err, runtime.ErrNotSynced)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, runtime.ErrForbidden, "the reason is there")
	assert.ErrorContains(t, err, "cannot watch resource \"endpointslices\"")

	s.Deny("watch", "endpointslices", false)
	s.Set(slice("s1", endpoint("worker-1", "uid-1", "10.0.0.1", "ready"), endpoint("worker-2", "uid-2", "10.0.0.2", "not ready")))
	s.Set(workerMetadata("worker-1", "uid-1", 1001))
	s.Set(workerMetadata("worker-2", "uid-2", 1002))
	all, err := c.ListInstances(t.Context(), dynNamespace, component)
	require.NoError(t, err)
	assert.Len(t, all, 2)
	ready, err := c.ListInstances(t.Context(), dynNamespace, component, runtime.ReadyOnly())
	require.NoError(t, err)
	assert.Len(t, ready, 1)
}

func TestWatchesAreSharedAndStopped(t *testing.T) {
	s := apitest.New(t)
	c := newClient(t, s, func(c *kube.Config) { c.ListIdle = 50 * time.Millisecond })
	a, b := subscribe(t, c), subscribe(t, c)
	other, err := c.Subscribe(t.Context(), dynNamespace, "prefill")
	require.NoError(t, err)
	expect(t, a, "Synced")
	expect(t, b, "Synced")
	s.WaitWatches(t, 3) // two components, one namespace of metadata
	require.NoError(t, a.Close())
	require.NoError(t, a.Close(), "a second time")
	got, _ := next(t, a)
	assert.Equal(t, "closed", got)
	s.WaitWatches(t, 3)
	require.NoError(t, b.Close())
	s.WaitWatches(t, 2)
	require.NoError(t, other.Close())
	s.WaitWatches(t, 0)

	for range 3 {
		_, err = c.ListInstances(t.Context(), dynNamespace, component)
		require.NoError(t, err)
	}
	assert.Equal(t, 2, s.Requests("watch", "endpointslices")-1, "one for all three lists")
	s.WaitWatches(t, 0) // after ListIdle
}

func TestSubscriptionEndsWithItsContextAndWithTheClient(t *testing.T) {
	s := apitest.New(t)
	c := newClient(t, s, nil)
	ctx, cancel := context.WithCancel(t.Context())
	sub, err := c.Subscribe(ctx, dynNamespace, component)
	require.NoError(t, err)
	expect(t, sub, "Synced")
	cancel()
	got, _ := next(t, sub)
	assert.Equal(t, "closed", got)
	s.WaitWatches(t, 0)

	sub = subscribe(t, c)
	require.NoError(t, c.Close())
	require.NoError(t, c.Close(), "a second time")
	for _, err := range sub.Events(t.Context()) {
		if err != nil {
			require.ErrorIs(t, err, runtime.ErrClosed)
		}
	}
	require.ErrorIs(t, sub.Err(), runtime.ErrClosed)
	_, err = c.Subscribe(t.Context(), dynNamespace, component)
	require.ErrorIs(t, err, runtime.ErrClosed)
	_, err = c.ListInstances(t.Context(), dynNamespace, component)
	require.ErrorIs(t, err, runtime.ErrClosed)
	_, err = c.ReadKV(t.Context(), "k")
	require.ErrorIs(t, err, runtime.ErrClosed)
}

func TestInvalidMetadataKeepsTheLastValid(t *testing.T) {
	s := apitest.New(t)
	s.Set(slice("s1", endpoint("worker-1", "uid-1", "10.0.0.1", "ready")))
	s.Set(workerMetadata("worker-1", "uid-1", 1001))
	sub := subscribe(t, newClient(t, s, nil))
	expect(t, sub, "NewReady worker-1", "Synced")
	s.Set(rawMetadata("worker-1", "uid-1", `{"endpoints":[]}`))
	expectNothing(t, sub, 50*time.Millisecond)
	assert.Len(t, sub.Snapshot().Instances[0].Endpoints(), 1)
}

// Objects are joined by the bufferful, and buffers are used again: nothing of another one may show.
func TestALargeInitialStateIsReadExactly(t *testing.T) {
	s := apitest.New(t)
	const instances = 2000 // ten buffers
	var endpoints []discoveryv1.Endpoint
	for i := range instances {
		pod, uid := fleetPod(i)
		metadata := fleetMetadata(pod, uid)
		s.Set(metadata)
		endpoints = append(endpoints, endpoint(pod, uid, fmt.Sprintf("10.0.%d.%d", i>>8, i&0xff), "ready"))
	}
	s.Set(slice("a", endpoints...))
	all, err := newClient(t, s, nil).ListInstances(t.Context(), dynNamespace, component)
	require.NoError(t, err)
	require.Len(t, all, instances)
	for i, got := range all {
		pod, uid := fleetPod(i)
		require.Equal(t, runtime.InstanceID{Namespace: kubeNamespace, PodName: pod, UID: uid}, got.ID)
		require.JSONEq(t, string(fleetMetadata(pod, uid).Spec.Data.Raw), string(got.Metadata.Raw()))
	}
}

func TestMetadata(t *testing.T) {
	s := apitest.New(t)
	s.Set(rawMetadata("worker-1", "uid-1", `{"endpoints":{},"model_cards":null,"dynawire.io/metadata":{"Model":{"name":"Qwen3-32B"}}}`))
	c := newClient(t, s, nil)
	id := runtime.InstanceID{Namespace: kubeNamespace, PodName: "worker-1", UID: "uid-1"}
	m, err := c.Metadata(t.Context(), id)
	require.NoError(t, err)
	assert.JSONEq(t, `{"Model":{"name":"Qwen3-32B"}}`, string(m.Values()))
	id.UID = "uid-2"
	_, err = c.Metadata(t.Context(), id)
	require.ErrorIs(t, err, runtime.ErrNotFound)
	id.UID = ""
	_, err = c.Metadata(t.Context(), id)
	require.NoError(t, err)
	id.PodName = "nobody"
	_, err = c.Metadata(t.Context(), id)
	require.ErrorIs(t, err, runtime.ErrNotFound)
	s.Deny("get", v1alpha1.Resource, true)
	_, err = c.Metadata(t.Context(), id)
	require.ErrorIs(t, err, runtime.ErrForbidden)
	require.ErrorContains(t, err, `cannot get resource "`+v1alpha1.Resource+`"`)
	require.NoError(t, c.Close())
	_, err = c.Metadata(t.Context(), id)
	require.ErrorIs(t, err, runtime.ErrClosed)
}

// Readers come and go while everything moves and the server fails: nothing may race, hang or leak.
func TestReadersComeAndGo(t *testing.T) {
	s := apitest.New(t)
	c := newClient(t, s, func(c *kube.Config) { c.Grace, c.ListIdle = time.Millisecond, time.Millisecond })
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	var running sync.WaitGroup
	for r := range 6 {
		running.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				life, end := context.WithTimeout(ctx, time.Duration(1+(n+r)%20)*time.Millisecond)
				sub, err := c.Subscribe(life, dynNamespace, []string{component, "prefill"}[n%2])
				if err == nil {
					for range sub.C() {
						if n%3 == 0 {
							_ = sub.Close()
						}
					}
				}
				_, _ = c.ListInstances(life, dynNamespace, component)
				end()
			}
		})
	}
	running.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			pod := fmt.Sprintf("worker-%d", n%5)
			uid := fmt.Sprintf("uid-%d", n%7)
			s.Set(workerMetadata(pod, uid, n))
			s.Set(slice("s1", endpoint(pod, uid, "10.0.0.1", []string{"ready", "not ready", "terminating"}[n%3])))
			switch n % 11 {
			case 5:
				s.EndWatches()
			case 7:
				s.Compact()
			case 9:
				s.Delete("endpointslices", kubeNamespace, "s1")
			}
			time.Sleep(time.Millisecond)
		}
	})
	running.Wait()
	require.NoError(t, c.Close())
	s.WaitWatches(t, 0)
}
