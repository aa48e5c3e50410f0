package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"github.com/dynawire/dynawire/api/v1alpha1"
	"github.com/dynawire/dynawire/pkg/runtime"
)

// faultyServer is an API server as a random test drives it: it writes, forgets, cuts watches off and repeats itself, and the
// two followers hear of it as much and in the order as the test lets them. Nothing runs by itself.
type faultyServer struct {
	version int
	kinds   map[string]*faultyKind // by resource

	// The next answer:
	events int  // ends after so many; negative: all
	repeat bool // tells every event twice
	lists  bool // does not know how to stream the initial state
}

type faultyKind struct {
	objects map[string]faultyObject
	history []faultyObject
	oldest  int
}

type faultyObject struct {
	kind, name string
	version    int
	body       []byte // protobuf or JSON
}

func (s *faultyServer) write(resource, kind, name string, encode func(version string) []byte) {
	s.version++
	k := s.kinds[resource]
	o := faultyObject{kind: kind, name: name, version: s.version}
	if kind == "DELETED" {
		old, there := k.objects[name]
		if !there {
			return
		}
		o.body = old.body
		delete(k.objects, name)
	} else {
		o.body = encode(strconv.Itoa(s.version))
		k.objects[name] = o
	}
	k.history = append(k.history, o)
}

// RoundTrip implements http.RoundTripper.
func (s *faultyServer) RoundTrip(r *http.Request) (*http.Response, error) {
	query := r.URL.Query()
	resource := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	k := s.kinds[resource]
	var body bytes.Buffer
	answer := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(&body), Request: r}
	initial := query.Get("sendInitialEvents") == "true"
	since, _ := strconv.Atoi(query.Get("resourceVersion"))
	switch {
	case query.Get("watch") == "":
		k.list(resource, s.version, &body)
	case initial && s.lists:
		answer.StatusCode = http.StatusUnprocessableEntity
		fmt.Fprint(&body, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`)
	case !initial && since < k.oldest:
		frame(&body, resource, "ERROR", []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`))
	default:
		left := s.events
		for _, o := range k.since(initial, since) {
			if left == 0 {
				return answer, nil
			}
			frame(&body, resource, o.kind, o.body)
			if s.repeat {
				frame(&body, resource, o.kind, o.body)
			}
			left--
		}
		if initial && left != 0 {
			frame(&body, resource, "BOOKMARK", bookmarkOf(resource, s.version))
		}
	}
	return answer, nil
}

func (k *faultyKind) since(initial bool, version int) []faultyObject {
	var out []faultyObject
	if initial {
		for _, o := range k.objects {
			o.kind = "ADDED"
			out = append(out, o)
		}
		return out
	}
	for _, o := range k.history {
		if o.version > version {
			out = append(out, o)
		}
	}
	return out
}

func (k *faultyKind) list(resource string, version int, to *bytes.Buffer) {
	if resource == v1alpha1.Resource {
		items := []json.RawMessage{}
		for _, o := range k.objects {
			items = append(items, o.body)
		}
		raw, _ := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": strconv.Itoa(version)}, "items": items})
		to.Write(raw)
		return
	}
	list := discoveryv1.EndpointSliceList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(version)}}
	for _, o := range k.objects {
		var es discoveryv1.EndpointSlice
		_ = es.Unmarshal(o.body)
		list.Items = append(list.Items, es)
	}
	raw, _ := list.Marshal()
	unknown, _ := (&k8sruntime.Unknown{Raw: raw}).Marshal()
	to.WriteString(protobufMagic)
	to.Write(unknown)
}

