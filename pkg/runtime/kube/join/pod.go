package join

import (
	"net/netip"
	"slices"

	"github.com/dynawire/dynawire/pkg/runtime"
)

// set notes what a slice says of the pod. It is true for the first mention in this SetSlice.
func (p *pod) set(sl *slice, version, mark uint64, e Endpoint) bool {
	next := ref{
		slice: sl, version: version, mark: mark, address: e.Address,
		node: e.Node, zone: e.Zone, ready: e.Ready && !e.Terminating, terminating: e.Terminating,
	}
	for i := range p.refs {
		old := &p.refs[i]
		if old.slice != sl {
			continue
		}
		first := old.mark != mark
		if old.same(&next) {
			old.mark = mark
			return first
		}
		*old = next
		p.changed(old)
		return first
	}
	p.refs = append(p.refs, next)
	p.changed(&p.refs[len(p.refs)-1])
	return true
}

func (p *pod) changed(r *ref) {
	p.dirty = true
	// Nodes and zones are few, and their names would come with every slice anew.
	r.node, r.zone = intern(r.node), intern(r.zone)
}

// same compares what is said, not when.
func (r *ref) same(o *ref) bool {
	return r.address == o.address && r.node == o.node && r.zone == o.zone && r.ready == o.ready && r.terminating == o.terminating
}

// dropUnless forgets what the slice said unless it said it in that SetSlice. It is true if there was something to forget.
func (p *pod) dropUnless(sl *slice, mark uint64) bool {
	for i := range p.refs {
		if p.refs[i].slice == sl && p.refs[i].mark != mark {
			p.refs = slices.Delete(p.refs, i, i+1)
			return true
		}
	}
	return false
}

// publish makes the instance what the refs and the metadata say, and notes the change if there is one.
func (s *State) publish(p *pod, metadata *runtime.Metadata, out *changes) {
	if metadata == nil {
		if p.instance != nil {
			out.removed = append(out.removed, runtime.Change{Instance: p.instance, Removed: true})
			p.instance = nil
		}
		return
	}
	next := s.view(p, metadata)
	if old := p.instance; old != nil && sameInstance(old, next) {
		return
	}
	p.instance = next
	out.set = append(out.set, runtime.Change{Instance: next})
}

// view merges the refs. The newest is believed, per address family for the address; terminating is believed of any, for
// nothing takes a deletion back.
func (s *State) view(p *pod, metadata *runtime.Metadata) *runtime.Instance {
	newest, v4, v6 := &p.refs[0], (*ref)(nil), (*ref)(nil)
	terminating := false
	for i := range p.refs {
		r := &p.refs[i]
		if r.version >= newest.version {
			newest = r
		}
		family := &v6
		if r.address.Is4() {
			family = &v4
		}
		if r.address.IsValid() && (*family == nil || r.version >= (*family).version) {
			*family = r
		}
		terminating = terminating || r.terminating
	}
	var addresses []netip.Addr
	for _, r := range [...]*ref{v4, v6} {
		if r != nil {
			addresses = append(addresses, r.address)
		}
	}
	return &runtime.Instance{
		ID:        runtime.InstanceID{Namespace: s.owner.KubeNamespace, PodName: p.name, UID: p.uid},
		Namespace: s.owner.Namespace, Component: s.owner.Component,
		Ready: newest.ready && !terminating, Terminating: terminating,
		Addresses: addresses, Zone: newest.zone, Node: newest.node,
		Endpoints: metadata.Endpoints, Metadata: metadata,
	}
}

func sameInstance(a, b *runtime.Instance) bool {
	return a.Ready == b.Ready && a.Terminating == b.Terminating && a.Metadata == b.Metadata &&
		a.Zone == b.Zone && a.Node == b.Node && slices.Equal(a.Addresses, b.Addresses)
}
