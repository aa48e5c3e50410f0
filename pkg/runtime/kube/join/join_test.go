package join_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/internal/row"
	"github.com/dynawire/dynawire/pkg/runtime/kube/join"
)

type fixture struct {
	*join.State
	registry *join.Registry
	version  uint64
}

func newFixture() *fixture {
	r := join.NewRegistry()
	return &fixture{State: join.NewState(join.Owner{KubeNamespace: "llm", Namespace: "dynamo", Component: "backend"}, r), registry: r}
}

// owned gives pods their metadata.
func (f *fixture) owned(podUIDs ...[2]string) *fixture {
	for _, p := range podUIDs {
		f.registry.Set(join.Object{Name: p[0], UID: "cr-" + p[1], PodUID: p[1], Document: "{}"})
	}
	return f
}

func (f *fixture) slice(name string, endpoints ...join.Endpoint) []runtime.Change {
	f.version++
	return f.SetSlice(join.Slice{Name: name, Version: f.version, Endpoints: endpoints})
}

func ready(pod, uid, address string) join.Endpoint {
	return join.Endpoint{PodName: pod, PodUID: uid, Address: netip.MustParseAddr(address), Ready: true, Zone: "a", Node: "n"}
}

func unready(e join.Endpoint) join.Endpoint { e.Ready = false; return e }

func terminating(e join.Endpoint) join.Endpoint { e.Terminating = true; return e }

// brief writes changes as "uid ready", "uid not ready", "uid gone".
func brief(changes []runtime.Change) []string {
	var out []string
	for _, c := range changes {
		what := "not ready"
		switch {
		case c.Removed:
			what = "gone"
		case c.State().Ready:
			what = "ready"
		}
		out = append(out, c.State().ID.UID+" "+what)
	}
	return out
}

func TestInstanceIsEndpointAndMetadata(t *testing.T) {
	f := newFixture()
	assert.Empty(t, f.slice("s", ready("p", "1", "10.0.0.1")))
	touched := f.registry.Set(join.Object{Name: "p", UID: "cr", PodUID: "other", Document: "{}"})
	assert.Empty(t, f.Touch(touched), "another pod of that name")
	changes := f.Touch(f.registry.Set(join.Object{Name: "p", UID: "cr", PodUID: "1", Document: "{}"}))
	require.Len(t, changes, 1)
	i := changes[0].State()
	assert.Equal(t, runtime.InstanceID{Namespace: "llm", PodName: "p", UID: "1"}, i.ID)
	assert.Equal(t, "dynamo", i.Namespace)
	assert.Equal(t, "backend", i.Component)
	assert.True(t, i.Ready)
	assert.Equal(t, []string{"1 gone"}, brief(f.Touch(f.registry.Delete("p"))), "without metadata it is gone at once")
	assert.Empty(t, f.Touch([]row.UID{{}}))
}

func TestReadinessOfAnEndpoint(t *testing.T) {
	f := newFixture().owned([2]string{"p", "1"})
	e := ready("p", "1", "10.0.0.1")
	assert.Equal(t, []string{"1 ready"}, brief(f.slice("s", e)))
	assert.Empty(t, f.slice("s", e), "nothing new")
	assert.Equal(t, []string{"1 not ready"}, brief(f.slice("s", unready(e))))
	assert.Equal(t, []string{"1 ready"}, brief(f.slice("s", e)))
	assert.Equal(t, []string{"1 not ready"}, brief(f.slice("s", terminating(e))))
	assert.Equal(t, []string{"1 gone"}, brief(f.slice("s")), "a terminating pod that leaves is gone at once")
}

func TestPodInSeveralSlicesIsOneInstance(t *testing.T) {
	f := newFixture().owned([2]string{"p", "1"})
	e := ready("p", "1", "10.0.0.1")
	f.slice("a", e)
	assert.Empty(t, f.slice("b", e))
	assert.Empty(t, f.DeleteSlice("a"))
	assert.Equal(t, []string{"1 not ready"}, brief(f.slice("b", unready(e))))
	assert.Empty(t, f.DeleteSlice("unknown"))
}

func TestSlicesThatContradictEachOther(t *testing.T) {
	f := newFixture().owned([2]string{"p", "1"}, [2]string{"q", "2"})
	e, other := ready("p", "1", "10.0.0.1"), ready("q", "2", "10.0.0.2")
	f.slice("a", e, other)
	assert.Equal(t, []string{"1 not ready"}, brief(f.slice("b", unready(e))), "the slice that changed last is believed")
	assert.Equal(t, []string{"2 not ready"}, brief(f.slice("a", e, unready(other))), "a change of another pod is none of this one's")
	assert.Equal(t, []string{"1 ready"}, brief(f.slice("b", e)))
	assert.Equal(t, []string{"1 not ready"}, brief(f.slice("b", terminating(e))))
	f.slice("a", unready(e), other)
	assert.Empty(t, f.slice("a", e, other), "nothing takes a deletion back")
}