func frame(to *bytes.Buffer, resource, kind string, object []byte) {
	if resource == v1alpha1.Resource {
		fmt.Fprintf(to, `{"type":%q,"object":%s}`+"\n", kind, object)
		return
	}
	if kind == "ERROR" {
		var st metav1.Status
		_ = json.Unmarshal(object, &st)
		object, _ = st.Marshal()
	}
	unknown, _ := (&k8sruntime.Unknown{Raw: object}).Marshal()
	ev, _ := (&metav1.WatchEvent{Type: kind, Object: k8sruntime.RawExtension{Raw: append([]byte(protobufMagic), unknown...)}}).Marshal()
	to.Write([]byte{byte(len(ev) >> 24), byte(len(ev) >> 16), byte(len(ev) >> 8), byte(len(ev))})
	to.Write(ev)
}

func bookmarkOf(resource string, version int) []byte {
	o := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		ResourceVersion: strconv.Itoa(version), Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
	}}
	if resource == v1alpha1.Resource {
		raw, _ := json.Marshal(&o)
		return raw
	}
	raw, _ := o.Marshal()
	return raw
}

// faultyWorld is the server, the client's two followers, and a reader of its events. Pods of two names come, go and come
// again under other UIDs; one pod stays all the time and only moves between slices.
type faultyWorld struct {
	server *faultyServer
	comp   *component
	slices map[string]map[string]string // slice -> uid -> state
	owners map[string]string            // pod -> uid
	home   string                       // the slice of the pod that stays, "" while it is in none

	sub    *runtime.Subscription
	told   map[string]runtime.Event
	synced bool
}

const stays = "stay-0000-uid"

func newFaultyWorld(t *rapid.T, c *Client, s *faultyServer) *faultyWorld {
	w := &faultyWorld{
		server: s, slices: map[string]map[string]string{}, owners: map[string]string{}, told: map[string]runtime.Event{},
	}
	s.version = 0
	s.events, s.repeat, s.lists = -1, false, false
	s.kinds = map[string]*faultyKind{
		"endpointslices":  {objects: map[string]faultyObject{}},
		v1alpha1.Resource: {objects: map[string]faultyObject{}},
	}
	w.comp = c.newComponent(componentKey{"dynamo", "backend"}, c.newMetadata())
	var err error
	if w.sub, err = w.comp.table.Subscribe(nil); err != nil {
		t.Fatal(err)
	}
	w.move("a")
	w.setOwner("stay", stays, 0)
	return w
}

func (w *faultyWorld) writeSlice(name string) {
	es := discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: name}}
	pods := w.slices[name]
	for _, uid := range []string{"p1", "p2", "q1", "q2", stays} {
		state, listed := pods[uid]
		if !listed {
			continue
		}
		ready, terminating := state == "ready", state == "terminating"
		es.Endpoints = append(es.Endpoints, discoveryv1.Endpoint{
			Addresses:  []string{"10.0.0.1"},
			Conditions: discoveryv1.EndpointConditions{Ready: &ready, Serving: &ready, Terminating: &terminating},
			TargetRef:  &corev1.ObjectReference{Kind: "Pod", Name: podOf(uid), UID: types.UID(uid)},
		})
	}
	w.server.write("endpointslices", "MODIFIED", name, func(version string) []byte {
		es.ResourceVersion = version
		raw, _ := es.Marshal()
		return raw
	})
}

func podOf(uid string) string {
	if uid == stays {
		return "stay"
	}
	return uid[:1]
}

func (w *faultyWorld) move(to string) {
	w.home = to
	if w.slices[to] == nil {
		w.slices[to] = map[string]string{}
	}
	w.slices[to][stays] = "ready"
	w.writeSlice(to)
}

func (w *faultyWorld) setOwner(pod, uid string, content int) {
	w.owners[pod] = uid
	w.server.write(v1alpha1.Resource, "MODIFIED", pod, func(version string) []byte {
		return fmt.Appendf(nil, `{"metadata":{"name":%q,"uid":"cr-%s","resourceVersion":%q,"ownerReferences":[{"apiVersion":"v1","kind":"Pod","uid":%q}]},`+
			`"spec":{"data":{"endpoints":{},"content":%d}}}`, pod, uid, version, uid, content)
	})
}

// What the cluster does.

