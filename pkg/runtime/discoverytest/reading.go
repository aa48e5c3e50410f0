package discoverytest

import (
	"errors"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/runtime"
)

var reading = []test{
	{"a list of nothing is no error", func(s *suite) {
		all, err := s.router("router-0").ListInstances(s.ctx(), namespace, component)
		require.NoError(s, err)
		assert.Empty(s, all)
	}},
	{"lists are sorted, and narrowed to what is ready", func(s *suite) {
		b, a, r := s.worker("worker-1"), s.worker("worker-0"), s.router("router-0")
		s.ready(b)
		s.listed(r, "worker-0 (not ready)", "worker-1")
		ready := s.list(r, runtime.ReadyOnly())
		require.Len(s, ready, 1)
		assert.Equal(s, b.self.ID, ready[0].ID)
		s.ready(a)
		s.listed(r, "worker-0", "worker-1")
	}},
	{"a list without waiting is right or not synced", func(s *suite) {
		w, r := s.worker("worker-0"), s.router("router-0")
		s.ready(w)
		s.eventually("a list", func() bool {
			all, err := r.ListInstances(s.ctx(), namespace, component, runtime.NoWait())
			if err != nil {
				require.ErrorIs(s, err, runtime.ErrNotSynced)
				return false
			}
			return len(all) == 1 && all[0].Ready
		})
	}},
	{"components and namespaces are apart", func(s *suite) {
		s.worker("worker-0")
		for _, p := range []Pod{
			{Name: "other-0", Namespace: namespace, Component: "prefill"},
			{Name: "other-1", Namespace: "team-a", Component: component},
		} {
			s.ready(s.workerOf(p))
		}
		r := s.router("router-0")
		f := s.follow(r)
		s.listed(r, "worker-0 (not ready)")
		f.expect("Synced")
		f.expectNothing()
		s.eventually("the other component", func() bool {
			all, err := r.ListInstances(s.ctx(), namespace, "prefill", runtime.ReadyOnly())
			return err == nil && len(all) == 1 && all[0].ID.PodName == "other-0"
		})
	}},
	{"metadata is what was registered", func(s *suite) {
		w := s.start(Pod{Name: "worker-0", Namespace: namespace, Component: component})
		r := registration(8080)
		r.Endpoints[0].ModelCard = []byte(`{"display_name":"m","nested":{"empty":{},"none":null}}`)
		s.register(w, r)
		reader := s.router("router-0")
		for _, id := range []runtime.InstanceID{w.self.ID, {Namespace: w.self.ID.Namespace, PodName: "worker-0"}} {
			m, err := reader.Metadata(s.ctx(), id)
			require.NoError(s, err)
			assert.JSONEq(s, string(r.Metadata), string(m.Values()))
			require.Len(s, m.ModelCards(), 1)
			assert.JSONEq(s, string(r.Endpoints[0].ModelCard), string(m.ModelCards()[0].Card))
		}
		s.listed(reader, "worker-0 (not ready)")
		m, err := reader.Metadata(s.ctx(), w.self.ID)
		require.NoError(s, err)
		assert.JSONEq(s, string(r.Metadata), string(m.Values()), "from what is followed, too")
		for _, id := range []runtime.InstanceID{
			{Namespace: w.self.ID.Namespace, PodName: "nobody"},
			{Namespace: w.self.ID.Namespace, PodName: "worker-0", UID: "another"},
		} {
			_, err := reader.Metadata(s.ctx(), id)
			require.ErrorIs(s, err, runtime.ErrNotFound)
		}
	}},
	{"names that no label can carry are refused", func(s *suite) {
		r := s.router("router-0")
		for _, name := range []string{"", "a/b", "a b", "-a"} {
			_, err := r.ListInstances(s.ctx(), namespace, name)
			require.Error(s, err)
			assert.False(s, errors.Is(err, runtime.ErrNotSynced))
			_, err = r.Subscribe(s.ctx(), name, component)
			require.Error(s, err)
		}
	}},
}
