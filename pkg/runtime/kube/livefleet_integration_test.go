//go:build integration

package kube_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dynawire/dynawire/api/v1alpha1"
	"github.com/dynawire/dynawire/pkg/runtime"
)

// part is what a pod of the fleet has to do, and so what its readers may be told, as a pattern of event types: N NewReady,
// r Ready, n NotReady, U Updated, D Deleted.
type part struct {
	name string
	told *regexp.Regexp
}

var (
	steady   = &part{"steady", regexp.MustCompile(`^N$`)}
	flipping = &part{"flipping", regexp.MustCompile(`^(N(nr)*n?)?$`)} // not ready when a reader begins: nothing to tell
	speaking = &part{"speaking", regexp.MustCompile(`^NU*$`)}
	leaving  = &part{"leaving", regexp.MustCompile(`^ND$`)}
	coming   = &part{"coming", regexp.MustCompile(`^N$`)}
)

// livePod is one pod: the n-th, or its successor of the same name.
type livePod struct {
	n         int
	name, uid string
	part      *part
}

// liveFleet is ten slices of a hundred pods on a real API server, and what goes on there.
type liveFleet struct {
	c    *cluster
	pods map[string]*livePod // by UID, those to come as well
	// One slice each; its first pods flip, its last leave, so that places do not change.
	shards  []*shard
	written atomic.Int64
	refused atomic.Int64
}

type shard struct {
	mu        sync.Mutex
	name      string
	endpoints []discoveryv1.Endpoint
	leave     []*livePod
	come      []*livePod
}

// A connection that ends is noticed at once; the machine may be busy.
const staleWithin = 3 * time.Second

const (
	liveShards, livePerShard          = 10, 100
	liveFlip, liveSpeak, liveLeave    = 40, 20, 4 // of each shard; half of those who leave have a successor of their name
	liveSliceWriters, liveMetaWriters = 4, 2
)

func newLiveFleet(t *testing.T, c *cluster) *liveFleet {
	f := &liveFleet{c: c, pods: map[string]*livePod{}}
	for i := range liveShards {
		s := &shard{name: fmt.Sprintf("slice-%d", i)}
		f.shards = append(f.shards, s)
		for j := range livePerShard {
			p := &livePod{n: i*livePerShard + j, part: steady}
			p.name, p.uid = fleetPod(p.n)
			switch {
			case j < liveFlip:
				p.part = flipping
			case j < liveFlip+liveSpeak:
				p.part = speaking
			case j >= livePerShard-liveLeave:
				p.part = leaving
				s.leave = append(s.leave, p)
				next := &livePod{n: p.n + liveShards*livePerShard, part: coming}
				next.name, next.uid = fleetPod(next.n)
				if j%2 == 0 {
					next.name = p.name
				}
				s.come = append(s.come, next)
				f.pods[next.uid] = next
			}
			f.pods[p.uid] = p
			s.endpoints = append(s.endpoints, p.endpoint())
		}
		c.create(t, slice(s.name, s.endpoints...))
	}
	var writers sync.WaitGroup
	for _, s := range f.shards {
		writers.Go(func() {
			for _, e := range s.endpoints {
				assert.NoError(t, c.admin.Create(t.Context(), f.pods[string(e.TargetRef.UID)].metadata(8080)))
			}
		})
	}
	writers.Wait()
	return f
}

func (f *liveFleet) size() int { return liveShards * livePerShard }

func (p *livePod) endpoint() discoveryv1.Endpoint {
	return endpoint(p.name, p.uid, fmt.Sprintf("10.0.%d.%d", p.n>>8, p.n&0xff), "ready")
}

func (p *livePod) metadata(port int) *v1alpha1.DynamoWorkerMetadata {
	m := workerMetadata(p.name, p.uid, port)
	m.UID = "" // the API server's to say
	return m
}

// write tries until the API server has taken it. It is false when ctx ended before.
func (f *liveFleet) write(ctx context.Context, do func() error) bool {
	for {
		if do() == nil {
			f.written.Add(1)
			return true
		}
		f.refused.Add(1)
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return false
		}
	}
}

// load changes readiness and metadata all the time, until it is stopped.
func (f *liveFleet) load(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	run := func(every int, write func(i int)) {
		for first := range every {
			writers.Go(func() {
				for i := first; ctx.Err() == nil; i += every {
					write(i)
					time.Sleep(10 * time.Millisecond)
				}
			})
		}
	}
	run(liveSliceWriters, func(i int) { f.shards[i%liveShards].flip(ctx, f, i/liveShards%liveFlip) })
	run(liveMetaWriters, func(i int) {
		n := i%liveShards*livePerShard + liveFlip + i/liveShards%liveSpeak
		_, uid := fleetPod(n)
		m := f.pods[uid].metadata(9000 + i)
		f.write(ctx, func() error { return f.patchMetadata(ctx, m) })
	})
	stop = sync.OnceFunc(func() {
		cancel()
		writers.Wait()
	})
	t.Cleanup(stop)
	return stop
}

// flip turns the readiness of one pod over.
func (s *shard) flip(ctx context.Context, f *liveFleet, j int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ready := !*s.endpoints[j].Conditions.Ready
	patch := fmt.Appendf(nil, `[{"op":"replace","path":"/endpoints/%d/conditions/ready","value":%t}]`, j, ready)
	object := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: s.name, Namespace: kubeNamespace}}
	if f.write(ctx, func() error { return f.c.admin.Patch(ctx, object, ctrlclient.RawPatch(types.JSONPatchType, patch)) }) {
		s.endpoints[j].Conditions.Ready = &ready
	}
}

