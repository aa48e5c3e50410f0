package discoverytest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/runtime"
)

var subscribing = []test{
	{"a subscription begins with what is there", func(s *suite) {
		for _, name := range []string{"worker-0", "worker-1"} {
			s.ready(s.worker(name))
		}
		r := s.router("router-0")
		s.listed(r, "worker-0", "worker-1")
		f := s.follow(r)
		first, _ := f.next()
		second, _ := f.next()
		assert.ElementsMatch(s, []string{"NewReady worker-0", "NewReady worker-1"}, []string{first, second})
		third, _ := f.next()
		assert.Equal(s, synced, third, "after what was there")
		select {
		case <-f.Synced():
		default:
			s.Error("Synced is not closed")
		}
		assert.True(s, f.Snapshot().Synced)
		f.expectNothing()
	}},
	{"events come through the loop as through the channel", func(s *suite) {
		w := s.worker("worker-0")
		s.ready(w)
		f := s.follow(s.router("router-0"))
		var got []runtime.EventType
		for ev, err := range f.Events(s.ctx()) {
			require.NoError(s, err)
			got = append(got, ev.Type)
			if ev.Type == runtime.NewReady {
				s.notReady(w)
			}
			if ev.Type == runtime.NotReady {
				break
			}
		}
		assert.Equal(s, runtime.NotReady, got[len(got)-1])
		assert.ElementsMatch(s, []runtime.EventType{runtime.NewReady, runtime.Synced, runtime.NotReady}, got)
	}},
	{"subscribers do not take from each other", func(s *suite) {
		w, r := s.worker("worker-0"), s.router("router-0")
		a, b, elsewhere := s.follow(r), s.follow(r), s.follow(s.router("router-1"))
		for _, f := range []*follower{a, b, elsewhere} {
			f.expect("Synced")
		}
		s.ready(w)
		for _, f := range []*follower{a, b, elsewhere} {
			f.expect("NewReady worker-0")
		}
		require.NoError(s, a.Close())
		s.notReady(w)
		b.expect("NotReady worker-0")
		elsewhere.expect("NotReady worker-0")
	}},
	{"a slow reader misses steps, never the last", func(s *suite) {
		w, r := s.worker("worker-0"), s.router("router-0")
		slow, fast := s.follow(r), s.follow(r)
		fast.expect("Synced")
		for range 20 {
			s.ready(w)
			s.eventually("ready", func() bool { return s.list(r)[0].Ready })
			s.notReady(w)
			s.eventually("not ready", func() bool { return !s.list(r)[0].Ready })
		}
		s.ready(w)
		s.eventually("ready", func() bool { return s.list(r)[0].Ready })
		var last runtime.Event
		events := 0
		for done := false; !done; {
			select {
			case ev := <-slow.C():
				if ev.Type != runtime.Synced {
					last = ev
					events++
				}
			case <-time.After(quiet):
				done = true
			}
		}
		assert.True(s, last.Instance.Ready)
		assert.Less(s, events, 41, "it read at the end, and was told of the end")
	}},
	{"a subscription ends with its context", func(s *suite) {
		ctx, cancel := context.WithCancel(context.Background())
		sub, err := s.router("router-0").Subscribe(ctx, namespace, component)
		require.NoError(s, err)
		f := &follower{suite: s, Subscription: sub}
		f.expect("Synced")
		cancel()
		got, _ := f.next()
		assert.Equal(s, closed, got)
		for range sub.Events(context.Background()) { //nolint:errcheck // the loop yields errors, and there is none
			s.Error("an event after the end")
		}
	}},
	{"a reader that would rather be told nothing than late is told so", func(s *suite) {
		a, b, r := s.worker("worker-0"), s.worker("worker-1"), s.router("router-0")
		sub, err := r.Subscribe(context.Background(), namespace, component, runtime.Fail(1))
		require.NoError(s, err)
		for ev, err := range sub.Events(s.ctx()) {
			require.NoError(s, err)
			if ev.Type == runtime.Synced {
				break // and reads no more
			}
		}
		s.ready(a)
		s.ready(b)
		s.eventually("the end", func() bool { return errors.Is(sub.Err(), runtime.ErrSlowSubscriber) })
		s.listed(r, "worker-0", "worker-1") // others go on
		require.NoError(s, sub.Close())
	}},
	{"a reader that wants every step gets every step", func(s *suite) {
		w, r := s.worker("worker-0"), s.router("router-0")
		sub, err := r.Subscribe(context.Background(), namespace, component, runtime.Block(16))
		require.NoError(s, err)
		f := &follower{suite: s, Subscription: sub}
		f.expect("Synced")
		seen := func(ready bool) {
			s.eventually("the status", func() bool { return s.list(r)[0].Ready == ready })
		}
		for range 3 {
			s.ready(w)
			seen(true)
			s.notReady(w)
			seen(false)
		}
		f.expect("NewReady worker-0", "NotReady worker-0", "Ready worker-0", "NotReady worker-0", "Ready worker-0", "NotReady worker-0")
		require.NoError(s, f.Close())
	}},
	{"events add up to the state", foldIsState},
}

