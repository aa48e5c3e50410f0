package kube

import (
	"time"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/kube/join"
)

// A component is the sink of its slices' follower: what it hears goes through the join into the table.
var _ sink = (*component)(nil)

// apply publishes changes and sees to it that what went missing is given up in time. Called with client.join held.
func (comp *component) apply(changes []runtime.Change) {
	if comp.stopped {
		return
	}
	comp.table.Apply(changes...)
	if stamp := comp.state.Missing(); stamp > comp.armed {
		comp.armed = stamp
		comp.arm(stamp)
	}
}

// arm gives up what is missing since that stamp or before, after the grace. Called with client.join held.
func (comp *component) arm(stamp uint64) {
	c := comp.client
	if c.cfg.Grace < 0 {
		comp.table.Apply(comp.state.Expire(stamp)...)
		return
	}
	c.clock.AfterFunc(c.cfg.Grace, func() {
		c.join.Lock()
		defer c.join.Unlock()
		switch {
		case comp.stopped:
		case !comp.staleSince.IsZero() || c.clock.Since(comp.contactSince) < c.cfg.Grace:
			// The slice that lists them again may be what we cannot hear, or have not heard yet.
			comp.arm(stamp)
		default:
			comp.table.Apply(comp.state.Expire(stamp)...)
		}
	})
}

// markSynced lets the readers in once both sides have told everything. Called with client.join held.
func (comp *component) markSynced() {
	if comp.slicesSynced && comp.metadata.synced {
		comp.table.MarkSynced()
	}
}

// refreshStale passes on since when either side is out of contact. Called with client.join held.
func (comp *component) refreshStale() {
	since := comp.staleSince
	if m := comp.metadata.staleSince; since.IsZero() || !m.IsZero() && m.Before(since) {
		since = m
	}
	comp.table.SetStale(since)
}

func (comp *component) locked(f func()) {
	comp.client.join.Lock()
	defer comp.client.join.Unlock()
	f()
}

func (comp *component) begin() { comp.locked(comp.state.BeginReplace) }

func (comp *component) end() {
	comp.locked(func() {
		comp.apply(comp.state.EndReplace())
		comp.slicesSynced, comp.staleSince = true, time.Time{} // whoever is let in now must not find it out of contact
		comp.refreshStale()
		comp.markSynced()
	})
}

func (comp *component) set(object string) (string, error) {
	return comp.read(object, func(slice join.Slice) []runtime.Change { return comp.state.SetSlice(slice) })
}

func (comp *component) flush() {} // a slice holds many endpoints already

func (comp *component) remove(object string) (string, error) {
	return comp.read(object, func(slice join.Slice) []runtime.Change { return comp.state.DeleteSlice(slice.Name) })
}

func (comp *component) read(object string, change func(join.Slice) []runtime.Change) (string, error) {
	slice, version, err := comp.reader(object, comp.endpoints)
	if err != nil {
		return "", err
	}
	comp.locked(func() { comp.apply(change(slice)) })
	clear(slice.Endpoints) // they share memory with the text
	comp.endpoints = slice.Endpoints
	return version, nil
}

func (comp *component) contact(ok bool) {
	comp.locked(func() {
		now := comp.client.clock.Now()
		if ok && !comp.staleSince.IsZero() {
			comp.contactSince = now
		}
		comp.staleSince = staleSince(comp.staleSince, ok, now)
		comp.refreshStale()
	})
}

// staleSince keeps the moment when contact was first lost.
func staleSince(before time.Time, contact bool, now time.Time) time.Time {
	switch {
	case contact:
		return time.Time{}
	case before.IsZero():
		return now
	default:
		return before
	}
}
