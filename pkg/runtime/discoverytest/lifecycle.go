package discoverytest

import (
	"encoding/json"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/runtime"
)

var lifecycle = []test{
	{"creating an instance does not make it ready", func(s *suite) {
		w, r := s.worker("worker-0"), s.router("router-0")
		assert.False(s, w.self.Ready)
		assert.Equal(s, "worker-0", w.self.ID.PodName)
		assert.NotEmpty(s, w.self.ID.UID)
		assert.Equal(s, [2]string{namespace, component}, [2]string{w.self.Namespace, w.self.Component})
		s.listed(r, "worker-0 (not ready)")
		f := s.follow(r)
		f.expect("Synced")
		f.expectNothing()
	}},
	{"ready, not ready, ready again", func(s *suite) {
		w, f := s.worker("worker-0"), s.follow(s.router("router-0"))
		f.expect("Synced")
		s.ready(w)
		ev := f.expect("NewReady worker-0")
		assert.Equal(s, w.self.ID, ev.Instance.ID)
		assert.True(s, ev.Instance.Ready)
		assert.False(s, ev.At.IsZero())
		e, ok := ev.Instance.Endpoint(endpoint)
		require.True(s, ok)
		assert.Equal(s, w.self.ID.Number(), e.InstanceID)
		assert.Equal(s, "192.0.2.1:8080", e.Transport.HostPort())
		s.notReady(w)
		assert.False(s, f.expect("NotReady worker-0").Instance.Ready)
		s.ready(w)
		assert.True(s, f.expect("Ready worker-0").Instance.Ready)
	}},
	{"an instance finds itself", func(s *suite) {
		w := s.worker("worker-0")
		s.ready(w)
		s.follow(w).expect("NewReady worker-0", "Synced")
	}},
	{"not ready is not gone", func(s *suite) {
		w, r := s.worker("worker-0"), s.router("router-0")
		s.ready(w)
		s.listed(r, "worker-0")
		s.notReady(w)
		s.listed(r, "worker-0 (not ready)")
		m, err := r.Metadata(s.ctx(), w.self.ID)
		require.NoError(s, err)
		assert.NotNil(s, m)
	}},
	{"terminating is not ready, and then gone", func(s *suite) {
		w, f := s.worker("worker-0"), s.follow(s.router("router-0"))
		f.expect("Synced")
		s.ready(w)
		f.expect("NewReady worker-0")
		s.world.Terminate(s.T, "worker-0")
		ev := f.expect("NotReady worker-0")
		assert.True(s, ev.Instance.Terminating)
		s.delete(w)
		assert.Equal(s, w.self.ID, f.expect("Deleted worker-0").Instance.ID)
	}},
	{"an instance that was never ready goes without a word", func(s *suite) {
		w, r := s.worker("worker-0"), s.router("router-0")
		f := s.follow(r)
		f.expect("Synced")
		s.listed(r, "worker-0 (not ready)")
		s.delete(w)
		s.listed(r)
		f.expectNothing()
	}},
	{"a pod that is killed is deleted", func(s *suite) {
		w, f := s.worker("worker-0"), s.follow(s.router("router-0"))
		s.ready(w)
		f.expect("NewReady worker-0")
		s.delete(w)
		f.expect("Deleted worker-0")
		f.expectNothing()
	}},
	{"a pod of the same name is another instance", func(s *suite) {
		old, r := s.worker("worker-0"), s.router("router-0")
		s.ready(old)
		f := s.follow(r)
		f.expect("NewReady worker-0")
		s.delete(old)
		young := s.worker("worker-0")
		s.ready(young)
		require.NotEqual(s, old.self.ID, young.self.ID)
		ev := f.expect("Deleted worker-0")
		assert.Equal(s, old.self.ID, ev.Instance.ID)
		ev = f.expect("NewReady worker-0")
		assert.Equal(s, young.self.ID, ev.Instance.ID)
		s.listed(r, "worker-0")
		_, err := r.Status(s.ctx(), old.self)
		require.ErrorIs(s, err, runtime.ErrNotFound)
		_, err = r.Metadata(s.ctx(), old.self.ID)
		require.ErrorIs(s, err, runtime.ErrNotFound)
	}},
	{"registering again replaces what was registered", func(s *suite) {
		w, f := s.worker("worker-0"), s.follow(s.router("router-0"))
		s.ready(w)
		before := f.expect("NewReady worker-0").Instance
		r := registration(9090)
		r.Endpoints = append(r.Endpoints, runtime.RegisterEndpoint{Name: "embed", Transport: runtime.TCP("192.0.2.1:9091")})
		s.register(w, r)
		after := f.expect("Updated worker-0").Instance
		assert.Greater(s, after.Revision, before.Revision)
		assert.True(s, after.Ready)
		e, _ := after.Endpoint(endpoint)
		assert.Equal(s, "192.0.2.1:9090", e.Transport.HostPort())
		_, ok := after.Endpoint("embed")
		assert.True(s, ok)
	}},
	{"a revision never comes again, though nobody looked for a while", func(s *suite) {
		w, r := s.worker("worker-0"), s.router("router-0")
		s.ready(w)
		f := s.follow(r)
		before := f.expect("NewReady worker-0").Instance
		require.NoError(s, f.Close())
		s.register(w, registration(9090))
		s.eventually("what was registered last", func() bool {
			m, err := r.Metadata(s.ctx(), w.self.ID)
			return err == nil && len(m.Endpoints()) == 1 && m.Endpoints()[0].Transport.HostPort() == "192.0.2.1:9090"
		})
		after := s.follow(r).expect("NewReady worker-0").Instance
		e, _ := after.Endpoint(endpoint)
		assert.Equal(s, "192.0.2.1:9090", e.Transport.HostPort())
		assert.Greater(s, after.Revision, before.Revision)
	}},
	{"registering the same again says nothing", func(s *suite) {
		w, f := s.worker("worker-0"), s.follow(s.router("router-0"))
		s.ready(w)
		f.expect("NewReady worker-0")
		s.register(w, registration(8080))
		f.expectNothing()
	}},
	{"readiness does not change the revision", func(s *suite) {
		w, f := s.worker("worker-0"), s.follow(s.router("router-0"))
		s.ready(w)
		revision := f.expect("NewReady worker-0").Instance.Revision
		s.notReady(w)
		assert.Equal(s, revision, f.expect("NotReady worker-0").Instance.Revision)
	}},
	{"status is told to its own and to others", func(s *suite) {
		w, other, r := s.worker("worker-0"), s.worker("worker-1"), s.router("router-0")
		status, err := w.Status(s.ctx(), w.self)
		require.NoError(s, err)
		assert.Equal(s, runtime.StatusNotReady, status)
		s.ready(w)
		status, err = w.Status(s.ctx(), w.self)
		require.NoError(s, err)
		assert.Equal(s, runtime.StatusReady, status, "the own one at once")
		s.eventually("the status at another pod", func() bool {
			status, err := r.Status(s.ctx(), w.self)
			return err == nil && status == runtime.StatusReady
		})
		for _, unknown := range []runtime.Status{"", "Ready", "not ready"} {
			require.ErrorContains(s, w.SetStatus(s.ctx(), w.self, unknown), "there is no status")
		}
		status, err = w.Status(s.ctx(), w.self)
		require.NoError(s, err)
		assert.Equal(s, runtime.StatusReady, status, "what is refused changes nothing")
		require.ErrorIs(s, other.SetStatus(s.ctx(), w.self, runtime.StatusReady), runtime.ErrNotOwn)
		require.ErrorIs(s, r.SetStatus(s.ctx(), w.self, runtime.StatusReady), runtime.ErrNotOwn)
	}},
	{"what cannot be registered is refused", func(s *suite) {
		w := s.start(Pod{Name: "worker-0", Namespace: namespace, Component: component})
		for name, tc := range map[string]struct {
			change func(*runtime.Registration)
			is     error
		}{
			"a component that the pod's label does not name": {func(r *runtime.Registration) { r.Component = "other" }, runtime.ErrLabelMismatch},
			"metadata above the limit": {func(r *runtime.Registration) {
				r.Metadata = json.RawMessage(`{"a":"` + strings.Repeat("x", runtime.MaxMetadata) + `"}`)
			}, runtime.ErrTooLarge},
			"metadata that is no object":   {func(r *runtime.Registration) { r.Metadata = json.RawMessage(`[1]`) }, nil},
			"an endpoint with a dot":       {func(r *runtime.Registration) { r.Endpoints[0].Name = "a.b" }, nil},
			"an endpoint twice":            {func(r *runtime.Registration) { r.Endpoints = append(r.Endpoints, r.Endpoints[0]) }, nil},
			"no transport":                 {func(r *runtime.Registration) { r.Endpoints[0].Transport = runtime.Transport{} }, nil},
			"a card without a name":        {func(r *runtime.Registration) { r.Endpoints[0].ModelCard = json.RawMessage(`{}`) }, nil},
			"a component with a separator": {func(r *runtime.Registration) { r.Component = "a/b" }, nil},
		} {
			r := registration(8080)
			tc.change(&r)
			_, err := w.CreateInstance(s.ctx(), r)
			require.Error(s, err, name)
			if tc.is != nil {
				require.ErrorIs(s, err, tc.is, name)
			}
		}
		s.listed(s.router("router-0"))
	}},
}
