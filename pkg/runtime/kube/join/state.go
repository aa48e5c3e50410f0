// Package join turns what EndpointSlices and DynamoWorkerMetadata say into the instances of a component. It is pure: no
// clients, no time, no goroutines; its callers serialise the calls.
//
// An instance is a pod (by UID) that is in at least one slice and whose metadata is in the Registry. A pod may be in
// several slices at once: one per address family, and while the controller moves it two of the same family. It may
// also be in none for a moment, which is why a pod that vanishes without having been terminating is only missing until the
// caller Expires it.
package join

import (
	"net/netip"
	"strings"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/internal/row"
)

// Slice is what matters of one EndpointSlice. Its strings are not kept.
type Slice struct {
	Name string
	// Version grows with every write of the slice (its resource version). Where two slices contradict each other about a pod,
	// the one that was seen to change last is believed.
	Version   uint64
	Endpoints []Endpoint
}

// Endpoint is a pod's entry in a slice.
type Endpoint struct {
	PodName string
	PodUID  string
	Address netip.Addr
	// Ready is whether to send it traffic: already false where the endpoint is not serving or terminating.
	Ready       bool
	Terminating bool
	Node        string
	Zone        string
}

// Owner is what the instances of a State have in common.
type Owner struct {
	// KubeNamespace is the Kubernetes namespace of the pods.
	KubeNamespace string
	// Namespace and Component are Dynamo's.
	Namespace string
	Component string
}

// State is one component's slices joined with the metadata of its pods.
type State struct {
	owner    Owner
	registry *Registry

	slices map[string]*slice
	// pods holds what is known of each pod. What a single slice says of it is the row itself, once it is Shown an instance.
	pods row.Index[row.UID, row.Row]
	// shared holds what is said of the pods that several slices list: one per address family, or two while they move.
	shared map[row.UID][]*row.Row
	// missing holds the instances that no slice lists any more, by pod name: a pod of the same name ends the wait.
	missing map[string]missing
	// partial holds the stamps of those that have lost one of their addresses.
	partial map[row.UID]uint64

	generation uint64 // of the last BeginReplace
	sweeping   bool
	stamp      uint64 // of the last pod that went missing, or an address of it
	expired    uint64 // the last stamp that was given up

	one    [1]*row.Row
	uids   []row.UID // of the slice in hand
	listed map[row.UID]listing
}

type slice struct {
	rows       []*row.Row // what it says, each pod once
	generation uint64
}

type missing struct {
	row   *row.Row
	since uint64 // a stamp
}

// listing is where a pod stood in a slice, and stands.
type listing struct{ before, now *row.Row }

// NewState returns an empty state that looks metadata up in the registry.
func NewState(o Owner, r *Registry) *State {
	return &State{
		owner: o, registry: r, pods: row.ByUID(),
		slices: map[string]*slice{}, shared: map[row.UID][]*row.Row{}, missing: map[string]missing{}, partial: map[row.UID]uint64{},
		listed: map[row.UID]listing{},
	}
}

// SetSlice takes a slice as it is now, whatever it was before: the controller gives freed slices new endpoints.
func (s *State) SetSlice(in Slice) []runtime.Change {
	sl := s.slices[in.Name]
	if sl == nil {
		sl = &slice{}
		s.slices[strings.Clone(in.Name)] = sl
	}
	sl.generation = s.generation
	s.uids = s.uids[:0]
	for i := range in.Endpoints {
		uid, _ := row.ParseUID(in.Endpoints[i].PodUID)
		s.uids = append(s.uids, uid)
	}
	var out changes
	if s.samePods(sl) {
		s.update(sl, &in, &out)
	} else {
		s.rebuild(sl, &in, &out)
	}
	return out.ordered()
}

// samePods says whether the slice in hand lists the same pods as before, in the same order: the common case.
func (s *State) samePods(sl *slice) bool {
	if len(sl.rows) != len(s.uids) {
		return false
	}
	for i, r := range sl.rows {
		if r.UID() != s.uids[i] {
			return false
		}
	}
	return true
}

func (s *State) update(sl *slice, in *Slice, out *changes) {
	for i := range in.Endpoints {
		if old := sl.rows[i]; !repeats(old, &in.Endpoints[i]) {
			next := s.said(old.Self, in.Version, &in.Endpoints[i])
			sl.rows[i] = next
			before := s.pods.Get(next.UID())
			s.settle(next, before, s.say(before, old, next), out)
		}
	}
}

func (s *State) rebuild(sl *slice, in *Slice, out *changes) {
	before := sl.rows
	pods := s.listed
	clear(pods)
	for _, r := range before {
		pods[r.UID()] = listing{before: r}
	}
	order := make([]row.UID, 0, len(s.uids))
	for i, uid := range s.uids {
		e := &in.Endpoints[i]
		if e.PodUID == "" {
			continue
		}
		l := pods[uid]
		if l.now == nil {
			order = append(order, uid)
		}
		switch {
		case l.before != nil && repeats(l.before, e):
			l.now = l.before
		case l.before != nil:
			l.now = s.said(l.before.Self, in.Version, e)
		default:
			l.now = s.said(s.self(uid, e), in.Version, e)
		}
		pods[uid] = l
	}
	sl.rows = make([]*row.Row, 0, len(order))
	for _, uid := range order {
		sl.rows = append(sl.rows, pods[uid].now)
	}
	for _, r := range before {
		if pods[r.UID()].now == nil {
			s.settle(r, s.pods.Get(r.UID()), s.unsay(r), out)
		}
	}
	for i := range sl.rows {
		if l := pods[order[i]]; l.now != l.before {
			before := s.pods.Get(order[i])
			s.settle(l.now, before, s.say(before, l.before, l.now), out)
		}
	}
}

