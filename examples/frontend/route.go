package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// frontend routes to the instances that are ready, in turn.
type frontend struct {
	sub      *runtime.Subscription
	endpoint string
	client   *http.Client
	stopping atomic.Bool
	next     atomic.Uint64

	mu    sync.Mutex
	ready []runtime.Instance // sorted by pod name; replaced, never changed
}

func newFrontend(sub *runtime.Subscription, endpoint string) *frontend {
	return &frontend{sub: sub, endpoint: endpoint, client: &http.Client{Timeout: 30 * time.Second}}
}

// follow keeps the routes up to date: what is not ready gets no traffic.
func (f *frontend) follow(ev runtime.Event) {
	if ev.Type == runtime.Synced {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	ready := slices.DeleteFunc(slices.Clone(f.ready), func(i runtime.Instance) bool { return i.ID == ev.Instance.ID })
	if ev.Instance.Ready {
		ready = append(ready, ev.Instance)
	}
	slices.SortFunc(ready, func(a, b runtime.Instance) int { return cmp.Compare(a.ID.PodName, b.ID.PodName) })
	f.ready = ready
}

// pick returns the instances in the order in which to try them.
func (f *frontend) pick() []runtime.Instance {
	f.mu.Lock()
	ready := f.ready
	f.mu.Unlock()
	if len(ready) == 0 {
		return nil
	}
	n := int((f.next.Add(1) - 1) % uint64(len(ready)))
	return append(slices.Clone(ready[n:]), ready[:n]...)
}

func (f *frontend) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+wiring.HealthPath, f.health)
	mux.HandleFunc("GET "+wiring.LivePath, func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]string{"status": "live", "message": "Service is live"})
	})
	mux.HandleFunc("GET /instances", f.instances)
	mux.HandleFunc("POST /generate", f.generate)
	return mux
}

// health answers in the form of Dynamo's frontend. It is ready once it knows what there is, even if that is nothing.
func (f *frontend) health(w http.ResponseWriter, _ *http.Request) {
	s := f.sub.Snapshot()
	status, code := "healthy", http.StatusOK
	switch {
	case f.stopping.Load():
		status, code = "shutting_down", http.StatusServiceUnavailable
	case !s.Synced:
		status, code = "not_ready", http.StatusServiceUnavailable
	}
	writeJSON(w, code, map[string]any{"status": status, "instances": s.Instances})
}

func (f *frontend) instances(w http.ResponseWriter, _ *http.Request) {
	s := f.sub.Snapshot()
	body := map[string]any{"synced": s.Synced, "instances": s.Instances}
	if !s.StaleSince.IsZero() {
		body["staleSince"] = s.StaleSince
	}
	writeJSON(w, http.StatusOK, body)
}

// generate passes the request on. An instance that cannot be reached is passed over: the event that says so may be on its
// way.
func (f *frontend) generate(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		writeJSON(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
		return
	}
	last := "no instance is ready"
	for _, i := range f.pick() {
		answer, err := f.call(r, i, body)
		if err != nil {
			last = err.Error()
			continue
		}
		defer func() { _ = answer.Body.Close() }()
		w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
		w.WriteHeader(answer.StatusCode)
		_, _ = io.Copy(w, answer.Body) // the client may be gone
		return
	}
	writeJSON(w, http.StatusServiceUnavailable, map[string]string{"error": last})
}

func (f *frontend) call(r *http.Request, i runtime.Instance, body []byte) (*http.Response, error) {
	e, ok := i.Endpoint(f.endpoint)
	if !ok {
		return nil, fmt.Errorf("instance %s has no endpoint %q", i.ID, f.endpoint)
	}
	url := "http://" + e.Transport.HostPort() + "/generate"
	req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	return f.client.Do(req)
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}
