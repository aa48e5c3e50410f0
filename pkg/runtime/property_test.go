package runtime_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/kube/join"
)

// world is what a cluster may tell, drawn at random: slices that list pods, metadata that belongs to pods, in any order and
// with anything lost in between, one by one or many at once; and readers that come at any time: one that keeps up, and others
// that sleep, of which some want to be told everything.
type world struct {
	registry *join.Registry
	state    *join.State
	table    *runtime.Table
	version  uint64

	slices map[string]map[string]said // slice -> uid
	owners map[string]string          // pod name -> uid that its metadata belongs to

	gathering bool
	gathered  []runtime.Change

	prompt   *reader
	sleepers []*reader
}

// said is what a slice says of a pod, and since which version.
type said struct {
	name               string
	ready, terminating bool
	since              uint64
}

var (
	sliceNames = []string{"a", "b", "c"}
	podNames   = []string{"p", "q"}
)

func uidsOf(name string) []string { return []string{name + "1", name + "2", name + "3"} }

func newWorld(t *rapid.T) *world {
	w := &world{
		registry: join.NewRegistry(), table: runtime.NewTable(nil),
		slices: map[string]map[string]said{}, owners: map[string]string{},
	}
	w.state = join.NewState(join.Owner{KubeNamespace: "k", Namespace: "n", Component: "c"}, w.registry)
	w.prompt = newReader(t, w.table)
	return w
}

func (w *world) tell(changes []runtime.Change) {
	if w.gathering {
		w.gathered = append(w.gathered, changes...)
		return
	}
	w.table.Apply(changes...)
}

func (w *world) gather(*rapid.T) { w.gathering = true }

func (w *world) arrive(*rapid.T) {
	w.table.Apply(w.gathered...)
	w.gathering, w.gathered = false, nil
}

func (w *world) subscribe(t *rapid.T) {
	limit := rapid.IntRange(0, 4).Draw(t, "limit")
	if limit == 0 {
		w.sleepers = append(w.sleepers, newReader(t, w.table, runtime.Coalesce()))
		return
	}
	r := newReader(t, w.table, runtime.Block(limit))
	r.late = true
	w.sleepers = append(w.sleepers, r)
}

func (w *world) wake(t *rapid.T) {
	for _, r := range w.sleepers {
		r.read(t, rapid.IntRange(0, 5).Draw(t, "events"))
	}
}

func (w *world) drawSlice(t *rapid.T) join.Slice {
	w.version++
	in := join.Slice{Name: rapid.SampledFrom(sliceNames).Draw(t, "slice"), Version: w.version}
	before, now := w.slices[in.Name], map[string]said{}
	for _, name := range podNames {
		for _, uid := range uidsOf(name) {
			state := rapid.SampledFrom([]string{"absent", "absent", "ready", "not ready", "terminating"}).Draw(t, uid)
			if state == "absent" {
				continue
			}
			s := said{name: name, ready: state == "ready", terminating: state == "terminating", since: w.version}
			if old, ok := before[uid]; ok && old.ready == s.ready && old.terminating == s.terminating {
				s.since = old.since
			}
			now[uid] = s
			in.Endpoints = append(in.Endpoints, join.Endpoint{PodName: name, PodUID: uid, Ready: s.ready, Terminating: s.terminating})
		}
	}
	w.slices[in.Name] = now
	return in
}

func (w *world) setSlice(t *rapid.T) { w.tell(w.state.SetSlice(w.drawSlice(t))) }

func (w *world) deleteSlice(t *rapid.T) {
	name := rapid.SampledFrom(sliceNames).Draw(t, "slice")
	delete(w.slices, name)
	w.tell(w.state.DeleteSlice(name))
}

// relist tells some slices anew and leaves out the others, which are gone then.
func (w *world) relist(t *rapid.T) {
	w.state.BeginReplace()
	told := map[string]bool{}
	for range rapid.IntRange(0, 3).Draw(t, "slices") {
		in := w.drawSlice(t)
		told[in.Name] = true
		w.tell(w.state.SetSlice(in))
	}
	for name := range w.slices {
		if !told[name] {
			delete(w.slices, name)
		}
	}
	w.tell(w.state.EndReplace())
}

func (w *world) setMetadata(t *rapid.T) {
	w.version++
	name := rapid.SampledFrom(podNames).Draw(t, "pod")
	uid := rapid.SampledFrom(uidsOf(name)).Draw(t, "owner")
	w.owners[name] = uid
	w.tell(w.state.Touch(w.registry.Set(join.Object{
		Name: name, UID: "cr-" + uid, PodUID: uid,
		Document: fmt.Sprintf(`{"v":%d}`, rapid.IntRange(0, 1).Draw(t, "revision")),
	})))
}

func (w *world) deleteMetadata(t *rapid.T) {
	name := rapid.SampledFrom(podNames).Draw(t, "pod")
	delete(w.owners, name)
	w.tell(w.state.Touch(w.registry.Delete(name)))
}

func (w *world) expire(*rapid.T) { w.tell(w.state.Expire(w.state.Missing())) }

