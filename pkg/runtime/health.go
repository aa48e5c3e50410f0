package runtime

import (
	"context"
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
	checks    []*healthCheck
}

// healthCheck is one that the program added.
type healthCheck struct {
	name    string
	run     func(context.Context) error
	running bool // guarded by Health.mu
}

// checkTimeout is how long a check may take: less than the second that a kubelet waits for an answer.
const checkTimeout = 800 * time.Millisecond

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

// AddCheck makes /health depend on more than the status: it is 200 while the status is ready and every check returns nil.
// The checks are called for each probe of a ready process, at the same time, each with a context of 800 ms. One that takes
// longer has failed, and is not called again before it has returned. The body then has the reason under "checks". Peers are
// told by the pod's readiness; Status and what SetStatus said do not change.
func (h *Health) AddCheck(name string, check func(context.Context) error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.checks = append(h.checks, &healthCheck{name: name, run: check})
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
	// Checks are those that fail, and why.
	Checks map[string]string `json:"checks,omitempty"`
}

type healthUptime struct {
	Secs  int64 `json:"secs"`
	Nanos int64 `json:"nanos"`
}

func (h *Health) body(ctx context.Context) healthBody {
	up := time.Since(h.started)
	failed := h.failures(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	status := h.status
	if len(failed) > 0 {
		status = StatusNotReady
	}
	b := healthBody{
		Status:    status,
		Uptime:    healthUptime{Secs: int64(up / time.Second), Nanos: int64(up % time.Second)},
		Endpoints: make(map[string]Status, len(h.endpoints)),
		Checks:    failed,
	}
	for _, name := range h.endpoints {
		b.Endpoints[name] = status
	}
	return b
}

// failures runs the checks of a process that is ready; a process that is not needs none.
func (h *Health) failures(ctx context.Context) map[string]string {
	h.mu.Lock()
	if h.status != StatusReady || len(h.checks) == 0 {
		h.mu.Unlock()
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	type result struct {
		name string
		err  error
	}
	failed, started := map[string]string{}, 0
	results := make(chan result, len(h.checks))
	for _, c := range h.checks {
		failed[c.name] = "it has not answered in time"
		if c.running {
			continue
		}
		c.running = true
		started++
		go func() {
			err := c.run(ctx)
			h.mu.Lock()
			c.running = false
			h.mu.Unlock()
			results <- result{c.name, err}
		}()
	}
	h.mu.Unlock()
	for range started {
		select {
		case r := <-results:
			if delete(failed, r.name); r.err != nil {
				failed[r.name] = r.err.Error()
			}
		case <-ctx.Done():
			return failed
		}
	}
	return failed
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
	body := h.body(r.Context())
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == wiring.HealthPath && body.Status != StatusReady {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	// A client that went away is nobody's error.
	_ = json.NewEncoder(w).Encode(body)
}
