package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/dynawire/dynawire/pkg/runtime"
)

// worker answers requests.
type worker struct {
	discovery runtime.Discovery
	self      runtime.Instance
	model     string
	loaded    atomic.Bool
	served    atomic.Int64
	log       *slog.Logger
}

// load loads the model.
func (w *worker) load(ctx context.Context, takes time.Duration) error {
	select {
	case <-time.After(takes):
		w.loaded.Store(true)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// serve answers requests until ctx ends, and then finishes what is under way.
func (w *worker) serve(ctx context.Context, self runtime.Instance, l net.Listener) error {
	w.self = self
	server := &http.Server{Handler: w.handler(), ReadHeaderTimeout: 5 * time.Second}
	stopped := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
		defer cancel()
		stopped <- server.Shutdown(ctx)
	})
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	if err := <-stopped; !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

type generateRequest struct {
	Prompt string `json:"prompt"`
}

type generateResponse struct {
	Text     string `json:"text"`
	Model    string `json:"model"`
	Instance string `json:"instance"`
	Number   uint64 `json:"number"`
}

func (w *worker) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /generate", w.generate)
	mux.HandleFunc("POST /admin/status", w.setStatus)
	mux.HandleFunc("GET /admin/status", w.status)
	return mux
}

func (w *worker) generate(rw http.ResponseWriter, r *http.Request) {
	if !w.loaded.Load() {
		http.Error(rw, "the model is still loading", http.StatusServiceUnavailable)
		return
	}
	var req generateRequest
	if err := json.NewDecoder(http.MaxBytesReader(rw, r.Body, 1<<20)).Decode(&req); err != nil {
		http.Error(rw, "want {\"prompt\": …}: "+err.Error(), http.StatusBadRequest)
		return
	}
	n := w.served.Add(1)
	writeJSON(rw, generateResponse{
		Text:  fmt.Sprintf("%s (answer %d)", req.Prompt, n),
		Model: w.model, Instance: w.self.ID.PodName, Number: w.self.ID.Number(),
	})
}

// setStatus is for demonstrations: POST /admin/status?ready=false.
func (w *worker) setStatus(rw http.ResponseWriter, r *http.Request) {
	ready, err := strconv.ParseBool(r.FormValue("ready"))
	if err != nil {
		http.Error(rw, "want ?ready=true or ?ready=false", http.StatusBadRequest)
		return
	}
	status := runtime.StatusNotReady
	if ready {
		status = runtime.StatusReady
	}
	if err := w.discovery.SetStatus(r.Context(), w.self, status); err != nil {
		http.Error(rw, err.Error(), http.StatusConflict)
		return
	}
	w.log.Info("status set", "status", status)
	w.status(rw, r)
}

func (w *worker) status(rw http.ResponseWriter, r *http.Request) {
	status, err := w.discovery.Status(r.Context(), w.self)
	if err != nil {
		http.Error(rw, err.Error(), http.StatusInternalServerError)
		return
	}
	writeJSON(rw, map[string]any{"instance": w.self.ID.PodName, "status": status})
}

func writeJSON(rw http.ResponseWriter, v any) {
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(v) // the client may be gone; nobody to tell
}
