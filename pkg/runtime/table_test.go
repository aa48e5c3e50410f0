package runtime_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/internal/row"
)

// A join says again what it said before something else was said in between: the row is in the hands of readers.
func TestRowThatComesBack(t *testing.T) {
	table := runtime.NewTable(nil)
	table.MarkSynced()
	sub := subscribed(t, table)
	self := row.NewSelf("a", "1", "", nil)
	first, other := row.New(self, row.Where{Node: "n1"}), row.New(self, row.Where{Node: "n2"})
	first.SetReady(true, false)
	other.SetReady(true, false)
	table.Apply(runtime.RowChange(first, false))
	assert.Equal(t, []string{"Synced", "NewReady 1"}, told(sub))

	var reading sync.WaitGroup
	stop := make(chan struct{})
	reading.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				table.Snapshot()
			}
		}
	})
	for range 1000 {
		table.Apply(runtime.RowChange(other, false))
		table.Apply(runtime.RowChange(first, false))
	}
	close(stop)
	reading.Wait()
	ev, ok := sub.Take()
	require.True(t, ok, "the revision has grown, and the reader knows the old one")
	assert.Equal(t, runtime.Updated, ev.Type)
	now, _ := table.Lookup("1")
	assert.Equal(t, now.Revision, ev.Instance.Revision)
}

// A component that nobody follows for a while is told anew in another table.
func TestRevisionsGrowFromTableToTable(t *testing.T) {
	var last uint64
	for _, port := range []string{`{"port":1}`, `{"port":2}`} {
		table := runtime.NewTable(nil)
		c := set("a", "1", true)
		c.Instance.Metadata = document(t, port)
		table.Apply(c)
		now, _ := table.Lookup("1")
		assert.Greater(t, now.Revision, last)
		last = now.Revision
	}
}

func TestWhatIsClosedIsStale(t *testing.T) {
	now := time.Now()
	table := runtime.NewTable(func() time.Time { return now })
	table.MarkSynced()
	sub := subscribed(t, table)
	assert.Zero(t, sub.Snapshot().StaleSince)
	table.Close(runtime.ErrClosed)
	table.SetStale(time.Time{}) // the source did not know yet
	assert.Equal(t, now, sub.Snapshot().StaleSince)

	lost := now.Add(-time.Minute)
	table = runtime.NewTable(nil)
	table.SetStale(lost)
	table.Close(runtime.ErrClosed)
	assert.Equal(t, lost, table.Snapshot().StaleSince)
}
