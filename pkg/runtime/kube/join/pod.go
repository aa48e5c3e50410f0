package join

import (
	"slices"

	"github.com/dynawire/dynawire/pkg/runtime/internal/row"
)

// said makes a row of what a slice says of a pod.
func (s *State) said(self *row.Self, version uint64, e *Endpoint) *row.Row {
	r := row.New(self, row.Where{
		KubeNamespace: s.owner.KubeNamespace, Namespace: s.owner.Namespace, Component: s.owner.Component, Node: e.Node, Zone: e.Zone,
	})
	r.Version = version
	r.AddAddress(e.Address)
	r.SetReady(e.Ready, e.Terminating)
	return r
}

// repeats says whether the endpoint is what the row was made of.
func repeats(r *row.Row, e *Endpoint) bool {
	address := r.Four()
	if !address.IsValid() {
		address = r.Six()
	}
	where := r.Where()
	return r.Ready() == (e.Ready && !e.Terminating) && r.Terminating() == e.Terminating && address == e.Address &&
		where.Node == e.Node && where.Zone == e.Zone
}

// say notes that a slice says next of a pod, instead of old, which is nil where it said nothing; known is what was known of
// it. It returns all that is said of it now.
func (s *State) say(known, old, next *row.Row) []*row.Row {
	uid := next.UID()
	rows, shared := s.shared[uid]
	switch {
	case shared && old != nil:
		rows[slices.Index(rows, old)] = next
		return rows
	case shared:
		rows = append(rows, next)
	case old == nil && known != nil && !s.isMissing(known):
		rows = []*row.Row{known, next}
	default:
		return s.only(next)
	}
	s.shared[uid] = rows
	return rows
}

// unsay notes that a slice says nothing of a pod any more.
func (s *State) unsay(old *row.Row) []*row.Row {
	uid := old.UID()
	rows, shared := s.shared[uid]
	if !shared {
		return nil
	}
	at := slices.Index(rows, old)
	rows = slices.Delete(rows, at, at+1)
	if len(rows) > 1 {
		s.shared[uid] = rows
	} else {
		delete(s.shared, uid)
	}
	return rows
}

// publish makes the pod what is said of it and what it published, and notes the change if there is one.
func (s *State) publish(before *row.Row, rows []*row.Row, out *changes) {
	next := view(rows)
	self := s.registry.Lookup(next.Self.Name(), next.UID())
	shown := before != nil && before.Shown()
	if shown && self != nil {
		next = s.holdAddress(before, next, rows)
	} else {
		s.letGo(next.UID(), rows)
	}
	if self == nil {
		if shown {
			out.removed = append(out.removed, before)
		}
		s.keep(before, rows, next, next.Self, false)
		return
	}
	if shown && before.Self == self && before.SameState(next) {
		if next == rows[0] { // another slice's, and to be found there
			s.keep(before, rows, next, self, true)
		}
		return
	}
	out.set = append(out.set, s.keep(before, rows, next, self, true))
}

// keep makes next the row of the pod. A row that a table may have is not changed but replaced, where it was said too.
func (s *State) keep(before *row.Row, rows []*row.Row, next *row.Row, self *row.Self, shown bool) *row.Row {
	if next.Self != self || next.Shown() != shown {
		old := next
		if old.Shown() {
			next = old.With(self)
			if old == rows[0] {
				s.replace(old, next)
			}
		}
		next.Self = self
		next.SetShown(shown)
	}
	for _, r := range rows {
		if !r.Shown() {
			r.Self = self // let go of what the pod published before
		}
	}
	if next != before {
		s.pods.Put(next)
	}
	return next
}

// holdAddress returns next with the address that the pod had in a family of which no slice says anything any more, until
// that is Expired: while the controller rewrites the slices of a dual-stack Service, they list live pods in one family only.
func (s *State) holdAddress(before, next *row.Row, rows []*row.Row) *row.Row {
	uid := next.UID()
	lostFour := before.Four().IsValid() && !next.Four().IsValid() && next.Six().IsValid()
	lostSix := before.Six().IsValid() && !next.Six().IsValid() && next.Four().IsValid()
	since, held := s.partial[uid]
	switch {
	case !lostFour && !lostSix, held && since <= s.expired:
		s.letGo(uid, rows)
		return next
	case !held:
		s.stamp++
		s.partial[uid] = s.stamp
	}
	next = next.With(next.Self)
	next.SetShown(false)
	if lostFour {
		next.AddAddress(before.Four())
	} else {
		next.AddAddress(before.Six())
	}
	s.shared[uid] = slices.Clone(rows) // the row is none that a slice said
	return next
}

// letGo holds no address of the pod back any more. What a single slice says of it is the row itself again.
func (s *State) letGo(uid row.UID, rows []*row.Row) {
	delete(s.partial, uid)
	if len(rows) == 1 {
		delete(s.shared, uid)
	}
}

// replace looks through the slices: a row does not know its own, which would cost every instance a word, and another
// document of a pod that is known already is rare enough.
func (s *State) replace(old, next *row.Row) {
	for _, sl := range s.slices {
		if at := slices.Index(sl.rows, old); at >= 0 {
			sl.rows[at] = next
			return
		}
	}
}

// view merges what is said, of a single slice without a copy. The newest is believed, per address family for the address;
// terminating is believed of any, for nothing takes a deletion back.
func view(rows []*row.Row) *row.Row {
	if len(rows) == 1 {
		return rows[0]
	}
	newest, terminating := rows[0], false
	var four, six *row.Row
	for _, r := range rows {
		if r.Version >= newest.Version {
			newest = r
		}
		if r.Four().IsValid() && (four == nil || r.Version >= four.Version) {
			four = r
		}
		if r.Six().IsValid() && (six == nil || r.Version >= six.Version) {
			six = r
		}
		terminating = terminating || r.Terminating()
	}
	merged := newest.With(newest.Self)
	merged.SetShown(false)
	merged.SetReady(newest.Ready(), terminating)
	if four != nil {
		merged.AddAddress(four.Four())
	}
	if six != nil {
		merged.AddAddress(six.Six())
	}
	return merged
}
