package runtime

import (
	"maps"
	"time"

	"github.com/dynawire/dynawire/pkg/runtime/internal/row"
)

// A reader knows the table's rows but for those of the snapshot that it has yet to be told, and those that it is behind
// with. A reader that has kept up costs nothing.

// due says what the reader knows of an instance instead of the table's row. It has no place where there is nothing to tell:
// an instance that is not ready and never was in the reader's eyes.
type due struct {
	told  *row.Row // nil: nothing
	at    time.Time
	place uint64
}

// place is an instance's place in the queue. It is void unless the instance is due with that number.
type place struct {
	uid    row.UID
	number uint64
}

// happened is an event that is kept as it is.
type happened struct {
	typ EventType
	row *row.Row
	at  time.Time
}

// begin lays out the snapshot. Called with table.mu held, once.
func (s *Subscription) begin() {
	s.snapshot, s.began, s.since = s.table.all(), true, s.table.now()
	s.notify()
}

func (s *Subscription) notify() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// mark notes that an instance is no longer as old says, which is nil for one that is new. Called with table.mu held.
func (s *Subscription) mark(uid row.UID, old *row.Row, at time.Time) {
	if s.inSnapshot(uid) {
		return // it will be told as it then is
	}
	d, known := s.behind[uid]
	if !known {
		d.told = old
	}
	cur := s.table.rows.Get(uid)
	if s.policy.kind == block && !s.paused {
		if !s.began && len(s.log) < s.policy.limit {
			if typ, r := transition(d.told, cur); typ != "" {
				s.log = append(s.log, happened{typ, r, at})
				s.notify()
			}
			s.knows(uid, d.told, cur)
			return
		}
		s.paused = true
	}
	if d.told == nil && (cur == nil || !cur.Ready()) {
		// Nothing to tell. What comes and goes unseen must not pile up behind a reader that sleeps.
		if d.place != 0 {
			s.pending--
		}
		s.knows(uid, nil, cur)
		s.compact()
		return
	}
	if d.place == 0 {
		s.places++
		s.pending++
		d.place = s.places
		s.queue = append(s.queue, place{uid, d.place})
		s.notify()
	}
	d.at = at
	s.behind[uid] = d
}

// tooSlow says whether the subscription is to end. Called with table.mu held.
func (s *Subscription) tooSlow() bool { return s.policy.kind == fail && s.pending > s.policy.limit }

// inSnapshot says whether the instance is still to be told as a part of the snapshot.
func (s *Subscription) inSnapshot(uid row.UID) bool {
	if len(s.snapshot) == 0 {
		return false
	}
	if s.untold == nil { // the first change that a reader meets in the middle of its snapshot
		s.untold = make(map[row.UID]struct{}, len(s.snapshot))
		for _, r := range s.snapshot {
			s.untold[r.UID()] = struct{}{}
		}
	}
	_, untold := s.untold[uid]
	return untold
}

// knows notes that the reader, who was told that last, has nothing to be told until the next change.
func (s *Subscription) knows(uid row.UID, told, cur *row.Row) {
	if told == nil && cur != nil && !cur.Ready() {
		s.behind[uid] = due{}
	} else {
		delete(s.behind, uid)
	}
}

// compact drops void places once they are the greater part.
func (s *Subscription) compact() {
	if len(s.queue) < 2*s.pending+64 {
		return
	}
	kept := make([]place, 0, s.pending)
	for _, p := range s.queue {
		if s.behind[p.uid].place == p.number {
			kept = append(kept, p)
		}
	}
	s.queue = kept
}

// take returns the next event that is due now, if there is one.
func (s *Subscription) take() (Event, bool) {
	s.table.mu.Lock()
	typ, r, at := s.next()
	s.table.mu.Unlock()
	switch {
	case typ == "":
		return Event{}, false
	case r == nil:
		return Event{Type: typ, At: at}, true
	}
	ev := Event{Type: typ, Instance: instanceOf(r), At: at} // outside the lock
	if typ == Deleted {
		ev.Instance.Ready = false
	}
	return ev, true
}

// next is called with table.mu held.
func (s *Subscription) next() (EventType, *row.Row, time.Time) {
	for len(s.snapshot) > 0 {
		if r := s.nextOfSnapshot(); r != nil {
			return NewReady, r, s.since
		}
	}
	if s.began {
		s.began, s.snapshot, s.untold = false, nil, nil
		left := make(map[row.UID]due, len(s.behind))
		maps.Copy(left, s.behind) // let go of the snapshot's size
		s.behind = left
		return Synced, nil, s.table.now()
	}
	if len(s.log) > 0 {
		e := s.log[0]
		s.log[0] = happened{}
		s.log = s.log[1:]
		return e.typ, e.row, e.at
	}
	for len(s.queue) > 0 {
		p := s.queue[0]
		s.queue = s.queue[1:]
		d := s.behind[p.uid]
		if d.place != p.number {
			continue
		}
		s.pending--
		cur := s.table.rows.Get(p.uid)
		s.knows(p.uid, d.told, cur)
		if typ, r := transition(d.told, cur); typ != "" {
			return typ, r, d.at
		}
	}
	s.log, s.queue, s.paused = nil, nil, false // let go of the arrays
	return "", nil, time.Time{}
}

// nextOfSnapshot returns the next instance if it is ready, else nil.
func (s *Subscription) nextOfSnapshot() *row.Row {
	r := s.snapshot[0]
	s.snapshot = s.snapshot[1:]
	if s.untold != nil {
		uid := r.UID()
		delete(s.untold, uid)
		if r = s.table.rows.Get(uid); r == nil {
			return nil
		}
	}
	if !r.Ready() {
		s.knows(r.UID(), nil, r)
		return nil
	}
	return r
}

// transition is what turns what the reader knows of an instance into what is; empty where that is nothing.
func transition(old, cur *row.Row) (EventType, *row.Row) {
	switch {
	case old == nil && (cur == nil || !cur.Ready()):
		return "", nil
	case old == nil:
		return NewReady, cur
	case cur == nil:
		return Deleted, old
	case cur.Ready() && !old.Ready():
		return Ready, cur
	case !cur.Ready() && old.Ready():
		return NotReady, cur
	case cur.Revision != old.Revision:
		return Updated, cur
	default:
		return "", nil
	}
}
