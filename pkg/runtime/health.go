package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dynawire/dynawire/pkg/wiring"
)

// Health is what the kubelet's probes ask: it answers like the system server of a Dynamo worker (ai-dynamo/dynamo
// lib/runtime/src/system_status_server.rs). /health is 503 until the status is ready. /live is 200 as long as the process
// answers: unlike Dynamo's, whose /live is 503 until ready, it does not let a liveness probe kill a worker that loads its
// model or drains.
//
// The kubelet's probe of a process that is not ready is kept until it is, or for most of the second that the kubelet waits:
// it hears of readiness when it comes, and not with its next probe.
//
// It is an http.Handler for those two paths: serve it with StartHealthServer or mount it on a mux of your own. All methods
// may be called from any goroutine.
type Health struct {
	started time.Time

	mu        sync.Mutex
	status    Status
	draining  bool
	changed   chan struct{} // closed with the next change of status
	refusals  int           // of the kubelet's probes, since the status is not ready
	endpoints []string
	checks    []*healthCheck
}

// healthCheck is one that the program added.
type healthCheck struct {
	name string
	call func(context.Context) error
	run  *checkRun // one that has not ended, or nil; guarded by Health.mu
}

// checkRun is one call of a check. Probes that come while it runs share it.
type checkRun struct {
	late <-chan struct{} // closed when it has taken too long
	done chan struct{}
	err  error // once done
}

// checkTimeout is how long a check may take: less than the second that a kubelet waits for an answer.
const checkTimeout = 800 * time.Millisecond

// NewHealth returns a Health that is not ready.
func NewHealth() *Health {
	// For the kubelet, a container that has just started is not ready either.
	return &Health{started: time.Now(), status: StatusNotReady, changed: make(chan struct{}), refusals: promptRefusals}
}

// SetStatus is what /health says from now on. After Drain, ready is refused with ErrDraining; what is no status always is.
func (h *Health) SetStatus(s Status) error {
	if err := CheckStatus(s); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if s == StatusReady && h.draining {
		return ErrDraining
	}
	if s != h.status {
		h.set(s)
	}
	return nil
}

// set is called with mu held.
func (h *Health) set(s Status) {
	h.status = s
	h.refusals = 0
	close(h.changed) // answers a probe that is kept
	h.changed = make(chan struct{})
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

// AddCheck makes /health depend on more than the status: it is 200 while the status is ready and every check returns nil,
// those that share a name, too. The checks are called for each probe of a ready process, at the same time, each with a
// context of 800 ms; probes that come meanwhile share the answer. One that takes longer has failed, and is not called again
// before it has returned. The body then has the reason under "checks". Peers are told by the pod's readiness; Status and
// what SetStatus said do not change, and nor does /live.
func (h *Health) AddCheck(name string, check func(context.Context) error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.checks = append(h.checks, &healthCheck{name: name, call: check})
}

// Drain makes the status not ready for good. The process then goes on serving until its peers have noticed, which takes a
// probe period or the pod's deletion, and exits.
func (h *Health) Drain() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.draining = true
	h.set(StatusNotReady)
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

func (h *Health) body(failed map[string]string) healthBody {
	up := time.Since(h.started)
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
	if h.status != StatusReady {
		h.mu.Unlock()
		return nil
	}
	checks := slices.Clone(h.checks)
	runs := make([]*checkRun, len(checks))
	for i, c := range checks {
		runs[i] = h.begin(ctx, c)
	}
	h.mu.Unlock()
	failed := map[string]string{}
	for i, run := range runs {
		if err := run.wait(ctx); err != nil {
			failed[checks[i].name] = err.Error()
		}
	}
	return failed
}

// begin calls a check, unless a call of it has not ended. Called with mu held.
func (h *Health) begin(ctx context.Context, c *healthCheck) *checkRun {
	if c.run != nil {
		return c.run
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTimeout) // the probe may go, others share the call
	run := &checkRun{late: ctx.Done(), done: make(chan struct{})}
	c.run = run
	go func() {
		defer cancel()
		defer close(run.done)
		run.err = c.call(ctx)
		h.mu.Lock()
		defer h.mu.Unlock()
		c.run = nil
	}()
	return run
}

var errCheckIsLate = errors.New("it has not answered in time")

func (r *checkRun) wait(ctx context.Context) error {
	select {
	case <-r.done:
	case <-r.late:
	case <-ctx.Done():
	}
	select {
	case <-r.done:
		return r.err
	default:
		return errCheckIsLate
	}
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
	var failed map[string]string
	if r.URL.Path == wiring.HealthPath {
		if strings.HasPrefix(r.UserAgent(), "kube-probe/") {
			h.keep(r.Context())
		}
		failed = h.failures(r.Context())
	}
	body := h.body(failed)
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == wiring.HealthPath && body.Status != StatusReady {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	// A client that went away is nobody's error.
	_ = json.NewEncoder(w).Encode(body)
}