// self is who the pod is, for a slice that did not list it before.
func (s *State) self(uid row.UID, e *Endpoint) *row.Self {
	if known := s.pods.Get(uid); known != nil {
		return known.Self
	}
	if self := s.registry.Lookup(e.PodName, uid); self != nil {
		return self
	}
	return row.NewSelf(e.PodName, e.PodUID, "", nil)
}

// DeleteSlice takes a slice away.
func (s *State) DeleteSlice(name string) []runtime.Change {
	sl := s.slices[name]
	if sl == nil {
		return nil
	}
	delete(s.slices, name)
	var out changes
	for _, r := range sl.rows {
		s.settle(r, s.pods.Get(r.UID()), s.unsay(r), &out)
	}
	return out.ordered()
}

// BeginReplace starts a list of all slices that there are: between it and EndReplace each of them is Set.
func (s *State) BeginReplace() {
	s.generation++
	s.sweeping = true
}

// EndReplace deletes the slices that were not Set since BeginReplace.
func (s *State) EndReplace() []runtime.Change {
	if !s.sweeping {
		return nil
	}
	s.sweeping = false
	var out []runtime.Change
	for name, sl := range s.slices {
		if sl.generation != s.generation {
			out = append(out, s.DeleteSlice(name)...)
		}
	}
	return out
}

// Touch looks again at pods whose metadata changed. Pods of other components are none of its business.
func (s *State) Touch(pods []row.UID) []runtime.Change {
	var out changes
	for _, uid := range pods {
		if r := s.pods.Get(uid); r != nil {
			s.settle(r, r, s.all(r), &out)
		}
	}
	return out.ordered()
}

// Missing is a stamp of the instance, or address of one, that went missing last. When it grows, the caller remembers it and
// Expires it after its grace.
func (s *State) Missing() uint64 { return s.stamp }

// Expire gives up the instances and addresses that have been missing since that stamp or before.
func (s *State) Expire(stamp uint64) []runtime.Change {
	var out changes
	s.expired = max(s.expired, stamp)
	for uid, since := range s.partial {
		if r := s.pods.Get(uid); since <= stamp && r != nil {
			s.settle(r, r, s.all(r), &out)
		}
	}
	for _, m := range s.missing {
		if m.since <= stamp {
			s.remove(m.row, &out)
		}
	}
	return out.ordered()
}

func (s *State) isMissing(r *row.Row) bool { return s.missing[r.Self.Name()].row == r }

// all returns what is said of a pod.
func (s *State) all(r *row.Row) []*row.Row {
	if rows, shared := s.shared[r.UID()]; shared || s.isMissing(r) {
		return rows
	}
	return s.only(r)
}

// only is a list of one, valid until the next.
func (s *State) only(r *row.Row) []*row.Row {
	s.one[0] = r
	return s.one[:]
}

// settle brings a pod's instance in line with what is said of it, and drops pods of which nothing is. The row r says which
// pod, before is what was known of it.
func (s *State) settle(r, before *row.Row, rows []*row.Row, out *changes) {
	name := r.Self.Name()
	held := s.missing[name].row
	switch {
	case len(rows) > 0:
		if held == before {
			delete(s.missing, name)
		} else if held != nil {
			s.remove(held, out) // whoever had the name before is gone for good
		}
		s.publish(before, rows, out)
	case before == nil:
	case !before.Shown() || before.Terminating() || s.registry.Lookup(name, r.UID()) == nil:
		s.remove(before, out)
	case held != before:
		if held != nil {
			s.remove(held, out)
		}
		s.stamp++
		s.missing[before.Self.Name()] = missing{before, s.stamp}
	}
}

// remove forgets a pod of which nothing is said.
func (s *State) remove(r *row.Row, out *changes) {
	if r.Shown() {
		out.removed = append(out.removed, r)
	}
	if s.isMissing(r) {
		delete(s.missing, r.Self.Name())
	}
	delete(s.partial, r.UID())
	s.pods.Delete(r.UID())
}

// changes collects what came of one call, removals apart: an instance must be gone before another one of its name comes.
type changes struct{ removed, set []*row.Row }

func (c *changes) ordered() []runtime.Change {
	if len(c.removed)+len(c.set) == 0 {
		return nil
	}
	all := make([]runtime.Change, 0, len(c.removed)+len(c.set))
	for _, r := range c.removed {
		all = append(all, runtime.RowChange(r, true))
	}
	for _, r := range c.set {
		all = append(all, runtime.RowChange(r, false))
	}
	return all
}
