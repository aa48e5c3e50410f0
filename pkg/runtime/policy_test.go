package runtime_test

import (
	"fmt"
	goruntime "runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/runtime"
)

func TestBlockTellsEveryChange(t *testing.T) {
	table := runtime.NewTable(nil)
	table.Apply(set("a", "1", true))
	table.MarkSynced()
	sub, err := table.Subscribe(nil, runtime.Block(4))
	require.NoError(t, err)
	defer func() { _ = sub.Close() }()
	assert.Equal(t, []string{"NewReady 1", "Synced"}, told(sub))
	down, up := set("a", "1", false), set("a", "1", true)

	table.Apply(down, up, set("b", "2", false), set("b", "2", true))
	assert.Equal(t, []string{"NotReady 1", "Ready 1", "NewReady 2"}, told(sub), "what Coalesce would skip")
	table.Apply(removed("b", "2"), set("b", "2", true))
	assert.Equal(t, []string{"Deleted 2", "NewReady 2"}, told(sub))

	table.Apply(down, up, down, up) // as many as it keeps
	table.Apply(down, up, down)     // and then it takes no more
	table.Apply(set("c", "3", true), removed("c", "3"))
	ev, ok := sub.Take()
	require.True(t, ok)
	assert.Equal(t, runtime.NotReady, ev.Type)
	table.Apply(up, down) // until all of it was read
	assert.Equal(t, []string{"Ready 1", "NotReady 1", "Ready 1", "NotReady 1"}, told(sub), "the last state is told in any case")
	table.Apply(up, down)
	assert.Equal(t, []string{"Ready 1", "NotReady 1"}, told(sub), "from here on each again")
}

func TestBlockBeforeItsSnapshotWasRead(t *testing.T) {
	table := runtime.NewTable(nil)
	table.Apply(set("a", "1", true), set("b", "2", false))
	table.MarkSynced()
	sub, err := table.Subscribe(nil, runtime.Block(4))
	require.NoError(t, err)
	defer func() { _ = sub.Close() }()
	table.Apply(set("a", "1", false), set("a", "1", true), removed("b", "2"), set("c", "3", true))
	assert.Equal(t, []string{"NewReady 1", "Synced", "NewReady 3"}, told(sub))
}

func TestFailEndsASlowSubscription(t *testing.T) {
	table := runtime.NewTable(nil)
	for i := range 100 {
		table.Apply(set(strconv.Itoa(i), strconv.Itoa(i), true))
	}
	table.MarkSynced()
	closed := make(chan struct{})
	sub, err := table.Subscribe(func() { close(closed) }, runtime.Fail(2))
	require.NoError(t, err)
	assert.Len(t, told(sub), 101, "the snapshot does not count")
	for range 10 {
		table.Apply(set("1", "1", false), set("2", "2", false), set("1", "1", true))
	}
	require.NoError(t, sub.Err(), "two instances have changed, however often")
	table.Apply(set("x", "x", true), removed("x", "x"), set("y", "y", false))
	require.NoError(t, sub.Err(), "there is nothing to tell of them")
	table.Apply(set("3", "3", false))
	require.ErrorIs(t, sub.Err(), runtime.ErrSlowSubscriber)
	<-closed
	n := 0
	for _, err := range sub.Events(t.Context()) {
		require.ErrorIs(t, err, runtime.ErrSlowSubscriber)
		n++
	}
	assert.Equal(t, 1, n)
	pending, queued := sub.Backlog()
	assert.Zero(t, pending+queued)
	require.NoError(t, sub.Close())
}