// A list tells slices in no order; their versions do.
func TestVersionsDecideWithinAList(t *testing.T) {
	e := ready("p", "1", "10.0.0.1")
	newer := join.Slice{Name: "a", Version: 9, Endpoints: []join.Endpoint{unready(e)}}
	older := join.Slice{Name: "b", Version: 5, Endpoints: []join.Endpoint{e}}
	for _, order := range [][]join.Slice{{newer, older}, {older, newer}} {
		f := newFixture().owned([2]string{"p", "1"})
		f.BeginReplace()
		var last []runtime.Change
		for _, s := range order {
			if c := f.SetSlice(s); len(c) > 0 {
				last = c
			}
		}
		assert.Empty(t, f.EndReplace())
		assert.Equal(t, []string{"1 not ready"}, brief(last))
	}
}

func TestDualStackIsOneInstance(t *testing.T) {
	f := newFixture().owned([2]string{"p", "1"})
	v4, v6 := ready("p", "1", "10.0.0.1"), ready("p", "1", "fd00::1")
	f.slice("six", v6)
	changes := f.slice("four", v4)
	require.Len(t, changes, 1)
	assert.Equal(t, []netip.Addr{v4.Address, v6.Address}, changes[0].State().Addresses)
	assert.Equal(t, []string{"1 not ready"}, brief(f.slice("four", unready(v4))), "either family's slice may be the first to know")
	assert.Empty(t, f.slice("six", unready(v6)))

	assert.Empty(t, f.DeleteSlice("six"), "an address that vanishes is held back like a pod that does")
	assert.Equal(t, []string{"1 ready"}, brief(f.slice("four", v4)), "what else is said counts")
	assert.Empty(t, f.slice("six", v6), "it is back")
	assert.Empty(t, f.Expire(f.Missing()))

	assert.Empty(t, f.DeleteSlice("six"))
	changes = f.Expire(f.Missing())
	require.Len(t, changes, 1)
	assert.Equal(t, []netip.Addr{v4.Address}, changes[0].State().Addresses)
	assert.Empty(t, f.Expire(f.Missing()))

	changes = f.slice("six", v6)
	require.Len(t, changes, 1)
	assert.Equal(t, []netip.Addr{v4.Address, v6.Address}, changes[0].State().Addresses)
	assert.Empty(t, f.DeleteSlice("four"))
	assert.Empty(t, f.DeleteSlice("six"), "the other one went too")
	assert.Equal(t, []string{"1 gone"}, brief(f.Expire(f.Missing())))
}

func TestNewAddressReplacesTheOld(t *testing.T) {
	f := newFixture().owned([2]string{"p", "1"})
	f.slice("a", ready("p", "1", "10.0.0.1"))
	changes := f.slice("b", ready("p", "1", "10.0.0.2"))
	require.Len(t, changes, 1)
	assert.Equal(t, []netip.Addr{netip.MustParseAddr("10.0.0.2")}, changes[0].State().Addresses)
}

func TestRecycledSliceName(t *testing.T) {
	f := newFixture().owned([2]string{"p", "1"}, [2]string{"q", "2"})
	f.slice("a", ready("p", "1", "10.0.0.1"))
	f.slice("b", ready("q", "2", "10.0.0.2"))
	// The controller gives a's name to b's pods and deletes b.
	assert.Empty(t, f.slice("a", ready("q", "2", "10.0.0.2")))
	assert.Empty(t, f.DeleteSlice("b"))
	assert.Empty(t, f.slice("c", ready("p", "1", "10.0.0.1")))
	assert.Empty(t, f.Expire(f.Missing()))
}

func TestVanishedPodIsMissingUntilExpired(t *testing.T) {
	f := newFixture().owned([2]string{"p", "1"}, [2]string{"q", "2"}, [2]string{"r", "3"})
	p, q := ready("p", "1", "10.0.0.1"), ready("q", "2", "10.0.0.2")
	f.slice("s", p, q)
	assert.Zero(t, f.Missing())
	assert.Empty(t, f.slice("s", q))
	first := f.Missing()
	assert.NotZero(t, first)
	assert.Empty(t, f.slice("s"))
	assert.Greater(t, f.Missing(), first)
	assert.Equal(t, []string{"1 gone"}, brief(f.Expire(first)), "not those that went later")
	assert.Empty(t, f.slice("s", q), "back in time")
	assert.Empty(t, f.Expire(f.Missing()))
	f.slice("s")
	assert.Equal(t, []string{"2 gone"}, brief(f.Touch(f.registry.Delete("q"))), "its metadata went too")
	assert.Empty(t, f.slice("s", unready(ready("x", "9", "10.0.0.9"))), "a pod without metadata")
	assert.Empty(t, f.slice("s"))
	assert.Empty(t, f.Expire(f.Missing()), "was never an instance")
}

