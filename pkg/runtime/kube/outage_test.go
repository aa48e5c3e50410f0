package kube_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	discoveryv1 "k8s.io/api/discovery/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/kube"
	"github.com/dynawire/dynawire/pkg/runtime/kube/apitest"
)

// The API server is gone for a while and a thousand pods go on changing: nothing is Deleted that is there, the age of the
// state shows, and afterwards every change that still stands is told. DYNAWIRE_OUTAGE=60s makes it as long as that.
func TestAPIServerAway(t *testing.T) {
	away := outage(t, time.Second)
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

// An API server that has forgotten the client's place opens the watch, and says so only then. What is known is as old as it
// was until everything has been told anew.
func TestStaleSinceOutlastsAForgottenPlace(t *testing.T) {
	s := apitest.New(t)
	s.Set(slice("s1", endpoint("worker-1", "uid-1", "10.0.0.1", "ready")))
	s.Set(workerMetadata("worker-1", "uid-1", 1001))
	sub := subscribe(t, newClient(t, s, nil))
	expect(t, sub, "NewReady worker-1", "Synced")
	s.WaitWatches(t, 2)

	s.SetDown(true)
	require.Eventually(t, func() bool { return !sub.Snapshot().StaleSince.IsZero() }, patience, time.Millisecond)
	time.Sleep(500 * time.Millisecond) // both watches were opened anew, and refused
	s.Compact()
	up := time.Now()
	s.SetDown(false)
	var contact time.Time
	for end := time.Now().Add(patience); contact.IsZero() || time.Since(contact) < 300*time.Millisecond; time.Sleep(time.Millisecond) {
		require.Less(t, time.Now(), end, "no contact")
		switch since := sub.Snapshot().StaleSince; {
		case !since.IsZero():
			contact = time.Time{}
			require.Less(t, since, up)
		case contact.IsZero():
			contact = time.Now()
		}
	}
}

// What vanished before contact was lost may be listed again by what is heard only a while after contact is back.
func TestGraceBeginsAnewWithContact(t *testing.T) {
	now := testClock{clocktesting.NewFakeClock(time.Now())}
	s := apitest.New(t)
	here := slice("s1", endpoint("worker-1", "uid-1", "10.0.0.1", "ready"))
	s.Set(here)
	s.Set(workerMetadata("worker-1", "uid-1", 1001))
	l := &lateSlices{}
	sub := subscribe(t, newClient(t, s, func(c *kube.Config) {
		c.Clock, c.Grace = now, time.Minute
		c.REST.Wrap(func(next http.RoundTripper) http.RoundTripper {
			l.RoundTripper = next
			return l
		})
	}))
	expect(t, sub, "NewReady worker-1", "Synced")
	contact := func() bool { return sub.Snapshot().StaleSince.IsZero() }
	require.Eventually(t, func() bool { return contact() && !now.HasWaiters() }, patience, time.Millisecond)

	s.Set(slice("s1"))
	require.Eventually(t, now.HasWaiters, patience, time.Millisecond) // the grace runs
	s.SetDown(true)
	require.Eventually(t, func() bool { // the second attempt is one that knows that contact is lost
		now.Step(100 * time.Millisecond)
		return l.refused.Load() > 1
	}, patience, 5*time.Millisecond)
	require.False(t, contact())
	now.Step(30 * time.Second)
	s.Set(here)
	heard := make(chan struct{})
	hear := sync.OnceFunc(func() { close(heard) })
	t.Cleanup(hear)
	l.until.Store(&heard)
	s.SetDown(false)
	require.Eventually(t, func() bool {
		if contact() {
			return true
		}
		now.Step(time.Second)
		return false
	}, patience, 5*time.Millisecond)
	now.Step(30 * time.Second) // a minute since it vanished, of which there was contact for half
	expectNothing(t, sub, 50*time.Millisecond)
	hear()
	time.Sleep(50 * time.Millisecond)
	for range 3 {
		now.Step(time.Minute)
		expectNothing(t, sub, 20*time.Millisecond)
	}
}

// lateSlices holds back what is said of slices, though not that something will be.
type lateSlices struct {
	http.RoundTripper
	until   atomic.Pointer[chan struct{}]
	refused atomic.Int32
}

func (l *lateSlices) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.RoundTripper.RoundTrip(r)
	if err != nil || !strings.HasSuffix(r.URL.Path, "/endpointslices") {
		return resp, err
	}
	if resp.StatusCode == http.StatusServiceUnavailable {
		l.refused.Add(1)
	}
	if until := l.until.Load(); until != nil {
		resp.Body = lateBody{resp.Body, *until}
	}
	return resp, err
}

type lateBody struct {
	io.ReadCloser
	until chan struct{}
}

func (b lateBody) Read(p []byte) (int, error) {
	<-b.until
	return b.ReadCloser.Read(p)
}

// outage is for how long the API server goes away: what DYNAWIRE_OUTAGE says, else as long as that.
func outage(t *testing.T, otherwise time.Duration) time.Duration {
	text := os.Getenv("DYNAWIRE_OUTAGE")
	if text == "" {
		return otherwise
	}
	away, err := time.ParseDuration(text)
	require.NoError(t, err)
	return away
}
