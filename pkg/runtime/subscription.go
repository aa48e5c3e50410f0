package runtime

import (
	"context"
	"iter"
	"maps"
	"sync"
	"time"
)

// Subscription is one reader's view of a component. What has changed since it last read is kept as a set of instances, not
// as a list of events: a slow reader skips intermediate states, costs memory in proportion to the component, and delays
// nobody. It never misses a last state, nor that one instance went and another of its name came.
//
// The events of an instance come in order: NewReady, then NotReady and Ready in turn, with Updated in between, then
// Deleted. There is no order between instances, but for one: an instance is Deleted before one with the same pod name is
// NewReady. An instance that was never ready is never told of.
//
// A subscription has one reader: one loop over Events at a time, or one receiver of C.
type Subscription struct {
	table   *Table
	onClose func()
	wake    chan struct{}
	done    chan struct{}
	synced  chan struct{}

	// Guarded by table.mu.
	told    map[string]*Instance // by UID: what the reader was last told
	pending map[string]due       // by UID: changed since
	queue   []place              // the pending ones in the order of their first change; places of others are void
	places  uint64

	endOnce sync.Once
	err     error // set before done is closed
	chOnce  sync.Once
	ch      chan Event
	chDone  chan struct{}
}

// place is a UID's place in the queue. It is void unless the UID is pending with that number.
type place struct {
	uid    string
	number uint64
}

// due is a change that the reader has yet to be told.
type due struct {
	at    time.Time
	place uint64
}

// syncMark stands in the queue where Synced is due. It is no UID, and it is pending like one.
const syncMark = ""

// Events returns the events as they come. The loop ends when ctx ends, when the subscription is closed, or with an error
// when the client is closed; the error comes once, with a zero Event.
func (s *Subscription) Events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			ev, ok := s.next(ctx)
			switch {
			case ok:
				if !yield(ev, nil) {
					return
				}
			case ctx.Err() == nil && s.Err() != nil:
				yield(Event{}, s.Err())
				return
			default:
				return
			}
		}
	}
}

// C returns the events as a channel, for select. It is closed when the subscription ends; Err then says why. The first
// call starts a goroutine, which Close ends.
func (s *Subscription) C() <-chan Event {
	s.chOnce.Do(func() {
		s.ch, s.chDone = make(chan Event), make(chan struct{})
		go s.pump()
	})
	return s.ch
}

func (s *Subscription) pump() {
	defer close(s.chDone)
	defer close(s.ch)
	for {
		ev, ok := s.next(context.Background())
		if !ok {
			return
		}
		select {
		case s.ch <- ev:
		case <-s.done:
			return
		}
	}
}

// Synced is closed when the reader has been told everything that was there when the subscription began.
func (s *Subscription) Synced() <-chan struct{} { return s.synced }

// Snapshot is the component's state as it is now, which may be ahead of the events that were read.
func (s *Subscription) Snapshot() Snapshot { return s.table.Snapshot() }

// Err is nil while the subscription runs and after its own Close; else what ended it.
func (s *Subscription) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// Close ends the subscription and lets go of the watch if it was the last one. It waits for what it stops, and may be
// called more than once and from any goroutine.
func (s *Subscription) Close() error {
	s.end(nil)
	s.chOnce.Do(func() { // so that C after Close is a closed channel
		s.ch, s.chDone = make(chan Event), make(chan struct{})
		close(s.ch)
		close(s.chDone)
	})
	<-s.chDone
	return nil
}

func (s *Subscription) end(err error) {
	s.endOnce.Do(func() {
		s.err = err
		t := s.table
		t.mu.Lock()
		delete(t.subscribers, s)
		s.told, s.pending, s.queue = nil, nil, nil
		t.mu.Unlock()
		close(s.done)
		if s.onClose != nil {
			s.onClose()
		}
	})
}

// next waits for an event. It is not ok when ctx or the subscription ended.
func (s *Subscription) next(ctx context.Context) (Event, bool) {
	for {
		if ctx.Err() != nil {
			return Event{}, false
		}
		if ev, ok := s.take(); ok {
			if ev.Type == Synced {
				close(s.synced)
			}
			return ev, true
		}
		select {
		case <-s.wake:
		case <-s.done:
			return Event{}, false
		case <-ctx.Done():
			return Event{}, false
		}
	}
}

// begin queues the snapshot and the mark behind it. Called with table.mu held, once.
func (s *Subscription) begin() {
	now := s.table.now()
	for uid := range s.table.rows {
		s.mark(uid, now)
	}
	s.enqueue(syncMark, now)
}

// mark notes that an instance changed. Called with table.mu held.
func (s *Subscription) mark(uid string, at time.Time) {
	if cur := s.table.rows[uid]; s.told[uid] == nil && (cur == nil || !cur.Ready) {
		// Nothing to tell. What comes and goes unseen must not pile up behind a reader that sleeps.
		delete(s.pending, uid)
		s.compact()
		return
	}
	s.enqueue(uid, at)
}

func (s *Subscription) enqueue(uid string, at time.Time) {
	d, queued := s.pending[uid]
	if !queued {
		s.places++
		d.place = s.places
		s.queue = append(s.queue, place{uid, d.place})
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
	d.at = at
	s.pending[uid] = d
}

// compact drops void places once they are the greater part.
func (s *Subscription) compact() {
	if len(s.queue) < 2*len(s.pending)+64 {
		return
	}
	kept := make([]place, 0, len(s.pending))
	for _, p := range s.queue {
		if s.pending[p.uid].place == p.number {
			kept = append(kept, p)
		}
	}
	s.queue = kept
}

// take returns the next event that is due now, if there is one.
func (s *Subscription) take() (Event, bool) {
	s.table.mu.Lock()
	defer s.table.mu.Unlock()
	for len(s.queue) > 0 {
		p := s.queue[0]
		s.queue = s.queue[1:]
		d := s.pending[p.uid]
		if d.place != p.number {
			continue
		}
		delete(s.pending, p.uid)
		if p.uid == syncMark {
			left := make(map[string]due, len(s.pending)) // the snapshot is told: let go of its size
			maps.Copy(left, s.pending)
			s.pending = left
			return Event{Type: Synced, At: s.table.now()}, true
		}
		if typ, inst := s.transition(p.uid); typ != "" {
			return Event{Type: typ, Instance: inst, At: d.at}, true
		}
	}
	s.queue = nil // let go of the array
	return Event{}, false
}

// transition compares what the reader knows of an instance with what is, and notes that it knows now.
func (s *Subscription) transition(uid string) (EventType, Instance) {
	old, cur := s.told[uid], s.table.rows[uid]
	switch {
	case old == nil && (cur == nil || !cur.Ready):
		return "", Instance{}
	case cur == nil:
		delete(s.told, uid)
		gone := *old
		gone.Ready = false
		return Deleted, gone
	}
	s.told[uid] = cur
	switch {
	case old == nil:
		return NewReady, *cur
	case cur.Ready && !old.Ready:
		return Ready, *cur
	case !cur.Ready && old.Ready:
		return NotReady, *cur
	case cur.Revision != old.Revision:
		return Updated, *cur
	default:
		return "", Instance{}
	}
}
