package drift

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/dynawire/dynawire/pkg/wiring"
)

// Namespace is an opted-in Namespace.
type Namespace struct {
	Name     string
	Settings wiring.Settings
}

// Source is where a scan reads from.
type Source interface {
	// Pods calls yield for each pod that has not ended and is not about to.
	Pods(ctx context.Context, namespace string, yield func(Pod)) error
	// Models calls yield for the pod and the metadata document of each DynamoWorkerMetadata.
	Models(ctx context.Context, namespace string, yield func(podUID string, data []byte)) error
}

// Reports keeps what the last scan of a namespace found.
type Reports interface {
	Replace(ctx context.Context, namespace string, at time.Time, findings []Finding) error
	// Namespaces are those of which something is kept.
	Namespaces(ctx context.Context) ([]string, error)
}

// Config of a Scanner. All fields but Repair are required.
type Config struct {
	// Namespaces are those that are opted in.
	Namespaces func(context.Context) ([]Namespace, error)
	Source     Source
	Reports    Reports
	// Interval is from the end of a scan to the next.
	Interval time.Duration
	// Repair evicts unwired pods; nil for none.
	Repair     *Repair
	Log        logr.Logger
	Registerer prometheus.Registerer
}

// Scanner scans the opted-in Namespaces one after the other, again and again. It runs on the leader.
type Scanner struct {
	Config
	found    *prometheus.GaugeVec
	failures prometheus.Counter
	last     prometheus.Gauge
	// known are the namespaces of the last scan, and others that may have a report; looked is whether the reports of the
	// leader before are among them.
	known  map[string]bool
	looked bool
}

// NewScanner makes a scanner and registers its metrics.
func NewScanner(c Config) *Scanner {
	s := &Scanner{
		Config: c,
		found: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "dynawire_drift_pods",
			Help: "Running pods that the last scan found at fault, by namespace and rule.",
		}, []string{"namespace", "rule"}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "dynawire_drift_failures_total",
			Help: "Scans of a namespace that failed; the gauge then keeps what the scan before found.",
		}),
		last: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "dynawire_drift_last_scan_timestamp_seconds",
			Help: "When the last scan of all namespaces ended.",
		}),
	}
	c.Registerer.MustRegister(s.found, s.failures, s.last)
	return s
}

// Start implements manager.Runnable: it scans until ctx ends.
func (s *Scanner) Start(ctx context.Context) error {
	for {
		s.scan(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(s.Interval):
		}
	}
}

// scan looks at every namespace once.
func (s *Scanner) scan(ctx context.Context) {
	namespaces, err := s.Namespaces(ctx)
	if err != nil {
		s.fail(ctx, err, "")
		return
	}
	s.look(ctx)
	now := map[string]bool{}
	for _, ns := range namespaces {
		now[ns.Name] = true
		if err := s.scanNamespace(ctx, ns); err != nil {
			s.fail(ctx, err, ns.Name)
		}
		if ctx.Err() != nil {
			return
		}
	}
	for name := range s.known {
		if now[name] {
			continue
		}
		s.found.DeletePartialMatch(prometheus.Labels{"namespace": name})
		if err := s.Reports.Replace(ctx, name, time.Now(), nil); err != nil {
			s.Log.Info("the report of a namespace that is no longer opted in stays until the next scan", "namespace", name, "error", err.Error())
			now[name] = true
		}
	}
	s.known = now
	s.last.SetToCurrentTime()
}

// look finds the reports that a leader before this one has left.
func (s *Scanner) look(ctx context.Context) {
	if s.looked {
		return
	}
	namespaces, err := s.Reports.Namespaces(ctx)
	if err != nil {
		s.fail(ctx, err, "")
		return
	}
	s.looked = true
	if s.known == nil {
		s.known = map[string]bool{}
	}
	for _, name := range namespaces {
		s.known[name] = true
	}
}

func (s *Scanner) fail(ctx context.Context, err error, namespace string) {
	if ctx.Err() != nil {
		return
	}
	s.failures.Inc()
	s.Log.Error(err, "scan for drift failed", "namespace", namespace)
}

func (s *Scanner) scanNamespace(ctx context.Context, ns Namespace) error {
	known := published{}
	if err := s.Source.Models(ctx, ns.Name, known.add); err != nil {
		return err
	}
	var findings []Finding
	var unwired []Pod
	busy := map[string]bool{} // by the workload's UID: has a pod that is not ready, and not for want of wiring
	all := models{}
	err := s.Source.Pods(ctx, ns.Name, func(p Pod) {
		lacks := false
		for _, f := range judge(p.Pod, ns.Settings) {
			findings = append(findings, Finding{Pod: p.Pod, Finding: f})
			lacks = lacks || f.Rule == RuleUnwired
		}
		switch {
		case lacks:
			unwired = append(unwired, p)
		case !p.Ready:
			busy[controllerOf(p.Pod).UID] = true
		}
		all.add(p, ns.Settings, known)
	})
	if err != nil {
		return err
	}
	findings = append(findings, all.findings()...)
	s.count(ns.Name, findings)
	if err := s.Reports.Replace(ctx, ns.Name, time.Now(), findings); err != nil {
		return fmt.Errorf("report on namespace %s: %w", ns.Name, err)
	}
	if s.Repair != nil {
		return s.Repair.evict(ctx, unwired, busy)
	}
	return nil
}

// count sets the gauge to what a scan found. A pod counts once for each rule.
func (s *Scanner) count(namespace string, findings []Finding) {
	type fault struct{ uid, rule string }
	seen := map[fault]bool{}
	pods := map[string]int{}
	for _, f := range findings {
		at := fault{f.Pod.Metadata.UID, f.Rule}
		if !seen[at] {
			seen[at] = true
			pods[f.Rule]++
		}
	}
	s.found.DeletePartialMatch(prometheus.Labels{"namespace": namespace})
	for rule, n := range pods {
		s.found.WithLabelValues(namespace, rule).Set(float64(n))
	}
}
