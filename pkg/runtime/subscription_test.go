package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func set(name, uid string, ready bool) runtime.Change {
	return runtime.Change{Instance: &runtime.Instance{ID: runtime.InstanceID{PodName: name, UID: uid}, Ready: ready}}
}

func removed(name, uid string) runtime.Change {
	return runtime.Change{Instance: &runtime.Instance{ID: runtime.InstanceID{PodName: name, UID: uid}}, Removed: true}
}

// told is everything that is due, as "NewReady a".
func told(sub *runtime.Subscription) []string {
	var out []string
	for {
		ev, ok := sub.Take()
		if !ok {
			return out
		}
		if ev.Type == runtime.Synced {
			out = append(out, "Synced")
			continue
		}
		out = append(out, string(ev.Type)+" "+ev.Instance.ID.UID)
	}
}

func subscribed(t testing.TB, table *runtime.Table) *runtime.Subscription {
	sub, err := table.Subscribe(nil)
	require.NoError(t, err)
	return sub
}

func TestNothingIsToldBeforeTheSourceHasToldEverything(t *testing.T) {
	table := runtime.NewTable(nil)
	sub := subscribed(t, table)
	table.Apply(set("a", "a", true), set("b", "b", false))
	assert.Empty(t, told(sub))
	table.MarkSynced()
	assert.Equal(t, []string{"NewReady a", "Synced"}, told(sub))
	late := subscribed(t, table)
	assert.Equal(t, []string{"NewReady a", "Synced"}, told(late))
}

func TestWhatFollowsWhat(t *testing.T) {
	table := runtime.NewTable(nil)
	table.MarkSynced()
	sub := subscribed(t, table)
	for _, step := range []struct {
		what   string
		change []runtime.Change
		told   []string
	}{
		{"nothing there", nil, []string{"Synced"}},
		{"first seen not ready", []runtime.Change{set("a", "1", false)}, nil},
		{"ready for the first time", []runtime.Change{set("a", "1", true)}, []string{"NewReady 1"}},
		{"the same again", []runtime.Change{set("a", "1", true)}, nil},
		{"not ready", []runtime.Change{set("a", "1", false)}, []string{"NotReady 1"}},
		{"ready again", []runtime.Change{set("a", "1", true)}, []string{"Ready 1"}},
		{"down and up unseen", []runtime.Change{set("a", "1", false), set("a", "1", true)}, nil},
		{"gone", []runtime.Change{removed("a", "1")}, []string{"Deleted 1"}},
		{"gone again", []runtime.Change{removed("a", "1")}, nil},
		{"back after it was told gone", []runtime.Change{set("a", "1", true)}, []string{"NewReady 1"}},
		{"another pod of the name, unseen in between", []runtime.Change{removed("a", "1"), set("a", "2", true)}, []string{"Deleted 1", "NewReady 2"}},
		{"come and gone unseen", []runtime.Change{set("b", "3", true), removed("b", "3")}, nil},
		{"gone without ever being ready", []runtime.Change{set("c", "4", false), removed("c", "4")}, nil},
	} {
		table.Apply(step.change...)
		assert.Equal(t, step.told, told(sub), step.what)
	}
}

func document(t testing.TB, text string) *runtime.Metadata {
	m, err := wire.Parse([]byte(text))
	require.NoError(t, err)
	return m
}

func TestUpdatedWhenMoreThanReadinessChanges(t *testing.T) {
	table := runtime.NewTable(nil)
	table.MarkSynced()
	sub := subscribed(t, table)
	c := set("a", "1", true)
	table.Apply(c)
	assert.Equal(t, []string{"Synced", "NewReady 1"}, told(sub))
	before, _ := table.Lookup("1")
	c = set("a", "1", true)
	c.Instance.Metadata = document(t, `{"a":1}`)
	table.Apply(c)
	assert.Equal(t, []string{"Updated 1"}, told(sub))
	after, _ := table.Lookup("1")
	assert.Greater(t, after.Revision, before.Revision)
	metadata := c.Instance.Metadata
	c = set("a", "1", false)
	c.Instance.Metadata = metadata
	table.Apply(c)
	still, _ := table.Lookup("1")
	assert.Equal(t, after.Revision, still.Revision)
}

