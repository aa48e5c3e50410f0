package runtime_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

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

func TestHealthServerStops(t *testing.T) {
	s, err := runtime.StartHealthServer(t.Context(), runtime.NewHealth(), 0)
	require.NoError(t, err)
	assert.NotEmpty(t, s.Addr().String())
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
}