func TestPodOfTheSameNameEndsTheWait(t *testing.T) {
	f := newFixture().owned([2]string{"p", "1"})
	f.slice("s", ready("p", "1", "10.0.0.1"))
	assert.Equal(t, []string{"1 gone"}, brief(f.slice("s", ready("p", "2", "10.0.0.1"))), "changed in place")
	touched := f.registry.Set(join.Object{Name: "p", UID: "cr-2", PodUID: "2", Document: "{}"})
	assert.Equal(t, []string{"2 ready"}, brief(f.Touch(touched)))
}

func TestTwoPodsOfANameAreToldApartByTheMetadata(t *testing.T) {
	f := newFixture().owned([2]string{"p", "1"})
	f.slice("a", ready("p", "1", "10.0.0.1"))
	assert.Empty(t, f.slice("b", ready("p", "2", "10.0.0.2")), "a is stale, but who knows")
	touched := f.registry.Set(join.Object{Name: "p", UID: "cr-2", PodUID: "2", Document: "{}"})
	assert.Equal(t, []string{"1 gone", "2 ready"}, brief(f.Touch(touched)), "in this order")
}

func TestReplaceDeletesWhatWasNotTold(t *testing.T) {
	f := newFixture().owned([2]string{"p", "1"}, [2]string{"q", "2"})
	f.slice("a", ready("p", "1", "10.0.0.1"))
	f.slice("b", terminating(ready("q", "2", "10.0.0.2")))
	f.BeginReplace()
	f.slice("a", ready("p", "1", "10.0.0.1"))
	f.BeginReplace() // the first telling was cut off
	f.slice("a", ready("p", "1", "10.0.0.1"))
	assert.Equal(t, []string{"2 gone"}, brief(f.EndReplace()))
	assert.Empty(t, f.EndReplace(), "only once")
}

func TestEndpointsWithoutPodAreLeftOut(t *testing.T) {
	f := newFixture().owned([2]string{"", ""})
	assert.Empty(t, f.slice("s", join.Endpoint{Address: netip.MustParseAddr("10.0.0.1"), Ready: true}))
}

func TestRegistryKeepsTheLastValidOfTheSameObject(t *testing.T) {
	r := join.NewRegistry()
	const one, two = "4d8e4a56-fdbd-4ca8-bb3c-98062c411a5a", "uid-2"
	set := func(uid, pod, document string) []string {
		return texts(r.Set(join.Object{Name: "p", UID: uid, PodUID: pod, Document: document}))
	}
	lookup := func(pod string) string {
		uid, _ := row.ParseUID(pod)
		if self := r.Lookup("p", uid); self != nil {
			return string(self.Metadata.Raw())
		}
		return ""
	}
	valid := `{"a":1}`
	assert.Equal(t, texts(uids(one)), set("cr", one, valid))
	assert.Equal(t, valid, lookup(one))
	assert.Empty(t, set("cr", one, ""), "unreadable")
	assert.Equal(t, valid, lookup(one))
	assert.Empty(t, set("cr", one, valid), "the same again")
	assert.Equal(t, texts(uids(one)), set("cr", one, `{"a":2}`))

	assert.Equal(t, texts(uids(one)), set("cr-2", one, ""), "another object starts from nothing")
	assert.Empty(t, lookup(one))
	set("cr-2", one, valid)
	assert.Equal(t, texts(uids(one, two)), set("cr-2", two, valid), "who lost it comes first")
	assert.Empty(t, lookup(one))
	assert.Empty(t, lookup(""))
	assert.Equal(t, texts(uids(two)), texts(r.Delete("p")))
	assert.Empty(t, r.Delete("p"))

	assert.Empty(t, set("cr", "", valid), "nobody's")
	assert.Empty(t, lookup(""))
}

func uids(all ...string) []row.UID {
	var out []row.UID
	for _, text := range all {
		uid, _ := row.ParseUID(text)
		out = append(out, uid)
	}
	return out
}

func texts(all []row.UID) []string {
	var out []string
	for _, uid := range all {
		out = append(out, uid.String())
	}
	return out
}

func TestRegistryReplace(t *testing.T) {
	r := join.NewRegistry()
	set := func(i int) {
		r.Set(join.Object{Name: fmt.Sprint(i), UID: "cr", PodUID: fmt.Sprintf("uid-%d", i), Document: "{}"})
	}
	for i := range 3 {
		set(i)
	}
	r.BeginReplace()
	set(0)
	set(1)
	assert.Equal(t, uids("uid-2"), r.EndReplace())
	assert.Empty(t, r.EndReplace())
}

// A dual-stack pod goes: out of its IPv4 slice, then its metadata, then out of its IPv6 slice, all while the address that
// was lost is still held.
func TestPodThatGoesWhileAnAddressIsHeld(t *testing.T) {
	f := newFixture().owned([2]string{"a", "1"})
	f.slice("six", ready("a", "1", "2001:db8::1"))
	f.slice("four", ready("a", "1", "192.0.2.1"))
	assert.Empty(t, f.slice("four"), "the address is held")
	assert.Equal(t, []string{"1 gone"}, brief(f.Touch(f.registry.Delete("a"))))
	assert.Empty(t, f.DeleteSlice("six"))
}