func (f *liveFleet) patchMetadata(ctx context.Context, m *v1alpha1.DynamoWorkerMetadata) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"ownerReferences": m.OwnerReferences}, "spec": m.Spec})
	if err != nil {
		return err
	}
	return f.c.admin.Patch(ctx, m, ctrlclient.RawPatch(types.MergePatchType, patch))
}

// operate is what happens as soon as the API server takes writes again: pods leave, others come, some by the names of those
// who left. It tells when all was done.
func (f *liveFleet) operate(t *testing.T) <-chan time.Time {
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for _, s := range f.shards {
		running.Go(func() { s.operate(ctx, f) })
	}
	done := make(chan time.Time, 1)
	go func() {
		running.Wait()
		done <- time.Now()
	}()
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return done
}

func (s *shard) operate(ctx context.Context, f *liveFleet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stay := s.endpoints[:livePerShard-len(s.leave)]
	next := slices.Clone(stay)
	for _, p := range s.come {
		next = append(next, p.endpoint())
	}
	for i, old := range s.leave {
		m := s.come[i].metadata(8080)
		if old.name == s.come[i].name {
			f.write(ctx, func() error { return f.patchMetadata(ctx, m.DeepCopy()) })
			continue
		}
		f.write(ctx, func() error { return ctrlclient.IgnoreAlreadyExists(f.c.admin.Create(ctx, m.DeepCopy())) })
		f.write(ctx, func() error { return ctrlclient.IgnoreNotFound(f.c.admin.Delete(ctx, old.metadata(0))) })
	}
	f.write(ctx, func() error {
		patch, err := json.Marshal(map[string]any{"endpoints": next})
		if err != nil {
			return err
		}
		object := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: s.name, Namespace: kubeNamespace}}
		return f.c.admin.Patch(ctx, object, ctrlclient.RawPatch(types.MergePatchType, patch))
	})
	s.endpoints = next
}

// expectTruth waits until every reader's events add up to what the API server lists, and to what the client says.
func (f *liveFleet) expectTruth(t *testing.T, watchers []*watcher) {
	truth := f.list(t)
	require.Len(t, truth, f.size())
	believed := func(all []runtime.Instance) map[string]string {
		m := map[string]string{}
		for _, i := range all {
			e, _ := i.Endpoint("generate")
			m[i.ID.UID] = describe(i.ID.PodName, i.Addresses[0].String(), i.Ready, e.Transport.HostPort())
		}
		return m
	}
	for _, w := range watchers {
		all, err := w.client.ListInstances(t.Context(), dynNamespace, component)
		require.NoError(t, err)
		for end := time.Now().Add(patience); time.Now().Before(end) && !assert.ObjectsAreEqual(truth, believed(all)); time.Sleep(10 * time.Millisecond) {
			all, err = w.client.ListInstances(t.Context(), dynNamespace, component)
			require.NoError(t, err)
		}
		require.Equal(t, truth, believed(all))
		for _, r := range w.readers {
			fold := func() map[string]string {
				r.mu.Lock()
				defer r.mu.Unlock()
				return believed(slices.Collect(maps.Values(r.last)))
			}
			// One that began while a pod was not ready, and has not seen it ready since, was not told of it.
			want := maps.Clone(truth)
			r.mu.Lock()
			for uid := range want {
				if p := f.pods[uid]; p.part == flipping && r.stories[uid] == "" {
					delete(want, uid)
				}
			}
			r.mu.Unlock()
			require.Eventually(t, func() bool { return assert.ObjectsAreEqual(want, fold()) }, patience, 10*time.Millisecond)
			require.Equal(t, want, fold(), r.name)
		}
	}
}

func describe(pod, address string, ready bool, hostPort string) string {
	return fmt.Sprintf("%s at %s, %s, ready %t", pod, address, hostPort, ready)
}

// list is what the API server has.
func (f *liveFleet) list(t *testing.T) map[string]string {
	var objects v1alpha1.DynamoWorkerMetadataList
	var lists discoveryv1.EndpointSliceList
	require.NoError(t, f.c.admin.List(t.Context(), &objects, ctrlclient.InNamespace(kubeNamespace)))
	require.NoError(t, f.c.admin.List(t.Context(), &lists, ctrlclient.InNamespace(kubeNamespace)))
	hostPorts := map[string]string{}
	for i := range objects.Items {
		var data struct {
			Endpoints map[string]struct{ Transport struct{ TCP string } }
		}
		o := &objects.Items[i]
		require.NoError(t, json.Unmarshal(o.Spec.Data.Raw, &data))
		for _, e := range data.Endpoints {
			hostPorts[string(o.OwnerReferences[0].UID)], _, _ = strings.Cut(e.Transport.TCP, "/")
		}
	}
	truth := map[string]string{}
	for i := range lists.Items {
		for _, e := range lists.Items[i].Endpoints {
			uid := string(e.TargetRef.UID)
			truth[uid] = describe(e.TargetRef.Name, e.Addresses[0], *e.Conditions.Ready, hostPorts[uid])
		}
	}
	return truth
}
