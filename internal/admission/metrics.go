package admission

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/dynawire/dynawire/internal/admission/review"
	"github.com/dynawire/dynawire/pkg/validate"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// Metrics of admission. Every label takes one of a few values, whatever is asked.
type Metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	findings *prometheus.CounterVec
	panics   *prometheus.CounterVec
	accounts *prometheus.CounterVec
}

// NewMetrics registers the metrics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dynawire_admission_requests_total",
			Help: "Admission requests by hook, operation, decision (patched, allowed, denied, dry-run, error) and reason.",
		}, []string{"hook", "operation", "decision", "reason"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "dynawire_admission_duration_seconds",
			Help: "Time from a request's first byte to its answer, by hook.",
			// A request takes a tenth of a millisecond; only one that waits for a ServiceAccount takes longer than a few.
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}, []string{"hook"}),
		findings: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dynawire_admission_findings_total",
			Help: "Findings of validation by rule, severity (deny, warn) and mode (enforce, warn, audit).",
		}, []string{"rule", "severity", "mode"}),
		panics: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dynawire_admission_panics_total",
			Help: "Requests that ended in a panic, by hook.",
		}, []string{"hook"}),
		accounts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dynawire_admission_account_lookups_total",
			Help: "Look-ups of the discovery ServiceAccount by result (cached, live, waited, missing).",
		}, []string{"result"}),
	}
	r.MustRegister(m.requests, m.duration, m.findings, m.panics, m.accounts)
	return m
}

func (m *Metrics) answered(hook string, r *review.Head, a *answer, took time.Duration) {
	decision, reason := a.decision(), a.reason
	if r.DryRun {
		// A dry run leaves no trace of what it would have done.
		decision, reason = "dry-run", ""
	}
	m.requests.WithLabelValues(hook, operation(r.Operation), decision, reason).Inc()
	m.duration.WithLabelValues(hook).Observe(took.Seconds())
}

func (m *Metrics) failed(hook string, r *review.Head, code int, took time.Duration) {
	m.requests.WithLabelValues(hook, operation(r.Operation), "error", strconv.Itoa(code)).Inc()
	m.duration.WithLabelValues(hook).Observe(took.Seconds())
}

func (m *Metrics) panicked(hook string) { m.panics.WithLabelValues(hook).Inc() }

func (m *Metrics) found(findings []validate.Finding, s wiring.Settings) {
	for _, f := range findings {
		m.findings.WithLabelValues(f.Rule, string(f.Severity), string(effectiveMode(f, s))).Inc()
	}
}

// effectiveMode is the mode in which a finding was dealt with: the namespace's, unless it says something else of the rule.
func effectiveMode(f validate.Finding, s wiring.Settings) wiring.Mode {
	switch s.Rules[f.Rule] {
	case wiring.ActionDeny:
		return wiring.Enforce
	case wiring.ActionWarn:
		return wiring.Warn
	case wiring.ActionAudit:
		return wiring.Audit
	default:
		return modeOf(s)
	}
}

func (m *Metrics) account(result string) { m.accounts.WithLabelValues(result).Inc() }

// operation keeps the label bounded: the value comes from whoever calls.
func operation(o string) string {
	switch o {
	case "CREATE", "UPDATE", "DELETE", "CONNECT":
		return o
	default:
		return "other"
	}
}
