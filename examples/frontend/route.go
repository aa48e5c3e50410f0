package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// frontend routes to the instances that are ready, in turn.
type frontend struct {
	routes   *runtime.Routes
	endpoint string
	client   *http.Client
	stopping atomic.Bool
	// patience is how long a request waits for an instance to be ready, and a probe for the first synchronisation.
	patience time.Duration
}

func newFrontend(routes *runtime.Routes, endpoint string) *frontend {
	return &frontend{
		routes: routes, endpoint: endpoint, client: &http.Client{Timeout: 30 * time.Second}, patience: 500 * time.Millisecond,
	}
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

// health answers in the form of Dynamo's frontend. It is ready once it knows what there is, even if that is nothing; until
// then it says what is in the way.
func (f *frontend) health(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), f.patience)
	defer cancel()
	body, code := map[string]any{"status": "healthy"}, http.StatusOK
	if f.stopping.Load() {
		body["status"], code = "shutting_down", http.StatusServiceUnavailable
	} else if err := f.routes.WaitSynced(ctx); err != nil {
		body["status"], body["error"], code = "not_ready", err.Error(), http.StatusServiceUnavailable
	}
	body["instances"] = f.routes.Snapshot().Instances
	writeJSON(w, code, body)
}

func (f *frontend) instances(w http.ResponseWriter, _ *http.Request) {
	s := f.routes.Snapshot()
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
	ctx, cancel := context.WithTimeout(r.Context(), f.patience)
	defer cancel()
	if err := f.routes.WaitReady(ctx); err != nil {
		writeJSON(w, http.StatusServiceUnavailable, map[string]string{"error": err.Error()})
		return
	}
	last := "no instance is ready any more"
	for i := range f.routes.InTurn() {
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