func (w *faultyWorld) setSlice(t *rapid.T) {
	name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "slice")
	pods := map[string]string{}
	for _, uid := range []string{"p1", "p2", "q1", "q2"} {
		if state := rapid.SampledFrom([]string{"", "", "ready", "not ready", "terminating"}).Draw(t, uid); state != "" {
			pods[uid] = state
		}
	}
	if state, here := w.slices[name][stays]; here {
		pods[stays] = state
	}
	w.slices[name] = pods
	w.writeSlice(name)
}

func (w *faultyWorld) deleteSlice(t *rapid.T) {
	name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "slice")
	if _, here := w.slices[name][stays]; here {
		return
	}
	delete(w.slices, name)
	w.server.write("endpointslices", "DELETED", name, nil)
}

// The controller moves the pod: for a moment both slices list it, or none does.
func (w *faultyWorld) moves(t *rapid.T) {
	from, to := w.home, rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "to")
	if from == to {
		return
	}
	if rapid.Bool().Draw(t, "in both") {
		w.move(to)
	}
	delete(w.slices[from], stays)
	if rapid.Bool().Draw(t, "the slice goes") {
		delete(w.slices, from)
		w.server.write("endpointslices", "DELETED", from, nil)
	} else {
		w.writeSlice(from)
	}
	if w.home == from {
		w.move(to)
	}
}

func (w *faultyWorld) setMetadata(t *rapid.T) {
	uid := rapid.SampledFrom([]string{"p1", "p2", "q1", "q2"}).Draw(t, "owner")
	w.setOwner(podOf(uid), uid, rapid.IntRange(0, 1).Draw(t, "content"))
}

func (w *faultyWorld) deleteMetadata(t *rapid.T) {
	pod := rapid.SampledFrom([]string{"p", "q"}).Draw(t, "pod")
	delete(w.owners, pod)
	w.server.write(v1alpha1.Resource, "DELETED", pod, nil)
}

func (w *faultyWorld) compact(*rapid.T) {
	for _, k := range w.server.kinds {
		k.history, k.oldest = nil, w.server.version
	}
}

// What the client hears of it.

func (w *faultyWorld) hear(t *rapid.T) {
	w.server.events = rapid.IntRange(0, 4).Draw(t, "events")
	w.server.repeat = rapid.Bool().Draw(t, "twice")
	w.server.lists = rapid.IntRange(0, 9).Draw(t, "lists") == 0
	w.session(t, rapid.SampledFrom([]*follower{w.comp.slices, w.comp.metadata.follower}).Draw(t, "watch"))
	w.read(t)
}

// session is what follower.run does once.
func (w *faultyWorld) session(t *rapid.T, f *follower) {
	err := f.session(context.Background())
	f.to.contact(false)
	f.assess(err)
	if err != nil && !strings.Contains(err.Error(), "410") && !strings.Contains(err.Error(), "initial state") && f.version != nil {
		t.Fatalf("session: %v", err)
	}
}

// catchUp hears everything that there is to hear, and waits the grace out.
func (w *faultyWorld) catchUp(t *rapid.T) {
	w.server.events = -1
	for _, f := range []*follower{w.comp.slices, w.comp.metadata.follower} {
		for range 4 { // one may find its version forgotten, one that there is no stream of the initial state
			w.session(t, f)
		}
	}
	w.comp.locked(func() { w.comp.apply(w.comp.state.Expire(w.comp.state.Missing())) })
	w.read(t)
	want := map[string]bool{}
	terminating := map[string]bool{}
	contradicted := map[string]bool{}
	for _, pods := range w.slices {
		for uid, state := range pods {
			if w.owners[podOf(uid)] != uid {
				continue
			}
			if ready, seen := want[uid]; seen && ready != (state == "ready") {
				contradicted[uid] = true
			}
			want[uid] = state == "ready"
			terminating[uid] = terminating[uid] || state == "terminating"
		}
	}
	got := w.comp.table.Snapshot()
	if !got.Synced || len(got.Instances) != len(want) {
		t.Fatalf("%+v, want %v", got, want)
	}
	for _, i := range got.Instances {
		ready := want[i.ID.UID] && !terminating[i.ID.UID]
		if i.Ready != ready && (!contradicted[i.ID.UID] || terminating[i.ID.UID]) {
			t.Fatalf("%s: ready %v, want %v", i.ID.UID, i.Ready, ready)
		}
		// Events fold to the state, but for what was never ready.
		ev, known := w.told[i.ID.UID]
		if known != (i.Ready || known) || known && (ev.Instance.Ready != i.Ready || ev.Instance.Revision != i.Revision) {
			t.Fatalf("%s: told %+v, is %+v", i.ID.UID, ev, i)
		}
	}
	for uid := range w.told {
		if _, there := want[uid]; !there {
			t.Fatalf("%s was told and never taken back", uid)
		}
	}
}

