//go:build integration

package kube_test

import (
	"context"
	"log/slog"
	"maps"
	"net"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/resolver"
	"k8s.io/client-go/rest"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/grpcresolver"
	"github.com/dynawire/dynawire/pkg/runtime/kube"
)

// watcher is one client, as in a pod of its own, and its readers.
type watcher struct {
	client  *kube.Client
	readers []*reader
	lost    time.Time // what it said first
	contact time.Time
}

func (f *liveFleet) watch(t *testing.T) *watcher {
	cfg := rest.CopyConfig(f.c.pod)
	cfg.Dial = (&net.Dialer{}).DialContext // a connection of its own: client-go shares those of equal configurations
	client, err := kube.New(kube.Config{
		Identity: runtime.Identity{PodNamespace: kubeNamespace, Namespace: dynNamespace, Component: component},
		REST:     cfg, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, client.Close()) })
	w := &watcher{client: client}
	for name, policy := range map[string]runtime.SubscribeOption{
		"Coalesce": runtime.Coalesce(), "Block(16)": runtime.Block(16), "Block(100000)": runtime.Block(100_000),
	} {
		sub, err := client.Subscribe(t.Context(), dynNamespace, component, policy)
		require.NoError(t, err)
		r := &reader{name: name, fleet: f, sub: sub, stories: map[string]string{}, last: map[string]runtime.Instance{}, place: map[string]int{}}
		w.readers = append(w.readers, r)
		var running sync.WaitGroup
		running.Go(func() { r.read(t.Context()) })
		t.Cleanup(func() {
			assert.NoError(t, sub.Close())
			running.Wait()
		})
	}
	return w
}

func (w *watcher) expectStale(t *testing.T, since time.Time, size int) {
	t.Helper()
	for _, r := range w.readers {
		var s runtime.Snapshot
		require.Eventually(t, func() bool { s = r.sub.Snapshot(); return !s.StaleSince.IsZero() }, patience, time.Millisecond)
		assert.WithinRange(t, s.StaleSince, since, since.Add(staleWithin), r.name)
		assert.True(t, s.Synced, r.name)
		assert.Len(t, s.Instances, size, r.name)
		if w.lost.IsZero() {
			w.lost = s.StaleSince
		}
	}
}

// expectNotSynced is what a client says that began while the API server was away.
func (w *watcher) expectNotSynced(t *testing.T) {
	_, err := w.client.ListInstances(t.Context(), dynNamespace, component, runtime.NoWait())
	require.ErrorIs(t, err, runtime.ErrNotSynced)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err = w.client.ListInstances(ctx, dynNamespace, component)
	require.ErrorIs(t, err, runtime.ErrNotSynced)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, syscall.ECONNREFUSED, "it says why")
	for _, r := range w.readers {
		r.late = true
		assert.False(t, r.sub.Snapshot().Synced)
		assert.Empty(t, r.sub.Snapshot().Instances)
	}
}

// awaitContact notes when contact was back that lasts.
func (w *watcher) awaitContact() {
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(25 * time.Millisecond) {
		switch {
		case !w.readers[0].sub.Snapshot().StaleSince.IsZero():
			w.contact = time.Time{} // or it was lost once more: a server that is starting ends watches
		case w.contact.IsZero():
			w.contact = time.Now()
		case time.Since(w.contact) > 500*time.Millisecond:
			return
		}
	}
}

// reader keeps what a subscription tells.
type reader struct {
	name  string
	fleet *liveFleet
	sub   *runtime.Subscription
	late  bool // it began while the API server was away, and may have heard only of what came after

	mu      sync.Mutex
	stories map[string]string           // the types of an instance's events
	last    map[string]runtime.Instance // those that were not Deleted
	place   map[string]int              // of an instance's last event among all of the reader's
	events  int
	told    time.Time // the last of what changed at the restart
}

var letters = map[runtime.EventType]string{
	runtime.NewReady: "N", runtime.Ready: "r", runtime.NotReady: "n", runtime.Updated: "U", runtime.Deleted: "D",
}

func (r *reader) read(ctx context.Context) {
	for ev, err := range r.sub.Events(ctx) {
		if err != nil {
			return
		}
		if ev.Type != runtime.Synced {
			r.take(ev)
		}
	}
}

func (r *reader) take(ev runtime.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	uid := ev.Instance.ID.UID
	r.stories[uid] += letters[ev.Type]
	r.last[uid] = ev.Instance
	r.events++
	r.place[uid] = r.events
	if ev.Type == runtime.Deleted {
		delete(r.last, uid)
	}
	if p := r.fleet.pods[uid]; ev.Type == runtime.Deleted || ev.Type == runtime.NewReady && p != nil && p.part == coming {
		r.told = time.Now()
	}
}

// heard is whether everything that changed at the restart was told.
func (r *reader) heard() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.fleet.shards {
		for i, p := range s.leave {
			_, old := r.last[p.uid]
			if _, successor := r.last[s.come[i].uid]; old || !successor {
				return false
			}
		}
	}
	return true
}

// expectStories holds what was told against what there was to tell.
func (r *reader) expectStories(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for uid, p := range r.fleet.pods {
		if r.late && p.part == leaving && r.stories[uid] == "" {
			continue
		}
		assert.Regexp(t, p.part.told, r.stories[uid], "%s: %s pod %s", r.name, p.part.name, p.name)
	}
	for uid, story := range r.stories {
		assert.Contains(t, r.fleet.pods, uid, "%s was told %s of a pod that never was", r.name, story)
	}
	for _, s := range r.fleet.shards {
		for i, old := range s.leave {
			if next := s.come[i]; next.name == old.name {
				assert.Less(t, r.place[old.uid], r.place[next.uid], "%s: %s was told of before its predecessor was Deleted", r.name, next.name)
			}
		}
	}
}

// channel is a gRPC client's end of a resolver.
type channel struct {
	resolver.ClientConn
	fleet   *liveFleet
	updates atomic.Int64
	mu      sync.Mutex
	gone    map[string]struct{}
}

// dial makes a resolver follow the fleet.
func (f *liveFleet) dial(t *testing.T, client *kube.Client) *channel {
	ch := &channel{fleet: f, gone: map[string]struct{}{}}
	target, err := url.Parse(grpcresolver.Scheme + ":///" + dynNamespace + "/" + component)
	require.NoError(t, err)
	r, err := grpcresolver.New(client, grpcresolver.Config{}).Build(resolver.Target{URL: *target}, ch, resolver.BuildOptions{})
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return ch
}

// UpdateState implements resolver.ClientConn.
func (ch *channel) UpdateState(s resolver.State) error {
	there := map[string]struct{}{}
	for _, e := range s.Endpoints {
		id, _ := grpcresolver.InstanceOf(e.Attributes)
		there[id.UID] = struct{}{}
	}
	ch.mu.Lock()
	defer ch.mu.Unlock()
	ch.updates.Add(1)
	for uid, p := range ch.fleet.pods {
		if _, ok := there[uid]; !ok && (p.part == steady || p.part == speaking) {
			ch.gone[p.name] = struct{}{}
		}
	}
	return nil
}

// ReportError implements resolver.ClientConn.
func (ch *channel) ReportError(err error) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	ch.gone[err.Error()] = struct{}{}
}

func (ch *channel) dropped() []string {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	return slices.Collect(maps.Keys(ch.gone))
}