func TestSleepingReaderHoldsStateAndNotEvents(t *testing.T) {
	table := runtime.NewTable(nil)
	table.MarkSynced()
	sub := subscribed(t, table)
	for i := range 100 {
		table.Apply(set(fmt.Sprint(i), fmt.Sprint(i), true))
	}
	told(sub)
	for i := range 100_000 {
		uid := fmt.Sprintf("churn-%d", i)
		table.Apply(set(uid, uid, true), set("7", "7", i%2 == 0), removed(uid, uid))
	}
	pending, queued := sub.Backlog()
	assert.Equal(t, 1, pending, "those of which the reader knows nothing new cost nothing")
	assert.Less(t, queued, 200)
	assert.Equal(t, []string{"NotReady 7"}, told(sub))
}

func TestReaders(t *testing.T) {
	table := runtime.NewTable(nil)
	table.Apply(set("a", "1", true))
	table.MarkSynced()

	t.Run("a loop that breaks and goes on", func(t *testing.T) {
		sub := subscribed(t, table)
		defer func() { _ = sub.Close() }()
		var got []runtime.EventType
		for range 2 {
			for ev, err := range sub.Events(t.Context()) {
				require.NoError(t, err)
				got = append(got, ev.Type)
				break
			}
		}
		assert.Equal(t, []runtime.EventType{runtime.NewReady, runtime.Synced}, got)
		<-sub.Synced()
	})
	t.Run("a loop whose context ends", func(t *testing.T) {
		sub := subscribed(t, table)
		defer func() { _ = sub.Close() }()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, cancel)
		n := 0
		for _, err := range sub.Events(ctx) {
			require.NoError(t, err)
			n++
		}
		assert.Equal(t, 2, n)
		require.NoError(t, sub.Err())
	})
	t.Run("a loop whose subscription is closed", func(t *testing.T) {
		sub := subscribed(t, table)
		time.AfterFunc(20*time.Millisecond, func() { _ = sub.Close() })
		for _, err := range sub.Events(t.Context()) {
			require.NoError(t, err)
		}
		require.NoError(t, sub.Err())
	})
	t.Run("a channel that nobody receives from", func(t *testing.T) {
		sub := subscribed(t, table)
		c := sub.C()
		time.Sleep(10 * time.Millisecond)
		require.NoError(t, sub.Close())
		_, open := <-c
		assert.False(t, open)
	})
	t.Run("a channel asked for after Close", func(t *testing.T) {
		sub := subscribed(t, table)
		require.NoError(t, sub.Close())
		_, open := <-sub.C()
		assert.False(t, open)
	})
	t.Run("a table that is closed", func(t *testing.T) {
		table := runtime.NewTable(nil)
		sub := subscribed(t, table)
		boom := errors.New("boom")
		table.Close(boom)
		table.Close(errors.New("later"))
		table.Apply(set("a", "1", true))
		for _, err := range sub.Events(t.Context()) {
			require.ErrorIs(t, err, boom)
		}
		_, err := table.Subscribe(nil)
		require.ErrorIs(t, err, boom)
		require.NoError(t, sub.Close())
	})
}

// One reader that sleeps must cost the others nothing, and many at once must not race.
func TestManyReadersAndAWriter(t *testing.T) {
	table := runtime.NewTable(nil)
	table.MarkSynced()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var readers sync.WaitGroup
	for range 8 {
		sub := subscribed(t, table)
		readers.Go(func() {
			defer func() { _ = sub.Close() }()
			for ev, err := range sub.Events(ctx) {
				if err != nil {
					break
				}
				if ev.Instance.ID.UID == "last" {
					return
				}
			}
			t.Error("the last event never came")
		})
	}
	sleeper := subscribed(t, table)
	for i := range 2000 {
		uid := fmt.Sprint(i % 50)
		if i%7 == 0 {
			table.Apply(removed(uid, uid))
		} else {
			table.Apply(set(uid, uid, i%3 != 0))
		}
	}
	table.Apply(set("last", "last", true))
	readers.Wait()
	require.NoError(t, sleeper.Close())
}
