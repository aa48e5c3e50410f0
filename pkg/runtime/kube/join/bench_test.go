package join_test

import (
	"fmt"
	"net/netip"
	goruntime "runtime"
	"testing"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/kube/join"
)

const perSlice = 100 // the controller's default

// fleet is a component of n ready pods with metadata like this library's workers write.
func fleet(n int) (*fixture, []join.Slice) {
	f := newFixture()
	var slices []join.Slice
	for i := range n {
		if i%perSlice == 0 {
			slices = append(slices, join.Slice{Name: fmt.Sprintf("dynamo-backend-service-%05d", i/perSlice), Version: 1})
		}
		s := &slices[len(slices)-1]
		name, uid := fmt.Sprintf("worker-%d-6747464465-tj4s8", i), fmt.Sprintf("4d8e4a56-fdbd-4ca8-bb3c-%012d", i)
		s.Endpoints = append(s.Endpoints, join.Endpoint{
			PodName: name, PodUID: uid, Address: netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}),
			Ready: true, Node: fmt.Sprintf("node-%d", i%500), Zone: "zone-a",
		})
		data := fmt.Sprintf(`{"endpoints":{"dynamo/backend/generate/%[1]x":{"type":"Endpoint","namespace":"dynamo","component":"backend",`+
			`"endpoint":"generate","instance_id":%[1]d,"transport":{"tcp":"10.0.0.1:41235/%[1]x/generate"}}},"model_cards":{},"event_channels":{}}`, i)
		f.registry.Set(join.Object{Name: name, UID: "cr-" + uid, PodUID: uid, Document: data})
	}
	return f, slices
}

// One pod of a full slice changes its readiness: the common event.
func BenchmarkFlip(b *testing.B) {
	for _, n := range []int{1000, 20_000} {
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			f, slices := fleet(n)
			for _, s := range slices {
				f.SetSlice(s)
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				s := &slices[i%len(slices)]
				s.Version++
				s.Endpoints[0].Ready = !s.Endpoints[0].Ready
				if len(f.SetSlice(*s)) != 1 {
					b.Fatal("want one change")
				}
				i++
			}
		})
	}
}

func untilSynced(b *testing.B, sub *runtime.Subscription) {
	for ev, err := range sub.Events(b.Context()) {
		if err != nil {
			b.Fatal(err)
		}
		if ev.Type == runtime.Synced {
			return
		}
	}
}

// Everything from nothing, into a table with one subscriber.
func BenchmarkSync(b *testing.B) {
	const n = 20_000
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		f, slices := fleet(n)
		table := runtime.NewTable(nil)
		sub, err := table.Subscribe(nil)
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		for _, s := range slices {
			table.Apply(f.SetSlice(s)...)
		}
		table.MarkSynced()
		untilSynced(b, sub)
	}
}

// What an instance costs in memory: the slices' part, the table's, and a subscriber's. Metadata apart.
func BenchmarkMemory(b *testing.B) {
	const n = 20_000
	heap := func() uint64 {
		goruntime.GC()
		var m goruntime.MemStats
		goruntime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for b.Loop() {
		f, slices := fleet(n)
		before := heap()
		table := runtime.NewTable(nil)
		for _, s := range slices {
			table.Apply(f.SetSlice(s)...)
		}
		joined := heap()
		sub, err := table.Subscribe(nil)
		if err != nil {
			b.Fatal(err)
		}
		table.MarkSynced()
		untilSynced(b, sub)
		b.ReportMetric(float64(joined-before)/n, "B/instance")
		b.ReportMetric(float64(heap()-joined)/n, "B/instance/subscriber")
		goruntime.KeepAlive(sub)
		goruntime.KeepAlive(f)
		goruntime.KeepAlive(slices)
	}
}
