package runtime

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/dynawire/dynawire/pkg/wiring"
)

// Health is what the kubelet's probes ask: it answers like the system server of a Dynamo worker (ai-dynamo/dynamo
// lib/runtime/src/system_status_server.rs). /health is 503 until the status is ready. /live is 200 as long as the process
// answers: unlike Dynamo's, whose /live is 503 until ready, it does not let a liveness probe kill a worker that loads its
// model or drains.
//
// It is an http.Handler for those two paths: serve it with StartHealthServer or mount it on a mux of your own. All methods
// may be called from any goroutine.
type Health struct {
	started time.Time

	mu        sync.Mutex
	status    Status
	draining  bool
	endpoints []string
}

// NewHealth returns a Health that is not ready.
func NewHealth() *Health {
	return &Health{started: time.Now(), status: StatusNotReady}
}

// SetStatus is what /health says from now on. After Drain, ready is refused with ErrDraining.
func (h *Health) SetStatus(s Status) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s == StatusReady && h.draining {
		return ErrDraining
	}
	h.status = s
	return nil
}

// Status is what /health says.
func (h *Health) Status() Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.status
}

// SetEndpoints names the endpoints in the body; they share the status.
func (h *Health) SetEndpoints(names ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.endpoints = slices.Clone(names)
}

// Drain makes the status not ready for good. The process then goes on serving until its peers have noticed, which takes a
// probe period or the pod's deletion, and exits.
func (h *Health) Drain() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.draining = true
	h.status = StatusNotReady
}

// healthBody is the body of Dynamo's answer; uptime is how serde writes a Rust Duration.
type healthBody struct {
	Status    Status            `json:"status"`
	Uptime    healthUptime      `json:"uptime"`
	Endpoints map[string]Status `json:"endpoints"`
}

type healthUptime struct {
	Secs  int64 `json:"secs"`
	Nanos int64 `json:"nanos"`
}

func (h *Health) body() healthBody {
	up := time.Since(h.started)
	h.mu.Lock()
	defer h.mu.Unlock()
	b := healthBody{
		Status:    h.status,
		Uptime:    healthUptime{Secs: int64(up / time.Second), Nanos: int64(up % time.Second)},
		Endpoints: make(map[string]Status, len(h.endpoints)),
	}
	for _, name := range h.endpoints {
		b.Endpoints[name] = h.status
	}
	return b
}

// ServeHTTP answers /health and /live, and 404 for anything else.
func (h *Health) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != wiring.HealthPath && r.URL.Path != wiring.LivePath {
		http.NotFound(w, r)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
		return
	}
	body := h.body()
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == wiring.HealthPath && body.Status != StatusReady {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	// A client that went away is nobody's error.
	_ = json.NewEncoder(w).Encode(body)
}
