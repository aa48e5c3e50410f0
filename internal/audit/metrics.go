package audit

import "github.com/prometheus/client_golang/prometheus"

// Results of an Event.
const (
	resultRecorded = "recorded"
	resultLimited  = "limited"
	resultFailed   = "failed"
)

// Results of writing a Report.
const (
	resultWritten      = "written"
	resultConflict     = "conflict"
	resultNotInstalled = "not-installed"
)

// Where verdicts are dropped, and why.
const (
	queueEvents  = "events"
	queueReports = "reports"

	reasonFull          = "full"
	reasonNamespaceGone = "namespace-gone"
)

// metrics of the recorder. Every label takes one of a few values.
type metrics struct {
	events      *prometheus.CounterVec
	dropped     *prometheus.CounterVec
	reports     *prometheus.CounterVec
	reportBytes prometheus.Counter
	// installed is 1 while Reports can be written; it has no labels, and no value before that was tried.
	installed *prometheus.GaugeVec
}

func newMetrics() *metrics {
	m := &metrics{
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dynawire_audit_events_total",
			Help: "Events about findings by result (recorded, limited: the workload has had too many, failed). Equal verdicts that come faster than Events are written are one.",
		}, []string{"result"}),
		dropped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dynawire_audit_dropped_total",
			Help: "Verdicts that were logged and not recorded further, by queue (events, reports) and reason (full, namespace-gone).",
		}, []string{"queue", "reason"}),
		reports: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dynawire_audit_report_writes_total",
			Help: "Attempts to write a report by result (written, conflict: another replica was faster, failed, not-installed: the CRD is missing).",
		}, []string{"result"}),
		reportBytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "dynawire_audit_report_bytes_total",
			Help: "Bytes of reports sent to the API server.",
		}),
		installed: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "dynawire_audit_reports_installed",
			Help: "1 where the CRD of reports is installed, 0 where it is missing, as of the last write; absent before this replica has tried to write one.",
		}, nil),
	}
	for _, result := range []string{resultRecorded, resultLimited, resultFailed} {
		m.events.WithLabelValues(result)
	}
	for _, result := range []string{resultWritten, resultConflict, resultFailed, resultNotInstalled} {
		m.reports.WithLabelValues(result)
	}
	m.dropped.WithLabelValues(queueReports, reasonNamespaceGone)
	return m
}

func (m *metrics) register(r prometheus.Registerer, events, reports *pending) {
	r.MustRegister(m.events, m.dropped, m.reports, m.reportBytes, m.installed)
	for queue, p := range map[string]*pending{queueEvents: events, queueReports: reports} {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "dynawire_audit_pending", Help: "Distinct verdicts that wait to be written, by queue (events, reports).",
			ConstLabels: prometheus.Labels{"queue": queue},
		}, func() float64 { return float64(p.held()) }))
	}
}
