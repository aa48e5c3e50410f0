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
