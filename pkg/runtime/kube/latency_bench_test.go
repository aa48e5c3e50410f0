package kube_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/kube/apitest"
)

// From the write of a slice to the event at a subscriber, 500 writes a second, over HTTP. The server's share, which encodes
// each event in this process, is in it. Beside it the same at an informer's handler.
func BenchmarkSliceLatency(b *testing.B) {
	for _, side := range []struct {
		name string
		// listen calls heard whenever one pod of the component has changed its readiness.
		listen func(b *testing.B, s *apitest.Server, heard func())
	}{{"dynawire", listenDynawire}, {"informer", listenInformer}} {
		b.Run(side.name, func(b *testing.B) {
			const perSlice, every = 100, 2 * time.Millisecond
			s := apitest.New(b)
			endpoints := make([]discoveryv1.Endpoint, perSlice)
			for i := range endpoints {
				pod, uid := fleetPod(i)
				endpoints[i] = endpoint(pod, uid, fmt.Sprintf("10.0.0.%d", i), "ready")
				s.Set(fleetMetadata(pod, uid))
			}
			s.Set(fleetSlice(0, endpoints))
			heard := make(chan struct{})
			side.listen(b, s, func() { heard <- struct{}{} })
			var took []time.Duration
			next := time.Now()
			i := 0
			for b.Loop() {
				pod, uid := fleetPod(i % perSlice)
				endpoints = slices.Clone(endpoints)
				endpoints[i%perSlice] = endpoint(pod, uid, fmt.Sprintf("10.0.0.%d", i%perSlice), []string{"not ready", "ready"}[i/perSlice%2])
				es := fleetSlice(0, endpoints)
				next = next.Add(every)
				time.Sleep(time.Until(next))
				start := time.Now()
				s.Set(es)
				<-heard
				took = append(took, time.Since(start))
				i++
			}
			slices.Sort(took)
			ms := func(p int) float64 { return float64(took[(len(took)-1)*p/100].Microseconds()) / 1e3 }
			b.ReportMetric(ms(50), "p50-ms")
			b.ReportMetric(ms(99), "p99-ms")
			b.ReportMetric(0, "ns/op") // it is paced
		})
	}
}

func listenDynawire(b *testing.B, s *apitest.Server, heard func()) {
	sub := subscribe(b, newClient(b, s, nil))
	synced := make(chan struct{})
	go func() {
		for ev := range sub.Events(b.Context()) {
			switch ev.Type {
			case runtime.Synced:
				close(synced)
			case runtime.Ready, runtime.NotReady:
				heard()
			}
		}
	}()
	<-synced
}

func listenInformer(b *testing.B, s *apitest.Server, heard func()) {
	i := sliceInformer(b, s.Config())
	told, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(before, after any) {
		//nolint:forcetypeassert // the informer's only type
		old, cur := before.(*discoveryv1.EndpointSlice), after.(*discoveryv1.EndpointSlice)
		for n := range cur.Endpoints {
			if *old.Endpoints[n].Conditions.Ready != *cur.Endpoints[n].Conditions.Ready {
				heard()
			}
		}
	}})
	require.NoError(b, err)
	ctx, cancel := context.WithCancel(b.Context())
	var running sync.WaitGroup
	running.Go(func() { i.RunWithContext(ctx) })
	b.Cleanup(func() {
		cancel()
		running.Wait()
	})
	for !told.HasSynced() {
		time.Sleep(time.Millisecond)
	}
}