// foldIsState lets pods do at random what pods do, and adds up what a subscriber is told.
func foldIsState(s *suite) {
	r := s.router("router-0")
	f := s.follow(r)
	told := map[runtime.InstanceID]runtime.Instance{}
	var folding sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	var mu sync.Mutex
	folding.Go(func() {
		for ev, err := range f.Events(ctx) {
			if err != nil {
				s.Error(err)
				return
			}
			mu.Lock()
			fold(s, told, ev)
			mu.Unlock()
		}
	})
	random := rand.New(rand.NewPCG(1, 2))
	workers := map[int]*process{}
	for range 150 {
		n := random.IntN(4)
		w := workers[n]
		switch dice := random.IntN(10); {
		case w == nil:
			workers[n] = s.worker(fmt.Sprintf("worker-%d", n))
		case dice < 5:
			s.ready(w)
		case dice < 7:
			s.notReady(w)
		case dice < 8:
			s.register(w, registration(1000+random.IntN(1000)))
		default:
			s.delete(w)
			delete(workers, n)
		}
	}
	for _, w := range workers {
		s.ready(w)
	}
	var want []string
	for n := range 4 {
		if workers[n] != nil {
			want = append(want, fmt.Sprintf("worker-%d", n))
		}
	}
	s.listed(r, want...)
	s.eventually("the events of it", func() bool {
		mu.Lock()
		defer mu.Unlock()
		state := s.list(r)
		if len(state) != len(told) {
			return false
		}
		for _, i := range state {
			if t, ok := told[i.ID]; !ok || !t.Ready || t.Revision != i.Revision {
				return false
			}
		}
		return true
	})
	stop()
	folding.Wait()
}

// fold holds an event against what was told before: each must make sense after the last of its instance.
func fold(s *suite, told map[runtime.InstanceID]runtime.Instance, ev runtime.Event) {
	before, known := told[ev.Instance.ID]
	switch ev.Type {
	case runtime.Synced:
		return
	case runtime.NewReady:
		assert.False(s, known, "NewReady of a known %s", ev.Instance.ID)
		for id := range told {
			assert.NotEqual(s, id.PodName, ev.Instance.ID.PodName, "NewReady before the one of that name was Deleted")
		}
		assert.True(s, ev.Instance.Ready)
	case runtime.Ready:
		assert.True(s, known && !before.Ready && ev.Instance.Ready, "Ready after %v", before.Ready)
	case runtime.NotReady:
		assert.True(s, known && before.Ready && !ev.Instance.Ready, "NotReady after %v", before.Ready)
	case runtime.Updated:
		assert.True(s, known && before.Ready == ev.Instance.Ready && before.Revision < ev.Instance.Revision, "Updated")
	case runtime.Deleted:
		assert.True(s, known, "Deleted of an unknown %s", ev.Instance.ID)
		delete(told, ev.Instance.ID)
		return
	}
	told[ev.Instance.ID] = ev.Instance
}
