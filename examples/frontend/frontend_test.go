package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/runtime"
)

// unsynced is a discovery whose one component is the test's to feed.
type unsynced struct {
	runtime.Discovery
	table *runtime.Table
}

func (u unsynced) Subscribe(context.Context, string, string, ...runtime.SubscribeOption) (*runtime.Subscription, error) {
	return u.table.Subscribe(nil)
}

func (u unsynced) ListInstances(context.Context, string, string, ...runtime.ListOption) ([]runtime.Instance, error) {
	return nil, runtime.ErrForbidden
}

// instance is one whose worker listens on that server.
func instance(t *testing.T, name, url string, ready bool) *runtime.Instance {
	self, _, err := runtime.Registration{
		Namespace: "dynamo", Component: "go-backend",
		Endpoints: []runtime.RegisterEndpoint{{Name: "generate", Transport: runtime.TCP(strings.TrimPrefix(url, "http://") + "/1f/generate")}},
	}.Resolve(runtime.Identity{PodName: name, PodNamespace: "llm", PodUID: name})
	require.NoError(t, err)
	self.Ready = ready
	return &self
}

func TestFrontendRoutesToReadyInstancesInTurn(t *testing.T) {
	worker := func(name string) *httptest.Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			_, _ = io.WriteString(w, name+" "+r.URL.Path+" "+string(body))
		}))
		t.Cleanup(s.Close)
		return s
	}
	a, b, gone := worker("a"), worker("b"), worker("gone")
	gone.Close()

	table := runtime.NewTable(nil)
	events := make(chan runtime.Event, 16)
	routes, err := runtime.Follow(t.Context(), unsynced{table: table}, "dynamo", "go-backend", func(ev runtime.Event) { events <- ev })
	require.NoError(t, err)
	t.Cleanup(func() { _ = routes.Close() })
	f := newFrontend(routes, "generate")
	f.patience = 10 * time.Millisecond
	front := httptest.NewServer(f.handler())
	t.Cleanup(front.Close)
	call := func(method, path string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, front.URL+path, strings.NewReader("hi"))
		require.NoError(t, err)
		resp, err := front.Client().Do(req)
		require.NoError(t, err)
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, string(body)
	}
	follow := func(n int) {
		for range n {
			<-events
		}
	}

	code, body := call(http.MethodGet, "/health")
	assert.Equal(t, http.StatusServiceUnavailable, code, "not before it knows what there is")
	assert.Contains(t, body, "forbidden")
	table.MarkSynced()
	follow(1)
	code, _ = call(http.MethodGet, "/health")
	assert.Equal(t, http.StatusOK, code)
	code, body = call(http.MethodPost, "/generate")
	assert.Equal(t, http.StatusServiceUnavailable, code)
	assert.Contains(t, body, "no instance of dynamo/go-backend is ready")

	table.Apply(
		runtime.Change{Instance: instance(t, "a", a.URL, true)}, runtime.Change{Instance: instance(t, "b", b.URL, true)},
		runtime.Change{Instance: instance(t, "gone", gone.URL, true)},
	)
	follow(3)
	seen := map[string]int{}
	for range 6 {
		code, body = call(http.MethodPost, "/generate")
		assert.Equal(t, http.StatusOK, code)
		seen[body]++
	}
	assert.Equal(t, map[string]int{"a /generate hi": 4, "b /generate hi": 2}, seen, "the one that is gone is passed over")

	table.Apply(runtime.Change{Instance: instance(t, "a", a.URL, false)})
	follow(1)
	for range 3 {
		_, body = call(http.MethodPost, "/generate")
		assert.Equal(t, "b /generate hi", body)
	}
	_, body = call(http.MethodGet, "/instances")
	assert.Contains(t, body, `"pod":"a"`, "not ready is not gone")
}
