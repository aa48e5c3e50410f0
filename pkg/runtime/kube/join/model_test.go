package join_test

import (
	"maps"
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/kube/join"
)

// model is told the same as a State and works out naively what there must be.
type model struct {
	state    *join.State
	registry *join.Registry
	shown    map[string]instance // what the State has told, by UID

	version uint64
	slices  map[string]map[string]listing // by name and UID
	objects map[string]join.Object        // by name, with the last document that could be read
}

// listing is what a slice says of a pod, and the version since which it says so.
type listing struct {
	join.Endpoint
	since uint64
}

// instance is what is compared.
type instance struct {
	pod, node, document string
	ready, terminating  bool
	four, six           string
}

// podOf has two pods that have the same name one after the other.
var podOf = map[string]string{"a1": "a", "a2": "a", "b1": "b"}

// addressesOf has two slices of a family, between which pods move, and one of the other.
var addressesOf = map[string][]string{
	"s": {"192.0.2.1", "192.0.2.2"}, "t": {"192.0.2.1", "192.0.2.2"}, "six": {"2001:db8::1", "2001:db8::2"},
}

var modelUIDs, modelSlices, modelNames = []string{"a1", "a2", "b1"}, []string{"s", "t", "six"}, []string{"a", "b"}

func newModel() *model {
	r := join.NewRegistry()
	return &model{
		state:    join.NewState(join.Owner{KubeNamespace: "llm", Namespace: "dynamo", Component: "backend"}, r),
		registry: r, shown: map[string]instance{}, slices: map[string]map[string]listing{}, objects: map[string]join.Object{},
	}
}

func (m *model) setSlice(t *rapid.T, name string) {
	m.version++
	in, now := join.Slice{Name: name, Version: m.version}, map[string]listing{}
	for _, uid := range modelUIDs {
		is := rapid.SampledFrom([]string{"absent", "absent", "ready", "not ready", "terminating"}).Draw(t, name+" "+uid)
		if is == "absent" {
			continue
		}
		l := listing{since: m.version, Endpoint: join.Endpoint{
			PodName: podOf[uid], PodUID: uid, Ready: is == "ready", Terminating: is == "terminating",
			Address: netip.MustParseAddr(rapid.SampledFrom(addressesOf[name]).Draw(t, "address")),
			Node:    rapid.SampledFrom([]string{"", "n"}).Draw(t, "node"),
		}}
		in.Endpoints = append(in.Endpoints, l.Endpoint)
		if before, was := m.slices[name][uid]; was && before.Endpoint == l.Endpoint {
			l.since = before.since
		}
		now[uid] = l
	}
	m.slices[name] = now
	m.apply(t, m.state.SetSlice(in))
}

func (m *model) changeSlice(t *rapid.T) {
	m.setSlice(t, rapid.SampledFrom(modelSlices).Draw(t, "slice"))
}

func (m *model) deleteSlice(t *rapid.T) {
	name := rapid.SampledFrom(modelSlices).Draw(t, "slice")
	delete(m.slices, name)
	m.apply(t, m.state.DeleteSlice(name))
}

func (m *model) listSlices(t *rapid.T) {
	m.state.BeginReplace()
	names := rapid.SliceOfDistinct(rapid.SampledFrom(modelSlices), rapid.ID).Draw(t, "slices")
	for _, name := range names {
		m.setSlice(t, name)
	}
	maps.DeleteFunc(m.slices, func(name string, _ map[string]listing) bool { return !slices.Contains(names, name) })
	m.apply(t, m.state.EndReplace())
}

func (m *model) setObject(t *rapid.T, name string) {
	o := join.Object{
		Name: name, UID: rapid.SampledFrom([]string{"first", "second"}).Draw(t, "object"),
		PodUID:   rapid.SampledFrom(append([]string{""}, modelUIDs...)).Draw(t, "owner"),
		Document: rapid.SampledFrom([]string{`{"v":1}`, `{"v":2}`, ""}).Draw(t, "document"),
	}
	touched := m.registry.Set(o)
	if old := m.objects[name]; o.Document == "" && old.UID == o.UID && old.PodUID == o.PodUID {
		o.Document = old.Document
	}
	m.objects[name] = o
	m.apply(t, m.state.Touch(touched))
}

func (m *model) changeObject(t *rapid.T) {
	m.setObject(t, rapid.SampledFrom(modelNames).Draw(t, "name"))
}

