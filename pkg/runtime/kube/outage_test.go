package kube_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/kube/apitest"
)

// The API server is gone for a while and a thousand pods go on changing: nothing is Deleted that is there, the age of the
// state shows, and afterwards every change that still stands is told. DYNAWIRE_OUTAGE=60s makes it as long as that.
func TestAPIServerAway(t *testing.T) {
	away := time.Second
	if text := os.Getenv("DYNAWIRE_OUTAGE"); text != "" {
		var err error
		away, err = time.ParseDuration(text)
		require.NoError(t, err)
	}
	const slices, perSlice = 10, 100
	s := apitest.New(t)
	ready := make([]bool, slices*perSlice)
	endpoints := make([][]discoveryv1.Endpoint, slices)
	flip := func(n int) {
		pod, uid := fleetPod(n)
		ready[n] = !ready[n]
		endpoints[n/perSlice][n%perSlice] = endpoint(pod, uid, fmt.Sprintf("10.0.%d.%d", n>>8, n&0xff), map[bool]string{true: "ready", false: "not ready"}[ready[n]])
	}
	for n := range ready {
		pod, uid := fleetPod(n)
		s.Set(workerMetadata(pod, uid, 8080))
		if endpoints[n/perSlice] == nil {
			endpoints[n/perSlice] = make([]discoveryv1.Endpoint, perSlice)
		}
		flip(n)
	}
	for i := range endpoints {
		s.Set(fleetSlice(i, endpoints[i]))
	}
	sub := subscribe(t, newClient(t, s, nil))
	believed := map[string]bool{}
	take := func(ev runtime.Event) {
		require.NotEqual(t, runtime.Deleted, ev.Type, ev.Instance.ID.PodName)
		believed[ev.Instance.ID.PodName] = ev.Instance.Ready
	}
	for ev := range sub.C() {
		if ev.Type == runtime.Synced {
			break
		}
		take(ev)
	}
	require.Len(t, believed, len(ready))
	s.WaitWatches(t, 2)

	load := func(i int) {
		flip(i * 37 % len(ready))
		s.Set(fleetSlice(i*37%len(ready)/perSlice, endpoints[i*37%len(ready)/perSlice]))
	}
	down := time.Now()
	s.SetDown(true)
	for i := 0; time.Since(down) < away; i++ {
		load(i)
		select {
		case ev := <-sub.C(): // written just before
			take(ev)
		case <-time.After(5 * time.Millisecond):
		}
		if i == 100 { // half a second at the least
			snapshot := sub.Snapshot()
			assert.WithinDuration(t, down, snapshot.StaleSince, 500*time.Millisecond)
			assert.Len(t, snapshot.Instances, len(ready), "the last state is served")
		}
	}
	s.Compact() // an API server that comes back has forgotten
	up := time.Now()
	s.SetDown(false)
	wrong := func() (n int) {
		for i, want := range ready {
			if pod, _ := fleetPod(i); believed[pod] != want {
				n++
			}
		}
		return n
	}
	for wrong() > 0 {
		select {
		case ev := <-sub.C():
			take(ev)
		case <-time.After(30 * time.Second):
			t.Fatalf("%d instances are not what they are believed to be", wrong())
		}
	}
	t.Logf("away for %s; all told %s after it was back", away, time.Since(up).Round(time.Millisecond))
	require.Eventually(t, func() bool { return sub.Snapshot().StaleSince.IsZero() }, patience, time.Millisecond)
	expectNothing(t, sub, 50*time.Millisecond)
}
