package kube_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/dynawire/dynawire/pkg/runtime/kube"
	"github.com/dynawire/dynawire/pkg/runtime/kube/apitest"
)

// testClock stands still until it is stepped. Unlike the fake that it wraps it runs functions apart, as real timers do.
type testClock struct{ *clocktesting.FakeClock }

func (c testClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	return c.FakeClock.AfterFunc(d, func() { go f() })
}

// What vanishes just before contact is lost may be listed again by a slice that cannot be heard.
func TestVanishedPodsAreNotGivenUpWithoutContact(t *testing.T) {
	now := testClock{clocktesting.NewFakeClock(time.Now())}
	s := apitest.New(t)
	here := slice("s1", endpoint("worker-1", "uid-1", "10.0.0.1", "ready"))
	s.Set(here)
	s.Set(workerMetadata("worker-1", "uid-1", 1001))
	sub := subscribe(t, newClient(t, s, func(c *kube.Config) { c.Clock, c.Grace = now, time.Minute }))
	expect(t, sub, "NewReady worker-1", "Synced")
	require.Eventually(t, func() bool { return sub.Snapshot().StaleSince.IsZero() && !now.HasWaiters() }, patience, time.Millisecond)

	s.Set(slice("s1"))
	require.Eventually(t, now.HasWaiters, patience, time.Millisecond) // the grace runs
	s.SetDown(true)
	stale := func(want bool) func() bool { return func() bool { return sub.Snapshot().StaleSince.IsZero() != want } }
	require.Eventually(t, stale(true), patience, time.Millisecond)
	for range 3 {
		now.Step(time.Minute)
		expectNothing(t, sub, 20*time.Millisecond)
	}
	s.Set(here)
	s.SetDown(false)
	require.Eventually(t, func() bool {
		now.Step(time.Second)
		return stale(false)()
	}, patience, 5*time.Millisecond)
	for range 3 {
		now.Step(time.Minute)
		expectNothing(t, sub, 20*time.Millisecond)
	}

	s.Set(slice("s1"))
	require.Eventually(t, now.HasWaiters, patience, time.Millisecond)
	expectNothing(t, sub, 20*time.Millisecond)
	now.Step(time.Minute)
	expect(t, sub, "Deleted worker-1")
}
