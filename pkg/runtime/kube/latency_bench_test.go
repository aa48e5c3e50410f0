package kube_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/kube"
)

// From the write of a slice to the event at a subscriber that knows 20,000 instances, 500 writes a second, over HTTP from a
// server in another process, whose share is in it. Beside it the same at an informer's handler.
func BenchmarkSliceLatency(b *testing.B) {
	for _, side := range []struct {
		name string
		// listen calls heard whenever one pod of the component has changed its readiness, from one goroutine.
		listen func(b *testing.B, cfg *rest.Config, heard func())
	}{{"dynawire", listenDynawire}, {"informer", listenInformer}} {
		b.Run(side.name, func(b *testing.B) {
			cfg, flip := orderFleet(b, "workers")
			var mu sync.Mutex
			var heard []time.Time
			side.listen(b, cfg, func() {
				now := time.Now()
				mu.Lock()
				defer mu.Unlock()
				heard = append(heard, now)
			})
			count := func() int {
				mu.Lock()
				defer mu.Unlock()
				return len(heard)
			}
			const times = 2500 // five seconds
			var took []time.Duration
			for b.Loop() {
				before := count()
				began := flip(times)
				require.Eventually(b, func() bool { return count() == before+times }, patience, time.Millisecond)
				for i, at := range began {
					took = append(took, heard[before+i].Sub(at))
				}
			}
			slices.Sort(took)
			ms := func(p int) float64 { return float64(took[(len(took)-1)*p/100].Microseconds()) / 1e3 }
			b.ReportMetric(ms(50), "p50-ms")
			b.ReportMetric(ms(99), "p99-ms")
			b.ReportMetric(0, "ns/op") // it is paced
		})
	}
}

func listenDynawire(b *testing.B, cfg *rest.Config, heard func()) {
	c, err := kube.New(clientConfig(cfg))
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, c.Close()) })
	sub := subscribe(b, c)
	synced := make(chan struct{})
	go func() {
		for ev := range sub.Events(context.Background()) {
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

func listenInformer(b *testing.B, cfg *rest.Config, heard func()) {
	i := sliceInformer(b, cfg)
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