// The table ends a subscription from within, its reader from outside: neither may wait for the other.
func TestFailWhileItsReaderCloses(t *testing.T) {
	many := make([]runtime.Change, 5000) // while they are applied the reader comes to close
	for i := range many {
		many[i] = set(strconv.Itoa(i), strconv.Itoa(i), true)
	}
	for range 50 {
		table := runtime.NewTable(nil)
		table.MarkSynced()
		ended := make(chan struct{})
		sub, err := table.Subscribe(func() { close(ended) }, runtime.Fail(1))
		require.NoError(t, err)
		told(sub)
		both := make(chan struct{})
		go func() {
			defer close(both)
			var running sync.WaitGroup
			running.Go(func() { table.Apply(many...) })
			running.Go(func() { _ = sub.Close() })
			running.Wait()
		}()
		select {
		case <-both:
		case <-time.After(soon):
			t.Fatal("they wait for each other")
		}
		<-ended
		table.Close(nil)
	}
}

// One reader of a hundred stalls while fifty thousand instances come and go: what is kept for it is bounded by the state.
func TestStalledReaderIsBoundedByState(t *testing.T) {
	const state, churn = 1000, 50_000
	heap := func() uint64 {
		goruntime.GC()
		goruntime.GC()
		var m goruntime.MemStats
		goruntime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for name, opts := range map[string][]runtime.SubscribeOption{"coalesce": nil, "block": {runtime.Block(64)}} {
		t.Run(name, func(t *testing.T) {
			table := runtime.NewTable(nil)
			for i := range state {
				table.Apply(set(fmt.Sprint(i), fmt.Sprint(i), true))
			}
			table.MarkSynced()
			sub, err := table.Subscribe(nil, opts...)
			require.NoError(t, err)
			defer func() { _ = sub.Close() }()
			told(sub)
			before := heap()
			for i := range churn {
				name, uid := fmt.Sprint(i%state), fmt.Sprint("churn-", i)
				table.Apply(removed(name, fmt.Sprint(i%state)), set(name, uid, true), removed(name, uid))
				table.Apply(set(name, fmt.Sprint(i%state), i%2 == 0))
			}
			pending, queued := sub.Backlog()
			assert.LessOrEqual(t, pending, state)
			assert.Less(t, queued, 3*state+200)
			// A reader that knows nothing of the present holds the state that it knew.
			assert.Less(t, int64(heap())-int64(before), int64(state*1500))
			goruntime.KeepAlive(table)
		})
	}
}

// What a stalled reader costs the others: one change at a time to 99 readers, with and without a hundredth that sleeps.
func BenchmarkStalledReader(b *testing.B) {
	const readers, state = 99, 1000
	var alone float64
	for _, stalled := range []int{0, 1} {
		b.Run(fmt.Sprintf("stalled=%d", stalled), func(b *testing.B) {
			table := runtime.NewTable(nil)
			for i := range state {
				table.Apply(set(fmt.Sprint(i), fmt.Sprint(i), true))
			}
			table.MarkSynced()
			for range stalled {
				sub, err := table.Subscribe(nil)
				require.NoError(b, err)
				defer func() { _ = sub.Close() }()
			}
			var heard, running sync.WaitGroup
			var mu sync.Mutex
			var took []time.Duration
			var subs []*runtime.Subscription
			heard.Add(readers)
			for range readers {
				sub, err := table.Subscribe(nil)
				require.NoError(b, err)
				subs = append(subs, sub)
				running.Go(func() {
					for ev, err := range sub.Events(b.Context()) {
						switch {
						case err != nil:
							return
						case ev.Type == runtime.Synced:
							heard.Done()
						case ev.Type != runtime.NewReady:
							d := time.Since(ev.At)
							mu.Lock()
							took = append(took, d)
							mu.Unlock()
							heard.Done()
						}
					}
				})
			}
			heard.Wait()
			i := 0
			for b.Loop() {
				uid := strconv.Itoa(i % state)
				heard.Add(readers)
				table.Apply(set(uid, uid, i/state%2 == 1))
				heard.Wait()
				i++
			}
			for _, sub := range subs {
				require.NoError(b, sub.Close())
			}
			running.Wait()
			slices.Sort(took)
			p99 := float64(took[len(took)*99/100].Microseconds())
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(p99, "p99-µs")
			if stalled == 0 {
				alone = p99
			} else {
				b.ReportMetric(p99/alone, "p99-ratio")
			}
		})
	}
}
