package discoverytest

import (
	"fmt"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/runtime"
)

// shakes is how often a world is shaken: often enough for each kind of trouble to come several times.
const shakes = 24

var trouble = []test{
	{"the last state is served while the source is away", func(s *suite) {
		source, ok := s.world.(Interruptible)
		if !ok {
			s.Skip("this world does not lose contact")
		}
		w, r := s.worker("worker-0"), s.router("router-0")
		s.ready(w)
		f := s.follow(r)
		f.expect("NewReady worker-0")
		s.eventually("contact", func() bool { return f.Snapshot().StaleSince.IsZero() && f.Snapshot().Synced })
		source.Interrupt(s.T, true)
		s.eventually("staleness", func() bool { return !f.Snapshot().StaleSince.IsZero() })
		assert.Len(s, s.list(r), 1)
		_, err := r.Metadata(s.ctx(), w.self.ID)
		require.NoError(s, err)
		status, err := r.Status(s.ctx(), w.self)
		require.NoError(s, err)
		assert.Equal(s, runtime.StatusReady, status)
		source.Interrupt(s.T, false)
		s.eventually("contact", func() bool { return f.Snapshot().StaleSince.IsZero() })
		s.notReady(w)
		f.expect("NotReady worker-0") // and nothing was Deleted meanwhile
	}},
	{"a source that misbehaves makes no events", func(s *suite) {
		source, ok := s.world.(Shakeable)
		if !ok {
			s.Skip("this world does not misbehave")
		}
		want := map[string]bool{}
		for n := range 7 {
			name := fmt.Sprintf("worker-%d", n)
			s.ready(s.worker(name))
			want["NewReady "+name] = true
		}
		f := s.follow(s.router("router-0"))
		for len(want) > 0 {
			got, _ := f.next()
			require.True(s, want[got] || got == synced, got)
			delete(want, got)
		}
		f.expect("Synced")
		for round := range shakes {
			source.Shake(s.T, round)
		}
		f.expectNothing()
	}},
	{"what happens while the source misbehaves is told", func(s *suite) {
		source, ok := s.world.(Shakeable)
		if !ok {
			s.Skip("this world does not misbehave")
		}
		still, w, r := s.worker("worker-0"), s.worker("worker-1"), s.router("router-0")
		s.ready(still)
		s.listed(r, "worker-0", "worker-1 (not ready)")
		f := s.follow(r)
		f.expect("NewReady worker-0", "Synced")
		for round := range 8 {
			s.ready(w)
			source.Shake(s.T, round)
			if round == 0 {
				f.expect("NewReady worker-1")
			} else {
				f.expect("Ready worker-1")
			}
			s.notReady(w)
			f.expect("NotReady worker-1")
		}
	}},
}
