package runtime

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Table is the current state of one component and the place where its subscribers read it. A backend makes one per
// component that is followed, feeds it, and thereby gives its subscriptions the delivery that Discovery promises; programs
// that only use a backend never see it.
//
// All methods may be called from any goroutine; none of them waits for a subscriber. Changes of one instance must be
// applied in order, and an instance must be removed before another one of its pod's name is added.
type Table struct {
	now func() time.Time

	mu          sync.Mutex
	rows        map[string]*Instance // by UID; an Instance in it is never changed
	subscribers map[*Subscription]struct{}
	revision    uint64
	synced      chan struct{}
	done        chan struct{}
	isSynced    bool
	staleSince  time.Time
	closed      error
}

// NewTable returns a table that is not synced. The clock is for Event.At; nil means time.Now.
func NewTable(now func() time.Time) *Table {
	if now == nil {
		now = time.Now
	}
	return &Table{
		now:         now,
		rows:        map[string]*Instance{},
		subscribers: map[*Subscription]struct{}{},
		synced:      make(chan struct{}),
		done:        make(chan struct{}),
	}
}

// Change is one instance's new state.
type Change struct {
	// Instance is the new state; of a removed one only its ID is read. The table keeps it and fills in Revision: the caller
	// does not change it any more. Metadata is compared by pointer.
	Instance *Instance
	Removed  bool
}

// Apply makes changes visible, in their order, all at once. Changes that change nothing are dropped.
func (t *Table) Apply(changes ...Change) {
	if len(changes) == 0 {
		return
	}
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed != nil {
		return
	}
	for _, c := range changes {
		if t.apply(c) && t.isSynced {
			for s := range t.subscribers {
				s.mark(c.Instance.ID.UID, now)
			}
		}
	}
}

func (t *Table) apply(c Change) bool {
	uid := c.Instance.ID.UID
	old := t.rows[uid]
	if c.Removed {
		delete(t.rows, uid)
		return old != nil
	}
	row := c.Instance
	switch {
	case old == nil || !sameContent(old, row):
		t.revision++
		row.Revision = t.revision
	case old.Ready == row.Ready && old.Terminating == row.Terminating:
		return false
	default:
		row.Revision = old.Revision
	}
	t.rows[uid] = row
	return true
}

// sameContent compares all but the readiness.
func sameContent(a, b *Instance) bool {
	return a.ID == b.ID && a.Metadata == b.Metadata && a.Zone == b.Zone && a.Node == b.Node &&
		a.Namespace == b.Namespace && a.Component == b.Component && slices.Equal(a.Addresses, b.Addresses)
}

// MarkSynced says that the source has told everything once. Subscribers get their snapshot now.
func (t *Table) MarkSynced() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.isSynced || t.closed != nil {
		return
	}
	t.isSynced = true
	close(t.synced)
	for s := range t.subscribers {
		s.begin()
	}
}

// Synced is closed once MarkSynced was called. It stays open when the table is closed before.
func (t *Table) Synced() <-chan struct{} { return t.synced }

// Done is closed once Close was called.
func (t *Table) Done() <-chan struct{} { return t.done }

// SetStale records that contact with the source is lost since then; the zero time that it is back.
func (t *Table) SetStale(since time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.staleSince = since
}

// Lookup returns the instance with that UID.
func (t *Table) Lookup(uid string) (Instance, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if row := t.rows[uid]; row != nil {
		return *row, true
	}
	return Instance{}, false
}

// Snapshot returns the current state.
func (t *Table) Snapshot() Snapshot {
	t.mu.Lock()
	rows := make([]*Instance, 0, len(t.rows))
	for _, row := range t.rows {
		rows = append(rows, row)
	}
	s := Snapshot{Synced: t.isSynced, StaleSince: t.staleSince}
	t.mu.Unlock()

	slices.SortFunc(rows, func(a, b *Instance) int {
		return cmp.Or(cmp.Compare(a.ID.PodName, b.ID.PodName), cmp.Compare(a.ID.UID, b.ID.UID))
	})
	s.Instances = make([]Instance, len(rows))
	for i, row := range rows {
		s.Instances[i] = *row
	}
	return s
}

// Subscribe returns a new subscription. onClose, which may be nil, is called once, when the subscription or the table is
// closed.
func (t *Table) Subscribe(onClose func()) (*Subscription, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed != nil {
		return nil, t.closed
	}
	s := &Subscription{
		table:   t,
		onClose: onClose,
		wake:    make(chan struct{}, 1),
		done:    make(chan struct{}),
		synced:  make(chan struct{}),
		told:    map[string]*Instance{},
		pending: map[string]due{},
	}
	t.subscribers[s] = struct{}{}
	if t.isSynced {
		s.begin()
	}
	return s, nil
}

// Close ends every subscription with that error and takes no more changes.
func (t *Table) Close(err error) {
	t.mu.Lock()
	subscribers := t.subscribers
	t.subscribers = nil
	if t.closed == nil {
		t.closed = err
		close(t.done)
	}
	t.mu.Unlock()
	for s := range subscribers {
		s.end(err)
	}
}
