package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/runtime"
)

func TestHealthAnswersLikeDynamo(t *testing.T) {
	h := runtime.NewHealth()
	h.SetEndpoints("generate")
	ask := func(method, path string) (int, string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		return w.Code, w.Body.String()
	}
	var body struct {
		Status    string
		Uptime    struct{ Secs, Nanos *int64 }
		Endpoints map[string]string
	}
	code, text := ask(http.MethodGet, "/health")
	assert.Equal(t, http.StatusServiceUnavailable, code)
	require.NoError(t, json.Unmarshal([]byte(text), &body))
	assert.Equal(t, "notready", body.Status)
	assert.Equal(t, map[string]string{"generate": "notready"}, body.Endpoints)
	assert.NotNil(t, body.Uptime.Secs)
	assert.NotNil(t, body.Uptime.Nanos)

	code, _ = ask(http.MethodGet, "/live")
	assert.Equal(t, http.StatusOK, code, "a liveness probe must not kill a worker that loads")

	require.NoError(t, h.SetStatus(runtime.StatusReady))
	code, text = ask(http.MethodGet, "/health")
	assert.Equal(t, http.StatusOK, code)
	assert.Contains(t, text, `"status":"ready"`)

	h.Drain()
	code, _ = ask(http.MethodHead, "/health")
	assert.Equal(t, http.StatusServiceUnavailable, code)
	require.ErrorIs(t, h.SetStatus(runtime.StatusReady), runtime.ErrDraining)
	code, _ = ask(http.MethodGet, "/live")
	assert.Equal(t, http.StatusOK, code)

	code, _ = ask(http.MethodGet, "/metrics")
	assert.Equal(t, http.StatusNotFound, code)
	code, _ = ask(http.MethodPost, "/health")
	assert.Equal(t, http.StatusMethodNotAllowed, code)
}

func TestHealthComposesWithChecks(t *testing.T) {
	h := runtime.NewHealth()
	h.SetEndpoints("generate")
	var calls atomic.Int32
	var failure atomic.Value
	failure.Store("")
	h.AddCheck("gpu", func(context.Context) error {
		calls.Add(1)
		if why, _ := failure.Load().(string); why != "" {
			return errors.New(why)
		}
		return nil
	})
	release := make(chan struct{})
	var hangs atomic.Bool
	var hung atomic.Int32
	h.AddCheck("queue", func(context.Context) error { // one that does not heed its context
		if hangs.Load() {
			hung.Add(1)
			<-release
		}
		return nil
	})
	ask := func(path string) (int, string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Code, w.Body.String()
	}
	code, _ := ask("/health")
	assert.Equal(t, http.StatusServiceUnavailable, code)
	assert.Zero(t, calls.Load(), "not ready anyhow")

	require.NoError(t, h.SetStatus(runtime.StatusReady))
	code, body := ask("/health")
	assert.Equal(t, http.StatusOK, code)
	assert.NotContains(t, body, "checks")

	failure.Store("the GPU fell off the bus")
	code, body = ask("/health")
	assert.Equal(t, http.StatusServiceUnavailable, code)
	assert.Contains(t, body, `"status":"notready"`)
	assert.Contains(t, body, `"endpoints":{"generate":"notready"},"checks":{"gpu":"the GPU fell off the bus"}`)
	assert.Equal(t, runtime.StatusReady, h.Status())
	code, _ = ask("/live")
	assert.Equal(t, http.StatusOK, code)

	failure.Store("")
	hangs.Store(true)
	for range 2 {
		code, body = ask("/health")
		assert.Equal(t, http.StatusServiceUnavailable, code)
		assert.Contains(t, body, `"checks":{"queue":"it has not answered in time"}`)
	}
	assert.EqualValues(t, 1, hung.Load(), "it is not called again before it has returned")
	hangs.Store(false)
	close(release)
	require.Eventually(t, func() bool { code, _ := ask("/health"); return code == http.StatusOK }, 5*time.Second, time.Millisecond)
}

// The kubelet's probes and people ask at the same time; a check that takes its time has answered all of them.
func TestHealthChecksAreSharedByProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := runtime.NewHealth()
		require.NoError(t, h.SetStatus(runtime.StatusReady))
		asked, answer := make(chan struct{}, 8), make(chan error)
		h.AddCheck("gpu", func(context.Context) error { asked <- struct{}{}; return <-answer })
		codes := make(chan int, 2)
		ask := func(ctx context.Context) {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/health", nil))
			codes <- w.Code
		}
		ctx, goAway := context.WithCancel(t.Context())
		go ask(ctx)
		<-asked
		go ask(t.Context())
		synctest.Wait() // it waits, too
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/live", nil))
		assert.Equal(t, http.StatusOK, w.Code, "liveness asks no checks and waits for none")
		goAway()
		assert.Equal(t, http.StatusServiceUnavailable, <-codes, "nobody is there to be answered")
		answer <- nil
		assert.Equal(t, http.StatusOK, <-codes, "the probe that came second")
		assert.Empty(t, asked, "it was called once")
	})
}

func TestHealthChecksOfOneNameAllCount(t *testing.T) {
	for _, order := range [][]error{{errors.New("broken"), nil}, {nil, errors.New("broken")}} {
		h := runtime.NewHealth()
		require.NoError(t, h.SetStatus(runtime.StatusReady))
		first := make(chan struct{})
		h.AddCheck("gpu", func(context.Context) error { defer close(first); return order[0] })
		h.AddCheck("gpu", func(context.Context) error { <-first; return order[1] })
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/health", nil))
		assert.Equal(t, http.StatusServiceUnavailable, w.Code)
		assert.Contains(t, w.Body.String(), `"checks":{"gpu":"broken"}`)
	}
}

func TestHealthServerStops(t *testing.T) {
	s, err := runtime.StartHealthServer(t.Context(), runtime.NewHealth(), runtime.AnyPort)
	require.NoError(t, err)
	assert.NotEmpty(t, s.Addr().String())
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
}
