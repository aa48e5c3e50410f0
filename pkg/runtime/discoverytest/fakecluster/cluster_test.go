package fakecluster_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	discoveryclient "k8s.io/client-go/kubernetes/typed/discovery/v1"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/discoverytest/fakecluster"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// observed is what a watcher of the slices lives through.
type observed struct {
	slices map[string]*discoveryv1.EndpointSlice

	twice, nowhere, recycled, terminating int
}

// take notes an event, and counts the moments at which a pod is listed twice or, though it runs, nowhere.
func (o *observed) take(ev watch.Event, pods int) {
	es, ok := ev.Object.(*discoveryv1.EndpointSlice)
	if !ok {
		return
	}
	if old := o.slices[es.Name]; old != nil && ev.Type == watch.Modified && len(old.Endpoints) > 0 && len(es.Endpoints) > 0 && disjoint(old, es) {
		o.recycled++
	}
	o.slices[es.Name] = es
	if ev.Type == watch.Deleted {
		delete(o.slices, es.Name)
	}
	seen := map[types.UID]int{}
	for _, s := range o.slices {
		for i := range s.Endpoints {
			seen[s.Endpoints[i].TargetRef.UID]++
			if t := s.Endpoints[i].Conditions.Terminating; t != nil && *t {
				o.terminating++
			}
		}
	}
	if len(seen) < pods {
		o.nowhere++
	}
	for _, n := range seen {
		if n > 1 {
			o.twice++
			break
		}
	}
}

func disjoint(a, b *discoveryv1.EndpointSlice) bool {
	in := map[types.UID]bool{}
	for i := range a.Endpoints {
		in[a.Endpoints[i].TargetRef.UID] = true
	}
	for i := range b.Endpoints {
		if in[b.Endpoints[i].TargetRef.UID] {
			return false
		}
	}
	return true
}

// The trouble that the fake makes is real: that of the EndpointSlice controller's own code.
func TestTheControllerMakesTheTroubleThatItIsThereFor(t *testing.T) {
	const pods = 10
	c := fakecluster.New(t, fakecluster.Options{})
	for i := range pods {
		health := runtime.NewHealth()
		require.NoError(t, health.SetStatus(runtime.StatusReady))
		c.Run(fakecluster.Pod{Name: fmt.Sprintf("worker-%d", i), Namespace: "llm", Labels: fakecluster.Labels("dynamo", "backend"), Health: health})
	}
	client, err := discoveryclient.NewForConfig(c.API.Config())
	require.NoError(t, err)
	w, err := client.EndpointSlices("llm").Watch(t.Context(), metav1.ListOptions{ResourceVersion: "100"})
	require.NoError(t, err)
	defer w.Stop()
	o := observed{slices: map[string]*discoveryv1.EndpointSlice{}}
	drain := func() {
		for {
			select {
			case ev := <-w.ResultChan():
				o.take(ev, pods)
			case <-time.After(200 * time.Millisecond):
				return
			}
		}
	}
	drain()
	assert.Greater(t, len(o.slices), 3, "several slices")
	o.twice, o.nowhere, o.recycled = 0, 0, 0
	for range 5 {
		c.Repack()
	}
	drain()
	t.Logf("five repacks: %d moments with a pod twice, %d with a pod nowhere, %d recycled names", o.twice, o.nowhere, o.recycled)
	assert.Positive(t, o.twice)
	assert.Positive(t, o.nowhere)
	assert.Positive(t, o.recycled)

	o.twice = 0
	c.Confuse()
	c.Duplicate(true)
	drain()
	assert.Positive(t, o.twice)
	c.Duplicate(false)
	c.Terminate("worker-0")
	drain()
	assert.Positive(t, o.terminating)
	c.Delete("worker-0")
	drain()
	seen := map[string]bool{}
	for _, s := range o.slices {
		for i := range s.Endpoints {
			seen[s.Endpoints[i].TargetRef.Name] = true
			assert.True(t, *s.Endpoints[i].Conditions.Ready)
		}
	}
	assert.Len(t, seen, pods-1, "in the end all is as it must be")
	assert.NotContains(t, seen, "worker-0")
}

func TestNamesComeAgainWithOtherUIDs(t *testing.T) {
	c := fakecluster.New(t, fakecluster.Options{DualStack: true})
	run := func() runtime.Identity {
		return c.Run(fakecluster.Pod{Name: "worker-0", Namespace: "llm", Labels: fakecluster.Labels("dynamo", "backend")})
	}
	first := run()
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owned", Namespace: "llm", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "Pod", Name: "worker-0", UID: types.UID(first.PodUID)},
	}}}
	c.API.Set(owned)
	c.Delete("worker-0")
	second := run()
	assert.NotEqual(t, first.PodUID, second.PodUID)
	assert.Len(t, c.API.All("endpointslices", "llm"), 2, "one for each address family")
	require.Eventually(t, func() bool { return c.API.Get("configmaps", "llm", "owned") == nil }, 10*time.Second, time.Millisecond,
		"what the dead pod owned is collected")
}
