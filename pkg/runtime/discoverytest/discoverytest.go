// Package discoverytest is the contract of runtime.Discovery as tests. Every backend passes Run; a backend of one's own
// is tested the same way:
//
//	func TestConformance(t *testing.T) {
//		discoverytest.Run(t, func(t *testing.T) discoverytest.World { return newWorld(t) })
//	}
//
// The package fakecluster beside it is a Kubernetes to run against, with the real EndpointSlice controller in it.
package discoverytest

import (
	"testing"

	"github.com/dynawire/dynawire/pkg/runtime"
)

// World is where the pods of one test run. The suite asks for a fresh one for each test and uses it from the test's
// goroutine.
type World interface {
	// Start runs a pod and returns the client of the process in it. A name may be used again once its pod was Deleted: the
	// pod then has another UID. The suite closes the client before the world ends.
	Start(t testing.TB, p Pod) runtime.Discovery
	// Terminate begins to end a pod, as deleting it with a grace period does: the process still runs.
	Terminate(t testing.TB, name string)
	// Delete ends a pod at once. Its client may have been closed before.
	Delete(t testing.TB, name string)
}

// Pod is what the suite wants to run.
type Pod struct {
	// Name is unique among the pods that run.
	Name string
	// Namespace and Component are Dynamo's, and what the pod's labels say. Both are empty for one that only looks.
	Namespace, Component string
}

// Interruptible is a World that can lose contact with what it learns from. The suite then tests that the last state is
// served, that its age is told, and that nothing is Deleted that is still there.
type Interruptible interface {
	// Interrupt takes the source away, or gives it back.
	Interrupt(t testing.TB, away bool)
}

// Shakeable is a World whose source can misbehave without anything having happened to any instance: connections end,
// histories are forgotten, lists are told anew, entries are duplicated or moved. The suite then tests that no event comes
// of it.
type Shakeable interface {
	// Shake does one such thing, a different one for each round.
	Shake(t testing.TB, round int)
}

// Run runs the suite: one subtest for each promise, several at a time. newWorld returns an empty world that ends with its
// test.
func Run(t *testing.T, newWorld func(t *testing.T) World) {
	for _, group := range [][]test{lifecycle, reading, subscribing, keyValue, closing, trouble} {
		for _, tc := range group {
			t.Run(tc.name, func(t *testing.T) {
				t.Parallel()
				tc.run(&suite{T: t, world: newWorld(t)})
			})
		}
	}
}

type test struct {
	name string
	run  func(*suite)
}
