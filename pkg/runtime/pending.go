package runtime

import (
	"maps"
	"time"
)

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