// want is what must be there once nothing is held back: a pod that a slice lists and that the metadata belongs to, as ready
// as the slice said that changed last.
func (w *world) want() map[string]bool {
	want, since := map[string]bool{}, map[string]uint64{}
	terminating := map[string]bool{}
	for _, pods := range w.slices {
		for uid, s := range pods {
			if w.owners[s.name] != uid {
				continue
			}
			if _, seen := want[uid]; !seen || s.since > since[uid] {
				want[uid], since[uid] = s.ready, s.since
			}
			terminating[uid] = terminating[uid] || s.terminating
		}
	}
	for uid := range want {
		want[uid] = want[uid] && !terminating[uid]
	}
	return want
}

func (w *world) check(t *rapid.T) {
	if w.gathering {
		return
	}
	w.prompt.read(t, -1)
	for uid, ready := range w.want() {
		i, ok := w.table.Lookup(uid)
		if !ok || i.Ready != ready {
			t.Fatalf("%s: there %v, ready %v, want ready %v", uid, ok, i.Ready, ready)
		}
	}
}

func TestEventsFoldToTheState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		t.Repeat(map[string]func(*rapid.T){
			"set a slice":         w.setSlice,
			"delete a slice":      w.deleteSlice,
			"list all slices":     w.relist,
			"set metadata":        w.setMetadata,
			"delete metadata":     w.deleteMetadata,
			"the grace is over":   w.expire,
			"changes gather":      w.gather,
			"the changes arrive":  w.arrive,
			"synced":              func(*rapid.T) { w.table.MarkSynced() },
			"somebody subscribes": w.subscribe,
			"the sleepers read":   w.wake,
			"":                    w.check,
		})
		w.expire(t)
		w.arrive(t)
		w.table.MarkSynced()
		readers := slices.Concat(w.sleepers, []*reader{w.prompt})
		for _, r := range readers {
			r.read(t, -1)
		}
		want := w.want()
		if got := w.table.Snapshot().Instances; len(got) != len(want) {
			t.Fatalf("%d instances, want %v", len(got), want)
		}
		w.check(t)
		for _, r := range readers {
			r.fold(t)
		}
	})
}

// reader folds events and checks that each may follow the one before.
type reader struct {
	table  *runtime.Table
	sub    *runtime.Subscription
	told   map[string]runtime.Event // by UID
	synced bool
	late   bool // is told what was, not what is
}

func newReader(t *rapid.T, table *runtime.Table, opts ...runtime.SubscribeOption) *reader {
	sub, err := table.Subscribe(nil, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return &reader{table: table, sub: sub, told: map[string]runtime.Event{}}
}

func (r *reader) read(t *rapid.T, n int) {
	for ; n != 0; n-- {
		ev, ok := r.sub.Take()
		if !ok {
			return
		}
		r.take(t, ev)
	}
}

func (r *reader) take(t *rapid.T, ev runtime.Event) {
	uid, name := ev.Instance.ID.UID, ev.Instance.ID.PodName
	last, known := r.told[uid]
	_, there := r.table.Lookup(uid)
	bad := ""
	switch ev.Type {
	case runtime.Synced:
		if r.synced {
			t.Fatal("Synced twice")
		}
		r.synced = true
		return
	case runtime.NewReady:
		for other, told := range r.told {
			if told.Instance.ID.PodName == name && other != uid {
				bad = "before Deleted of " + other
			}
		}
		if known || !ev.Instance.Ready {
			bad = "known already, or not ready"
		}
	case runtime.Ready:
		if !known || last.Instance.Ready || !ev.Instance.Ready {
			bad = "was ready, or is not"
		}
	case runtime.NotReady:
		if !known || !last.Instance.Ready || ev.Instance.Ready {
			bad = "was not ready, or is"
		}
	case runtime.Updated:
		if !known || last.Instance.Ready != ev.Instance.Ready || last.Instance.Revision == ev.Instance.Revision {
			bad = "nothing new, or readiness changed"
		}
	case runtime.Deleted:
		if !known || there && !r.late || ev.Instance.Ready {
			bad = "never announced, or still there, or ready"
		}
	}
	if !r.synced && ev.Type != runtime.NewReady {
		bad = "before Synced"
	}
	if bad != "" {
		t.Fatalf("%s %s after %s: %s", ev.Type, uid, last.Type, bad)
	}
	if ev.Type == runtime.Deleted {
		delete(r.told, uid)
		return
	}
	r.told[uid] = ev
}

// fold compares what the reader believes with what is. It does not know those that it never saw ready.
func (r *reader) fold(t *rapid.T) {
	for uid, ev := range r.told {
		i, ok := r.table.Lookup(uid)
		if !ok || i.Ready != ev.Instance.Ready || i.Revision != ev.Instance.Revision {
			t.Fatalf("%s: the reader believes %+v, there is %+v", uid, ev.Instance, i)
		}
	}
	for _, i := range r.table.Snapshot().Instances {
		if _, ok := r.told[i.ID.UID]; i.Ready && !ok {
			t.Fatalf("%s is ready and was never told", i.ID.UID)
		}
	}
	if _, queued := r.sub.Backlog(); queued != 0 || !r.synced {
		t.Fatalf("%d are kept for a reader that has read all; synced: %v", queued, r.synced)
	}
}
