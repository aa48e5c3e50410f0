package discoverytest

import (
	"context"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/runtime"
)

var closing = []test{
	{"closing ends what runs, and everything after it is ErrClosed", func(s *suite) {
		w := s.worker("worker-0")
		s.ready(w)
		f := s.follow(w)
		f.expect("NewReady worker-0")
		require.NoError(s, w.Close())
		require.NoError(s, w.Close(), "a second time")
		var last error
		for _, err := range f.Events(context.Background()) {
			last = err
		}
		require.ErrorIs(s, last, runtime.ErrClosed)
		require.ErrorIs(s, f.Err(), runtime.ErrClosed)
		assert.NotZero(s, f.Snapshot().StaleSince, "what was known is not current any more")

		ctx := s.ctx()
		_, err := w.CreateInstance(ctx, registration(8080))
		require.ErrorIs(s, err, runtime.ErrClosed, "CreateInstance")
		_, err = w.ListInstances(ctx, namespace, component)
		require.ErrorIs(s, err, runtime.ErrClosed, "ListInstances")
		_, err = w.Metadata(ctx, w.self.ID)
		require.ErrorIs(s, err, runtime.ErrClosed, "Metadata")
		_, err = w.Subscribe(ctx, namespace, component)
		require.ErrorIs(s, err, runtime.ErrClosed, "Subscribe")
		require.ErrorIs(s, w.SetStatus(ctx, w.self, runtime.StatusReady), runtime.ErrClosed, "SetStatus")
		_, err = w.Status(ctx, w.self)
		require.ErrorIs(s, err, runtime.ErrClosed, "Status")
		require.ErrorIs(s, w.WriteKV(ctx, "k", nil), runtime.ErrClosed, "WriteKV")
		_, err = w.ReadKV(ctx, "k")
		require.ErrorIs(s, err, runtime.ErrClosed, "ReadKV")
	}},
	{"closing does not unregister", func(s *suite) {
		w, r := s.worker("worker-0"), s.router("router-0")
		s.listed(r, "worker-0 (not ready)")
		require.NoError(s, w.Close())
		f := s.follow(r)
		f.expect("Synced")
		f.expectNothing()
		assert.Len(s, s.list(r), 1)
	}},
	{"closing one client leaves the others alone", func(s *suite) {
		w, a, b := s.worker("worker-0"), s.router("router-0"), s.router("router-1")
		f, g := s.follow(a), s.follow(b)
		f.expect("Synced")
		g.expect("Synced")
		require.NoError(s, a.Close())
		s.ready(w)
		g.expect("NewReady worker-0")
	}},
}