func (m *model) deleteObject(t *rapid.T) {
	name := rapid.SampledFrom(modelNames).Draw(t, "name")
	delete(m.objects, name)
	m.apply(t, m.state.Touch(m.registry.Delete(name)))
}

func (m *model) listObjects(t *rapid.T) {
	m.registry.BeginReplace()
	names := rapid.SliceOfDistinct(rapid.SampledFrom(modelNames), rapid.ID).Draw(t, "names")
	for _, name := range names {
		m.setObject(t, name)
	}
	maps.DeleteFunc(m.objects, func(name string, _ join.Object) bool { return !slices.Contains(names, name) })
	m.apply(t, m.state.Touch(m.registry.EndReplace()))
}

// expire ends every grace; then what was told is what there is, no more and no less.
func (m *model) expire(t *rapid.T) {
	m.apply(t, m.state.Expire(m.state.Missing()))
	want := map[string]instance{}
	for _, uid := range modelUIDs {
		if i, ok := m.want(uid); ok {
			want[uid] = i
		}
	}
	if !maps.Equal(want, m.shown) {
		t.Fatalf("after the grace there are\n%+v, want\n%+v", m.shown, want)
	}
}

// apply takes the changes as a table would.
func (m *model) apply(t *rapid.T, changes []runtime.Change) {
	for _, c := range changes {
		i := c.State()
		uid := i.ID.UID
		if _, there := m.shown[uid]; c.Removed && !there {
			t.Fatalf("%s is gone, but was not there", uid)
		}
		if c.Removed {
			delete(m.shown, uid)
			continue
		}
		now := instance{
			pod: i.ID.PodName, node: i.Node, document: string(i.Metadata.Raw()), ready: i.Ready, terminating: i.Terminating,
		}
		for _, a := range i.Addresses {
			if a.Is4() {
				now.four = a.String()
			} else {
				now.six = a.String()
			}
		}
		for other, o := range m.shown {
			if other != uid && o.pod == now.pod {
				t.Fatalf("%s is there before %s of the same name is gone", uid, other)
			}
		}
		m.shown[uid] = now
	}
}

// listings are what the slices say of a pod, the last word last.
func (m *model) listings(uid string) []listing {
	var all []listing
	for _, s := range m.slices {
		if l, ok := s[uid]; ok {
			all = append(all, l)
		}
	}
	slices.SortFunc(all, func(a, b listing) int { return int(a.since) - int(b.since) })
	return all
}

// published is the pod's document, empty where it has none of its own.
func (m *model) published(uid string) string {
	if o := m.objects[podOf[uid]]; o.PodUID == uid {
		return o.Document
	}
	return ""
}

// want is what the pod must be told as, if it must be told: the last word counts, for each family of addresses by itself,
// and a deletion is not taken back.
func (m *model) want(uid string) (instance, bool) {
	i, all := instance{pod: podOf[uid], document: m.published(uid)}, m.listings(uid)
	if len(all) == 0 || i.document == "" {
		return i, false
	}
	for _, l := range all {
		i.ready, i.node, i.terminating = l.Ready, l.Node, i.terminating || l.Terminating
		if l.Address.Is4() {
			i.four = l.Address.String()
		} else {
			i.six = l.Address.String()
		}
	}
	i.ready = i.ready && !i.terminating
	return i, true
}

// check is what must hold while graces run: pods and addresses may be held back, but only where nothing is said of them.
func (m *model) check(t *rapid.T) {
	for _, uid := range modelUIDs {
		got, there := m.shown[uid]
		want, wanted := m.want(uid)
		switch {
		case wanted && !there:
			t.Fatalf("%s is not there, want %+v", uid, want)
		case wanted:
			if want.four == "" {
				got.four = ""
			}
			if want.six == "" {
				got.six = ""
			}
			if got != want {
				t.Fatalf("%s is\n%+v, want\n%+v", uid, m.shown[uid], want)
			}
		case there && (got.terminating || len(m.listings(uid)) > 0 || m.published(uid) == ""):
			t.Fatalf("%s is still there: %+v", uid, got)
		}
	}
}

func TestStateIsWhatTheModelSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel()
		t.Repeat(map[string]func(*rapid.T){
			"a slice changes":    m.changeSlice,
			"a slice is deleted": m.deleteSlice,
			"slices are listed":  m.listSlices,
			"metadata changes":   m.changeObject,
			"metadata is gone":   m.deleteObject,
			"metadata is listed": m.listObjects,
			"the grace is over":  m.expire,
			"":                   m.check,
		})
		m.expire(t)
	})
}
