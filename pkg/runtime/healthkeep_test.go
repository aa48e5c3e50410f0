package runtime_test

import (
	"cmp"
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/runtime"
)

func TestHealthKeepsTheKubeletsProbe(t *testing.T) {
	const kept = 900 * time.Millisecond
	for name, tc := range map[string]struct {
		agent, path string
		before      func(t *testing.T, h *runtime.Health, probe func() int)
		during      func(h *runtime.Health) // after 300 ms
		code        int
		took        time.Duration
	}{
		"that starts and becomes ready": {during: func(h *runtime.Health) { _ = h.SetStatus(runtime.StatusReady) }, code: 200, took: 300 * time.Millisecond},
		"that does not become ready":    {code: 503, took: kept},
		"that is told again what it is": {during: func(h *runtime.Health) { _ = h.SetStatus(runtime.StatusNotReady) }, code: 503, took: kept},
		"that drains meanwhile":         {during: (*runtime.Health).Drain, code: 503, took: 300 * time.Millisecond},
		"that drains":                   {before: func(_ *testing.T, h *runtime.Health, _ func() int) { h.Drain() }, code: 503},
		"that is ready": {before: func(t *testing.T, h *runtime.Health, _ func() int) {
			require.NoError(t, h.SetStatus(runtime.StatusReady))
		}, code: 200},
		"that has just stopped being ready": {before: func(t *testing.T, h *runtime.Health, probe func() int) {
			require.NoError(t, h.SetStatus(runtime.StatusReady))
			require.NoError(t, h.SetStatus(runtime.StatusNotReady))
			for range 2 {
				assert.Equal(t, 503, probe())
			}
		}, code: 503},
		"that stopped being ready three probes ago": {before: func(t *testing.T, h *runtime.Health, probe func() int) {
			require.NoError(t, h.SetStatus(runtime.StatusReady))
			require.NoError(t, h.SetStatus(runtime.StatusNotReady))
			for range 3 {
				assert.Equal(t, 503, probe())
			}
		}, code: 503, took: kept},
		"asked by someone else":  {agent: "curl/8.0", code: 503},
		"asked whether it lives": {path: "/live", code: 200},
	} {
		t.Run("of a process "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := runtime.NewHealth()
				r := httptest.NewRequest(http.MethodGet, cmp.Or(tc.path, "/health"), nil)
				r.Header.Set("User-Agent", cmp.Or(tc.agent, "kube-probe/1.36"))
				probe := func() int {
					w := httptest.NewRecorder()
					h.ServeHTTP(w, r)
					return w.Code
				}
				start := time.Now()
				if tc.before != nil {
					tc.before(t, h, probe)
				}
				require.Zero(t, time.Since(start), "answered at once")
				if tc.during != nil {
					time.AfterFunc(300*time.Millisecond, func() { tc.during(h) })
				}
				assert.Equal(t, tc.code, probe())
				assert.Equal(t, tc.took, time.Since(start))
			})
		})
	}
}

func TestHealthLetsGoOfAProbeThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/health", nil)
		r.Header.Set("User-Agent", "kube-probe/1.36")
		time.AfterFunc(100*time.Millisecond, cancel)
		start := time.Now()
		runtime.NewHealth().ServeHTTP(httptest.NewRecorder(), r)
		assert.Equal(t, 100*time.Millisecond, time.Since(start))
	})
}