// atOnce is a context that ends every wait, and nothing else.
type atOnce struct{ context.Context } //nolint:containedctx // it is one

var ended = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

func (atOnce) Done() <-chan struct{} { return ended }

// read takes what is due, and checks that each event may follow those before.
func (w *faultyWorld) read(t *rapid.T) {
	for ev, err := range w.sub.Events(atOnce{context.Background()}) {
		if err != nil {
			t.Fatal(err)
		}
		w.take(t, ev)
	}
}

func (w *faultyWorld) take(t *rapid.T, ev runtime.Event) {
	uid := ev.Instance.ID.UID
	last, known := w.told[uid]
	bad := false
	switch ev.Type {
	case runtime.Synced:
		bad = w.synced
		w.synced = true
		if bad {
			t.Fatal("Synced twice")
		}
		return
	case runtime.NewReady:
		bad = known || !ev.Instance.Ready
		for other := range w.told {
			bad = bad || podOf(other) == podOf(uid)
		}
	case runtime.Ready, runtime.NotReady:
		bad = !known || last.Instance.Ready == ev.Instance.Ready || ev.Instance.Ready != (ev.Type == runtime.Ready)
	case runtime.Updated:
		bad = !known || last.Instance.Ready != ev.Instance.Ready || last.Instance.Revision == ev.Instance.Revision
	case runtime.Deleted:
		bad = !known
	}
	if bad || uid == stays && known {
		t.Fatalf("%s %s after %s", ev.Type, uid, last.Type)
	}
	if ev.Type == runtime.Deleted {
		delete(w.told, uid)
		return
	}
	w.told[uid] = ev
}

// Watches that are cut off anywhere, forgotten versions, events told twice, lists, the two watches in any order, recycled
// slice names, names with new UIDs: whatever the client hears, each event may follow those before, they add up to the state,
// and a pod that never went away makes one event. A hundred thousand runs: -rapid.checks=100000.
func TestEventsUnderFaults(t *testing.T) {
	server := &faultyServer{}
	c, err := New(Config{
		Identity: runtime.Identity{PodName: "me", PodNamespace: "llm", PodUID: "me", Namespace: "dynamo", Component: "backend"},
		REST:     &rest.Config{Host: "http://fake", Transport: server, QPS: -1},
		Logger:   slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		c.clock = clocktesting.NewFakeClock(time.Now()) // it stands still: the graces that run out are the test's
		w := newFaultyWorld(t, c, server)
		t.Repeat(map[string]func(*rapid.T){
			"a slice changes":      w.setSlice,
			"a slice goes":         w.deleteSlice,
			"a pod moves":          w.moves,
			"metadata changes":     w.setMetadata,
			"metadata goes":        w.deleteMetadata,
			"history is forgotten": w.compact,
			"something is heard":   w.hear,
			"more is heard":        w.hear,
			"everything was heard": w.catchUp,
		})
		w.catchUp(t)
		if _, known := w.told[stays]; !known {
			t.Fatal("the pod that stays was never told")
		}
	})
}
