package instances_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
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

	"github.com/dynawire/dynawire/api/v1alpha1"
	"github.com/dynawire/dynawire/internal/cli/instances"
	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/discoverytest/fakecluster"
	"github.com/dynawire/dynawire/pkg/runtime/kube"
	"github.com/dynawire/dynawire/pkg/runtime/kube/apitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	kubeNamespace = "llm"
	patience      = 10 * time.Second
)

// deploy puts a component with one ready pod, COMPONENT-0, into the cluster.
func deploy(s *apitest.Server, component string) {
	pod := component + "-0"
	uid := types.UID("uid-" + pod)
	s.Set(&v1alpha1.DynamoWorkerMetadata{
		ObjectMeta: metav1.ObjectMeta{Name: pod, Namespace: kubeNamespace, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "Pod", Name: pod, UID: uid,
		}}},
		Spec: v1alpha1.DynamoWorkerMetadataSpec{Data: k8sruntime.RawExtension{Raw: json.RawMessage(`{"endpoints":{},"model_cards":{}}`)}},
	})
	s.Set(&discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: component, Namespace: kubeNamespace, Labels: fakecluster.Labels("dynamo", component)},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{"192.0.2.1"}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: kubeNamespace, Name: pod, UID: uid},
		}},
	})
}

func remove(s *apitest.Server, component string) {
	s.Delete("endpointslices", kubeNamespace, component)
	s.Delete(v1alpha1.Resource, kubeNamespace, component+"-0")
}

// watched is a Watch at work.
type watched struct {
	t      *testing.T
	events chan string
	ended  chan error
	cancel context.CancelFunc
}

func all(t *testing.T, s *apitest.Server) *instances.All {
	a, err := instances.NewAll(s.Config(), kubeNamespace)
	require.NoError(t, err)
	a.Retry = time.Millisecond
	return a
}

func watch(t *testing.T, s *apitest.Server, source instances.Source) *watched {
	d, err := kube.New(kube.Config{
		REST: s.Config(), Identity: runtime.Identity{PodNamespace: kubeNamespace}, Grace: time.Millisecond, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	w := &watched{t: t, events: make(chan string, 100), ended: make(chan error, 1), cancel: cancel}
	go func() {
		w.ended <- instances.Watch(ctx, d, source, func(ev runtime.Event) error {
			w.events <- string(ev.Type) + " " + ev.Instance.Component + " " + ev.Instance.ID.PodName
			return nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, d.Close())
	})
	return w
}

func (w *watched) expect(want string) {
	w.t.Helper()
	select {
	case got := <-w.events:
		require.Equal(w.t, want, got)
	case err := <-w.ended:
		require.Failf(w.t, "it ended", "%v", err)
	case <-time.After(patience):
		require.Failf(w.t, "no event", "want %s", want)
	}
}

func (w *watched) end() error {
	w.t.Helper()
	select {
	case err := <-w.ended:
		assert.Empty(w.t, w.events)
		return err
	case <-time.After(patience):
		require.Fail(w.t, "it goes on")
		return nil
	}
}

func TestWatchFollowsComponentsThatComeAndGo(t *testing.T) {
	s := apitest.New(t)
	w := watch(t, s, all(t, s).Follow)
	s.WaitWatches(t, 1)
	deploy(s, "backend")
	w.expect("NewReady backend backend-0")
	deploy(s, "prefill")
	w.expect("NewReady prefill prefill-0")
	s.WaitWatches(t, 4) // components, metadata, and each one's slices
	remove(s, "backend")
	w.expect("Deleted backend backend-0")
	s.WaitWatches(t, 3)
	deploy(s, "backend")
	w.expect("NewReady backend backend-0")

	s.EndWatches()
	deploy(s, "decode")
	w.expect("NewReady decode decode-0")
	s.SetDown(true)
	s.Compact()
	deploy(s, "router")
	s.SetDown(false)
	w.expect("NewReady router router-0")
	w.cancel()
	require.NoError(t, w.end())
	s.WaitWatches(t, 0)
}

func TestWatchOfTheseFollowsNoOthers(t *testing.T) {
	s := apitest.New(t)
	w := watch(t, s, instances.These([]instances.Component{{Namespace: "dynamo", Name: "backend"}}))
	deploy(s, "prefill")
	deploy(s, "backend")
	w.expect("NewReady backend backend-0")
	remove(s, "backend")
	w.expect("Deleted backend backend-0")
	deploy(s, "backend")
	w.expect("NewReady backend backend-0")
	w.cancel()
	require.NoError(t, w.end())
}

func TestWatchSaysWhatItMayNotRead(t *testing.T) {
	for _, verb := range []string{"list", "watch"} {
		s := apitest.New(t)
		s.Deny(verb, "endpointslices", true)
		w := watch(t, s, all(t, s).Follow)
		require.EqualError(t, w.end(), fmt.Sprintf("look for components in llm: %[1]s endpointslices: endpointslices.discovery.k8s.io is forbidden: "+
			`user "system:serviceaccount:llm:test" cannot %[1]s resource "endpointslices"; list and watch on endpointslices and `+
			"dynamoworkermetadatas are needed, as the Role dynamo-discovery has them", verb))
	}
	s := apitest.New(t)
	s.SetDown(true)
	require.ErrorContains(t, watch(t, s, all(t, s).Follow).end(), "the server is down", "at the start there is nothing to go on with")
}

func TestAllAreListedOnce(t *testing.T) {
	s := apitest.New(t)
	none, err := all(t, s).List(t.Context())
	require.NoError(t, err)
	assert.Empty(t, none)
	deploy(s, "prefill")
	deploy(s, "backend")
	second := s.Get("endpointslices", kubeNamespace, "backend").(*discoveryv1.EndpointSlice).DeepCopy()
	second.Name = "backend-2"
	s.Set(second)
	unlabelled := second.DeepCopy()
	unlabelled.Name, unlabelled.Labels = "other", nil
	s.Set(unlabelled)
	found, err := all(t, s).List(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []instances.Component{{Namespace: "dynamo", Name: "backend"}, {Namespace: "dynamo", Name: "prefill"}}, found)
}
