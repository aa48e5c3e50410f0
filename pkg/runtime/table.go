package runtime

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/dynawire/dynawire/pkg/runtime/internal/row"
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
	rows        row.Index[row.UID, row.Row]
	subscribers map[*Subscription]struct{}
	synced      chan struct{}
	done        chan struct{}
	isSynced    bool
	staleSince  time.Time
	closed      error
}

// revisions are those of all tables: a component that nobody follows for a while has another table afterwards, and what was
// cached must not pass for what it says.
var revisions atomic.Uint64

// NewTable returns a table that is not synced. The clock is for Event.At; nil means time.Now.
func NewTable(now func() time.Time) *Table {
	if now == nil {
		now = time.Now
	}
	return &Table{
		now:         now,
		rows:        row.ByUID(),
		subscribers: map[*Subscription]struct{}{},
		synced:      make(chan struct{}),
		done:        make(chan struct{}),
	}
}

// Change is one instance's new state.
type Change struct {
	// Instance is the new state; of a removed one only its ID is read. Its Revision is the table's to say, and metadata is the
	// same where its document is.
	Instance *Instance
	Removed  bool

	row *row.Row
}

// RowChange is a Change in this module's own compact form. The table keeps the row.
func RowChange(r *row.Row, removed bool) Change { return Change{row: r, Removed: removed} }

// State is the instance that the change leads to, or that it removes.
func (c Change) State() Instance {
	if c.row != nil {
		return instanceOf(c.row)
	}
	return *c.Instance
}

// Apply makes changes visible, in their order, all at once. Changes that change nothing are dropped.
func (t *Table) Apply(changes ...Change) {
	if len(changes) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed != nil {
		return
	}
	var now time.Time
	if t.isSynced {
		now = t.now()
	}
	for _, c := range changes {
		r := c.row
		if r == nil {
			r = rowOf(c.Instance)
		}
		uid := r.UID()
		old := t.rows.Get(uid)
		if !t.apply(old, r, c.Removed) || !t.isSynced {
			continue
		}
		for s := range t.subscribers {
			s.mark(uid, old, now)
		}
	}
	if !t.isSynced {
		return // nobody has been told anything
	}
	for s := range t.subscribers {
		if s.tooSlow() {
			s.fail()
		}
	}
}

func (t *Table) apply(old, r *row.Row, removed bool) bool {
	if removed {
		t.rows.Delete(r.UID())
		return old != nil
	}
	if r.Revision != 0 { // it has been in a table before, and readers may be at it
		r = r.With(r.Self)
	}
	if old != nil && old.SamePlace(r) && old.Self.Name() == r.Self.Name() && old.Self.Metadata.Same(&r.Self.Metadata) {
		if old.SameState(r) {
			return false
		}
		r.Revision = old.Revision
	} else {
		r.Revision = revisions.Add(1)
	}
	t.rows.Put(r)
	return true
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
	if t.closed == nil {
		t.staleSince = since
	}
}

// Lookup returns the instance with that UID.
func (t *Table) Lookup(uid string) (Instance, bool) {
	key, _ := row.ParseUID(uid)
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.rows.Get(key); r != nil {
		return instanceOf(r), true
	}
	return Instance{}, false
}

// all is called with mu held.
func (t *Table) all() []*row.Row {
	rows := make([]*row.Row, 0, t.rows.Len())
	for r := range t.rows.All() {
		rows = append(rows, r)
	}
	return rows
}

// Snapshot returns the current state.
func (t *Table) Snapshot() Snapshot {
	t.mu.Lock()
	rows := t.all()
	s := Snapshot{Synced: t.isSynced, StaleSince: t.staleSince}
	t.mu.Unlock()

	s.Instances = make([]Instance, len(rows))
	for i, r := range row.Sorted(rows) {
		s.Instances[i] = instanceOf(r)
	}
	return s
}

// Subscribe returns a new subscription. onClose, which may be nil, is called once, when the subscription or the table is
// closed.
func (t *Table) Subscribe(onClose func(), opts ...SubscribeOption) (*Subscription, error) {
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
		ended:   make(chan struct{}),
		behind:  map[row.UID]due{},
	}
	for _, opt := range opts {
		opt(&s.policy)
	}
	t.subscribers[s] = struct{}{}
	if t.isSynced {
		s.begin()
	}
	return s, nil
}

// Close ends every subscription with that error and takes no more changes. What is there is stale from then on.
func (t *Table) Close(err error) {
	now := t.now()
	t.mu.Lock()
	subscribers := t.subscribers
	t.subscribers = nil
	if t.closed == nil {
		t.closed = err
		close(t.done)
		if t.staleSince.IsZero() {
			t.staleSince = now
		}
	}
	t.mu.Unlock()
	for s := range subscribers {
		s.end(err)
	}
}
