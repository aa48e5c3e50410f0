package kube

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/kube/join"
)

// flips is a watch of full slices of a component of 20,000, one pod of each changing its readiness, as it comes over the
// wire: as many events as a component has slices, twice.
func flips(t testing.TB) (stream []byte, events int) {
	const slices, perSlice = 200, 100
	all := make([]discoveryv1.EndpointSlice, slices)
	no, zone := false, "zone-a"
	ready := [2]bool{false, true}
	for i := range all {
		all[i].Name = fmt.Sprintf("dynamo-backend-service-%05d", i)
		all[i].Labels = map[string]string{"kubernetes.io/service-name": "dynamo-backend-service", "nvidia.com/dynamo-component": "backend"}
		for j := range perSlice {
			n := i*perSlice + j
			node := fmt.Sprintf("node-%d", n%500)
			all[i].Endpoints = append(all[i].Endpoints, discoveryv1.Endpoint{
				Addresses:  []string{netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}).String()},
				Conditions: discoveryv1.EndpointConditions{Ready: &ready[1], Serving: &ready[1], Terminating: &no},
				NodeName:   &node, Zone: &zone,
				TargetRef: &corev1.ObjectReference{
					Kind: "Pod", Namespace: "llm", Name: fmt.Sprintf("worker-6747464465-%05d", n),
					UID: types.UID(fmt.Sprintf("4d8e4a56-fdbd-4ca8-bb3c-%012d", n)),
				},
			})
		}
	}
	var out []byte
	for round := range 2 {
		for i := range all {
			events++
			all[i].ResourceVersion = fmt.Sprint(1000 + events)
			all[i].Endpoints[i%perSlice].Conditions.Ready = &ready[round]
			all[i].Endpoints[i%perSlice].Conditions.Serving = &ready[round]
			object, err := all[i].Marshal()
			require.NoError(t, err)
			unknown, err := (&k8sruntime.Unknown{Raw: object}).Marshal()
			require.NoError(t, err)
			ev, err := (&metav1.WatchEvent{
				Type: "MODIFIED", Object: k8sruntime.RawExtension{Raw: append([]byte(protobufMagic), unknown...)},
			}).Marshal()
			require.NoError(t, err)
			out = append(binary.BigEndian.AppendUint32(out, uint32(len(ev))), ev...)
		}
	}
	return out, events
}

// CPUTime is what this process has used of any core, the collector's part included. Unlike the time on the wall it is much
// the same on a machine that does other things as well.
func CPUTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// From the bytes of a watch to the event that a subscriber reads, on one core: one pod of a full slice flips. Beside it, what
// an informer does with the same bytes before it calls a handler, and the comparison that the handler then makes.
func BenchmarkSliceEvents(b *testing.B) {
	stream, events := flips(b)
	report := func(b *testing.B, began time.Duration) {
		perEvent := float64(CPUTime()-began) / float64(b.N) / float64(events)
		b.ReportMetric(perEvent, "cpu-ns/event")
		b.ReportMetric(1e9/perEvent, "events/s/core")
		b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(events), "ns/event")
		b.ReportMetric(0, "ns/op")
	}
	b.Run("dynawire", func(b *testing.B) {
		c, err := New(Config{
			Identity: runtime.Identity{PodName: "me", PodNamespace: "llm", PodUID: "me", Namespace: "dynamo", Component: "backend"},
			REST:     &rest.Config{Host: "http://nobody"}, Logger: slog.New(slog.DiscardHandler),
		})
		require.NoError(b, err)
		m := c.newMetadata()
		comp := c.newComponent(componentKey{"dynamo", "backend"}, m)
		for n := range 20_000 {
			m.registry.Set(join.Object{
				Name: fmt.Sprintf("worker-6747464465-%05d", n), PodUID: fmt.Sprintf("4d8e4a56-fdbd-4ca8-bb3c-%012d", n), Document: "{}",
			})
		}
		feed := func() {
			buffer := newBuffer(bytes.NewReader(stream), false, nothing)
			for range events {
				ev, err := protobufFormat{}.event(buffer)
				if err == nil {
					_, err = comp.set(ev.object)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		}
		feed()
		comp.table.MarkSynced()
		sub, err := comp.table.Subscribe(nil)
		require.NoError(b, err)
		read := func() (n int) {
			for range sub.Events(atOnce{context.Background()}) {
				n++
			}
			return n
		}
		read()
		b.ReportAllocs()
		began := CPUTime()
		for b.Loop() {
			buffer := newBuffer(bytes.NewReader(stream), false, nothing)
			for range events {
				ev, err := protobufFormat{}.event(buffer)
				if err == nil {
					_, err = comp.set(ev.object)
				}
				if err != nil || read() != 1 {
					b.Fatal("want one event", err)
				}
			}
		}
		report(b, began)
	})
	b.Run("informer", func(b *testing.B) {
		store := cache.NewStore(cache.MetaNamespaceKeyFunc)
		decode := func(buffer *buffer) *discoveryv1.EndpointSlice {
			ev, err := protobufFormat{}.event(buffer) // client-go's own framing costs more
			if err != nil {
				b.Fatal(err)
			}
			es := &discoveryv1.EndpointSlice{}
			if err := es.Unmarshal([]byte(ev.object)); err != nil {
				b.Fatal(err)
			}
			return es
		}
		b.ReportAllocs()
		began := CPUTime()
		for b.Loop() {
			buffer := newBuffer(bytes.NewReader(stream), false, nothing)
			for range events {
				es := decode(buffer)
				old, there, _ := store.Get(es)
				_ = store.Update(es)
				if !there {
					continue
				}
				before := old.(*discoveryv1.EndpointSlice) //nolint:forcetypeassert // nothing else is stored
				changed := 0
				for i := range es.Endpoints {
					if *es.Endpoints[i].Conditions.Ready != *before.Endpoints[i].Conditions.Ready {
						changed++
					}
				}
				if changed > 1 {
					b.Fatal("want one change")
				}
			}
		}
		report(b, began)
	})
}
