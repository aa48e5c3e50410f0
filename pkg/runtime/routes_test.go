package runtime_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/runtime"
)

// fed is a discovery whose one component is the test's to feed.
type fed struct {
	runtime.Discovery
	table *runtime.Table
}

func (f fed) Subscribe(context.Context, string, string, ...runtime.SubscribeOption) (*runtime.Subscription, error) {
	return f.table.Subscribe(nil)
}

// forbidden is a discovery that may not look.
type forbidden struct{ fed }

func (f forbidden) ListInstances(_ context.Context, namespace, component string, opts ...runtime.ListOption) ([]runtime.Instance, error) {
	var o runtime.ListOptions
	for _, opt := range opts {
		opt(&o)
	}
	if !o.NoWait {
		panic("it would wait")
	}
	return nil, fmt.Errorf("list instances of %s/%s: %w: %w", namespace, component, runtime.ErrNotSynced, runtime.ErrForbidden)
}

func TestWaitForRoutes(t *testing.T) {
	over, end := context.WithCancel(t.Context())
	end()
	table := runtime.NewTable(nil)
	follow := func(d runtime.Discovery, observe func(runtime.Event)) *runtime.Routes {
		routes, err := runtime.Follow(t.Context(), d, "dynamo", "backend", observe)
		require.NoError(t, err)
		t.Cleanup(func() { _ = routes.Close() })
		return routes
	}
	routes := follow(forbidden{fed{table: table}}, nil)
	for _, wait := range []func(context.Context) error{routes.WaitSynced, routes.WaitReady} {
		err := wait(over)
		for _, cause := range []error{context.Canceled, runtime.ErrNotSynced, runtime.ErrForbidden} {
			require.ErrorIs(t, err, cause)
		}
		require.ErrorContains(t, err, "dynamo/backend")
	}

	waiting := make(chan error, 2)
	go func() { waiting <- routes.WaitReady(t.Context()) }()
	go func() { waiting <- routes.WaitReady(t.Context()) }()
	table.MarkSynced()
	require.NoError(t, routes.WaitSynced(t.Context()))
	require.NoError(t, routes.WaitSynced(over), "there is nothing to wait for")
	table.Apply(set("a", "1", false))
	require.EqualError(t, routes.WaitReady(over), "no instance of dynamo/backend is ready, and 1 are not: context canceled")
	table.Apply(set("a", "1", true))
	require.NoError(t, <-waiting)
	require.NoError(t, <-waiting)
	require.NoError(t, routes.WaitReady(over), "there is nothing to wait for")
	table.Apply(removed("a", "1"))
	require.Eventually(t, func() bool { return routes.WaitReady(over) != nil }, soon, time.Millisecond)

	told, sleep := make(chan struct{}), make(chan struct{})
	slow := follow(forbidden{fed{table: table}}, func(runtime.Event) { close(told); <-sleep })
	<-told
	require.ErrorIs(t, slow.WaitSynced(over), runtime.ErrNotSynced, "observe has yet to return")
	close(sleep)
	require.NoError(t, slow.WaitSynced(t.Context()))

	closed := follow(fed{table: runtime.NewTable(nil)}, nil)
	require.NoError(t, closed.Close())
	lost := runtime.NewTable(nil)
	ended := follow(fed{table: lost}, nil)
	lost.Close(runtime.ErrForbidden)
	for _, wait := range []func(*runtime.Routes, context.Context) error{(*runtime.Routes).WaitSynced, (*runtime.Routes).WaitReady} {
		require.ErrorIs(t, wait(closed, t.Context()), runtime.ErrClosed)
		require.ErrorIs(t, wait(ended, t.Context()), runtime.ErrForbidden)
	}
}

// Whatever happens in whatever order: the routes are the ready instances, sorted, and a loop that has begun sees those that
// there were when it began.
func TestRoutesAreWhatIsReady(t *testing.T) {
	table := runtime.NewTable(nil)
	random := rand.New(rand.NewPCG(1, 2))
	ready := map[string]bool{}
	change := func() {
		uid := fmt.Sprint(10 + random.IntN(20))
		switch random.IntN(4) {
		case 0:
			delete(ready, uid)
			table.Apply(removed("worker-"+uid, uid))
		case 1:
			delete(ready, uid)
			table.Apply(set("worker-"+uid, uid, false))
		default:
			ready[uid] = true
			c := set("worker-"+uid, uid, true)
			c.Instance.Node = fmt.Sprint(random.IntN(2))
			table.Apply(c)
		}
	}
	for range 20 {
		change()
	}
	table.MarkSynced()
	routes, err := runtime.Follow(t.Context(), fed{table: table}, "dynamo", "backend", nil)
	require.NoError(t, err)
	defer func() { _ = routes.Close() }()
	<-routes.Synced()
	for range 300 {
		if random.IntN(2) == 0 { // else nobody asks in between
			before := routes.Ready()
			kept := slices.Clone(before)
			for range routes.InTurn() {
				change()
			}
			assert.Equal(t, kept, before)
		}
		change()
		var want []string
		for uid := range ready {
			want = append(want, uid)
		}
		slices.Sort(want)
		uids := func() (got []string) {
			for _, i := range routes.Ready() {
				got = append(got, i.ID.UID)
			}
			return got
		}
		require.Eventually(t, func() bool { return slices.Equal(want, uids()) }, soon, 10*time.Microsecond)
	}
	want := map[string]runtime.Instance{}
	for _, i := range routes.Snapshot().Instances {
		if i.Ready {
			want[i.ID.UID] = i
		}
	}
	require.Eventually(t, func() bool {
		got := map[string]runtime.Instance{}
		for i := range routes.InTurn() {
			got[i.ID.UID] = i
		}
		return assert.ObjectsAreEqual(want, got)
	}, soon, time.Millisecond, "the last of each")
}

// An event among many instances, and a request right behind it.
func BenchmarkRoutes(b *testing.B) {
	for _, n := range []int{1000, 20_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			table := runtime.NewTable(nil)
			for i := range n {
				table.Apply(set(fmt.Sprintf("worker-%05d", i), fmt.Sprint(i), true))
			}
			table.MarkSynced()
			updated := make(chan struct{})
			routes, err := runtime.Follow(b.Context(), fed{table: table}, "dynamo", "backend", func(ev runtime.Event) {
				if ev.Type == runtime.Updated {
					updated <- struct{}{}
				}
			})
			require.NoError(b, err)
			<-routes.Synced()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				c := set("worker-00000", "0", true)
				c.Instance.Node = fmt.Sprint(i)
				table.Apply(c)
				<-updated
				for range routes.InTurn() {
					break
				}
			}
			require.NoError(b, routes.Close())
		})
	}
}
