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
	"unique"

	"github.com/dynawire/dynawire/pkg/runtime"
)

// Slice is what matters of one EndpointSlice.
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
	pods   map[string]*pod // by UID
	// missing holds the instances that no slice lists any more, by pod name: a pod of the same name ends the wait.
	missing map[string]*pod

	generation uint64 // of the last BeginReplace
	sweeping   bool
	mark       uint64 // of the last SetSlice
	stamp      uint64 // of the last pod that went missing
}

type slice struct {
	name       string
	pods       []*pod
	generation uint64
}

// pod is everything known of one pod. Most have one ref.
type pod struct {
	name, uid    string
	refs         []ref
	instance     *runtime.Instance // as it was last returned; nil where it is none
	missingSince uint64            // a stamp; 0 while a slice lists it
	dirty        bool              // a slice says something new of it
}

// ref is what one slice says of a pod.
type ref struct {
	slice       *slice
	version     uint64 // of the slice when this last changed
	mark        uint64 // of the SetSlice that last mentioned it
	address     netip.Addr
	node, zone  string
	ready       bool
	terminating bool
}

// NewState returns an empty state that looks metadata up in the registry.
func NewState(o Owner, r *Registry) *State {
	return &State{
		owner: o, registry: r,
		slices: map[string]*slice{}, pods: map[string]*pod{}, missing: map[string]*pod{},
	}
}

// SetSlice takes a slice as it is now, whatever it was before: the controller gives freed slices new endpoints.
func (s *State) SetSlice(in Slice) []runtime.Change {
	sl := s.slices[in.Name]
	if sl == nil {
		sl = &slice{name: in.Name}
		s.slices[in.Name] = sl
	}
	sl.generation = s.generation
	s.mark++
	before := sl.pods
	sl.pods = make([]*pod, 0, len(in.Endpoints))
	for _, e := range in.Endpoints {
		if e.PodUID == "" {
			continue
		}
		p := s.pods[e.PodUID]
		if p == nil {
			p = &pod{name: e.PodName, uid: e.PodUID}
			s.pods[e.PodUID] = p
		}
		if p.set(sl, in.Version, s.mark, e) {
			sl.pods = append(sl.pods, p)
		}
	}
	var out changes
	for _, p := range before {
		if p.dropUnless(sl, s.mark) {
			s.settle(p, &out)
		}
	}
	for _, p := range sl.pods {
		if p.dirty {
			s.settle(p, &out)
		}
	}
	return out.ordered()
}

// DeleteSlice takes a slice away.
func (s *State) DeleteSlice(name string) []runtime.Change {
	sl := s.slices[name]
	if sl == nil {
		return nil
	}
	delete(s.slices, name)
	s.mark++
	var out changes
	for _, p := range sl.pods {
		p.dropUnless(sl, s.mark)
		s.settle(p, &out)
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
func (s *State) Touch(podUIDs []string) []runtime.Change {
	var out changes
	for _, uid := range podUIDs {
		if p := s.pods[uid]; p != nil {
			s.settle(p, &out)
		}
	}
	return out.ordered()
}

// Missing is a stamp of the instance that went missing last. When it grows, the caller remembers it and Expires it after
// its grace.
func (s *State) Missing() uint64 { return s.stamp }

// Expire gives up the instances that have been missing since that stamp or before.
func (s *State) Expire(stamp uint64) []runtime.Change {
	var out changes
	for _, p := range s.missing {
		if p.missingSince <= stamp {
			s.remove(p, &out)
		}
	}
	return out.ordered()
}

// settle brings a pod's instance in line with what is known, and drops pods of which nothing is.
func (s *State) settle(p *pod, out *changes) {
	p.dirty = false
	metadata := s.registry.Lookup(p.name, p.uid)
	switch {
	case len(p.refs) == 0 && (p.instance == nil || p.instance.Terminating || metadata == nil):
		s.remove(p, out)
	case len(p.refs) == 0:
		if p.missingSince == 0 {
			if old := s.missing[p.name]; old != nil {
				s.remove(old, out)
			}
			s.stamp++
			p.missingSince = s.stamp
			s.missing[p.name] = p
		}
	default:
		// Whoever had the name before is gone for good.
		if old := s.missing[p.name]; old != nil && old != p {
			s.remove(old, out)
		}
		if p.missingSince != 0 {
			p.missingSince = 0
			delete(s.missing, p.name)
		}
		s.publish(p, metadata, out)
	}
}

func (s *State) remove(p *pod, out *changes) {
	if p.instance != nil {
		out.removed = append(out.removed, runtime.Change{Instance: p.instance, Removed: true})
		p.instance = nil
	}
	if s.missing[p.name] == p {
		delete(s.missing, p.name)
	}
	if len(p.refs) == 0 {
		delete(s.pods, p.uid)
	}
}

// changes collects what came of one call, removals apart: an instance must be gone before another one of its name comes.
type changes struct{ removed, set []runtime.Change }

func (c *changes) ordered() []runtime.Change { return append(c.removed, c.set...) }

func intern(s string) string { return unique.Make(s).Value() }
