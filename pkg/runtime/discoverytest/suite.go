package discoverytest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/runtime"
)

const (
	namespace = "dynamo"
	component = "backend"
	endpoint  = "generate"
	// patience is how long anything may take before it counts as never.
	patience = 20 * time.Second
	// quiet is how long nothing must happen to count as nothing.
	quiet = 300 * time.Millisecond
)

// suite is one test's world and the words to speak of it.
type suite struct {
	*testing.T
	world World
}

// process is a pod that the suite started.
type process struct {
	runtime.Discovery
	pod  Pod
	self runtime.Instance
}

func (s *suite) ctx() context.Context {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	s.Cleanup(cancel)
	return ctx
}

// start runs a pod that has not registered.
func (s *suite) start(p Pod) *process {
	s.Helper()
	d := s.world.Start(s.T, p)
	s.Cleanup(func() { assert.NoError(s.T, d.Close()) })
	return &process{Discovery: d, pod: p}
}

// router runs a pod that only looks.
func (s *suite) router(name string) *process {
	s.Helper()
	return s.start(Pod{Name: name})
}

func registration(port int) runtime.Registration {
	return runtime.Registration{
		Endpoints: []runtime.RegisterEndpoint{{
			Name: endpoint, Transport: runtime.TCP(fmt.Sprintf("192.0.2.1:%d/1f/%s", port, endpoint)),
		}},
		Metadata: []byte(`{"Model":{"name":"Qwen3-32B","blocks":24064}}`),
	}
}

// worker runs a pod of the component that has registered and is not ready.
func (s *suite) worker(name string) *process {
	s.Helper()
	return s.workerOf(Pod{Name: name, Namespace: namespace, Component: component})
}

func (s *suite) workerOf(p Pod) *process {
	s.Helper()
	w := s.start(p)
	s.register(w, registration(8080))
	return w
}

func (s *suite) register(w *process, r runtime.Registration) {
	s.Helper()
	self, err := w.CreateInstance(s.ctx(), r)
	require.NoError(s, err)
	w.self = self
}

func (s *suite) ready(w *process) { s.Helper(); s.status(w, runtime.StatusReady) }

func (s *suite) notReady(w *process) { s.Helper(); s.status(w, runtime.StatusNotReady) }

func (s *suite) status(w *process, status runtime.Status) {
	s.Helper()
	require.NoError(s, w.SetStatus(s.ctx(), w.self, status))
}

// delete ends a pod with its process.
func (s *suite) delete(w *process) {
	s.Helper()
	require.NoError(s, w.Close())
	s.world.Delete(s.T, w.pod.Name)
}

func (s *suite) list(p *process, opts ...runtime.ListOption) []runtime.Instance {
	s.Helper()
	all, err := p.ListInstances(s.ctx(), namespace, component, opts...)
	require.NoError(s, err)
	return all
}

// eventually waits for something that takes its time to be known everywhere.
func (s *suite) eventually(what string, check func() bool) {
	s.Helper()
	require.Eventually(s, check, patience, 2*time.Millisecond, what)
}

// listed waits until the list of names and readiness is that: "worker-0" or "worker-0 (not ready)".
func (s *suite) listed(p *process, want ...string) {
	s.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		got := names(s.list(p))
		if slices.Equal(want, got) {
			return
		}
		if time.Now().After(deadline) {
			require.Equal(s, want, got)
		}
	}
}

func names(instances []runtime.Instance) []string {
	all := make([]string, len(instances))
	for i := range instances {
		all[i] = instances[i].ID.PodName
		if !instances[i].Ready {
			all[i] += " (not ready)"
		}
	}
	return all
}

// follower is a subscription as the suite reads it. Where Synced comes among the first events depends on who was faster;
// only the tests about it look.
type follower struct {
	*suite
	*runtime.Subscription
	seenSynced bool
}

const (
	synced = "Synced"
	closed = "closed"
)

func (s *suite) follow(p *process) *follower {
	s.Helper()
	sub, err := p.Subscribe(context.Background(), namespace, component)
	require.NoError(s, err)
	s.Cleanup(func() { assert.NoError(s.T, sub.Close()) })
	return &follower{suite: s, Subscription: sub}
}

// next is the next event, whatever it is: "NewReady worker-0".
func (f *follower) next() (string, runtime.Event) {
	f.Helper()
	select {
	case ev, ok := <-f.C():
		switch {
		case !ok:
			return closed, ev
		case ev.Type == runtime.Synced:
			require.False(f, f.seenSynced, "Synced comes once")
			f.seenSynced = true
			return synced, ev
		default:
			return string(ev.Type) + " " + ev.Instance.ID.PodName, ev
		}
	case <-time.After(patience):
		require.Fail(f, "no event")
		return "", runtime.Event{}
	}
}

// expect reads events that must be these, and returns the last.
func (f *follower) expect(want ...string) runtime.Event {
	f.Helper()
	var last runtime.Event
	for _, w := range want {
		if w == synced && f.seenSynced {
			continue
		}
		got, ev := f.next()
		if got == synced && w != synced {
			got, ev = f.next()
		}
		require.Equal(f, w, got)
		last = ev
	}
	return last
}

func (f *follower) expectNothing() {
	f.Helper()
	for silence := time.After(quiet); ; {
		select {
		case ev, ok := <-f.C():
			if ok && ev.Type == runtime.Synced && !f.seenSynced {
				f.seenSynced = true
				continue
			}
			require.Failf(f, "unexpected event", "%s %s (open: %v)", ev.Type, ev.Instance.ID, ok)
		case <-silence:
			return
		}
	}
}
