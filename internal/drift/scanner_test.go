package drift

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/dynawire/dynawire/pkg/wiring"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cluster is a Source, and Reports.
type cluster struct {
	pods    map[string][]Pod
	broken  string // a namespace that cannot be listed
	reports map[string][]string
	scans   int
	silent  error // why the reports cannot be listed or written
}

func (c *cluster) Pods(_ context.Context, namespace string, yield func(Pod)) error {
	c.scans++
	if namespace == c.broken {
		return errors.New("no connection")
	}
	for _, p := range c.pods[namespace] {
		yield(p)
	}
	return nil
}

func (c *cluster) Models(context.Context, string, func(string, []byte)) error { return nil }

func (c *cluster) Replace(_ context.Context, namespace string, _ time.Time, findings []Finding) error {
	if c.silent != nil {
		return c.silent
	}
	c.reports[namespace] = nil
	for _, f := range findings {
		c.reports[namespace] = append(c.reports[namespace], f.Pod.Metadata.Name+" "+f.Rule)
	}
	return nil
}

func (c *cluster) Namespaces(context.Context) ([]string, error) {
	return slices.Collect(maps.Keys(c.reports)), c.silent
}

func (c *cluster) scanner(registry *prometheus.Registry, names ...string) *Scanner {
	return NewScanner(Config{
		Namespaces: func(context.Context) ([]Namespace, error) {
			var all []Namespace
			for _, name := range names {
				all = append(all, Namespace{Name: name})
			}
			return all, nil
		},
		Source: c, Reports: c, Interval: time.Minute, Log: logr.Discard(), Registerer: registry,
	})
}

func named(t *testing.T, name string, p string) Pod {
	out := Pod{Pod: decoded(t, p), Ready: true}
	out.Metadata.Name, out.Metadata.UID = name, name
	return out
}

func TestScan(t *testing.T) {
	c := &cluster{reports: map[string][]string{}, pods: map[string][]Pod{
		"a": {named(t, "old", worker), named(t, "new", wired(t, worker, wiring.Settings{}))},
		"b": {named(t, "x", worker), named(t, "y", worker)},
	}}
	registry := prometheus.NewRegistry()
	s := c.scanner(registry, "a", "b")
	s.scan(t.Context())
	assert.Equal(t, map[string][]string{"a": {"old unwired"}, "b": {"x unwired", "y unwired"}}, c.reports)
	gauge(t, registry, `dynawire_drift_pods{namespace="a",rule="unwired"} 1
dynawire_drift_pods{namespace="b",rule="unwired"} 2
`)

	// What cannot be read keeps what was known, what is mended and who opted out goes.
	c.broken, c.pods["a"] = "b", c.pods["a"][1:]
	s.scan(t.Context())
	assert.Empty(t, c.reports["a"])
	gauge(t, registry, "dynawire_drift_pods{namespace=\"b\",rule=\"unwired\"} 2\n")
	assert.InDelta(t, 1, testutil.ToFloat64(s.failures), 0)

	s.Namespaces = func(context.Context) ([]Namespace, error) { return nil, nil }
	s.scan(t.Context())
	assert.Equal(t, 0, testutil.CollectAndCount(s.found))
	assert.Empty(t, c.reports["b"])
}

// A leader does not know what the one before it has seen: the reports do.
func TestReportOfANamespaceThatOptedOutBeforeThisLeaderGoes(t *testing.T) {
	c := &cluster{reports: map[string][]string{"out": {"w unwired"}, "in": {"w unwired"}}}
	s := c.scanner(prometheus.NewRegistry(), "in")
	c.silent = errors.New("no connection")
	s.scan(t.Context())
	assert.Equal(t, map[string][]string{"out": {"w unwired"}, "in": {"w unwired"}}, c.reports)
	c.silent, c.broken = nil, "in"
	s.scan(t.Context())
	assert.Equal(t, map[string][]string{"out": nil, "in": {"w unwired"}}, c.reports, "it is tried again, and nothing else is touched")

	// One that cannot be written is tried again, too.
	s.Namespaces = func(context.Context) ([]Namespace, error) { return nil, nil }
	c.silent = errors.New("no connection")
	s.scan(t.Context())
	c.silent = nil
	s.scan(t.Context())
	assert.Empty(t, c.reports["in"])
}

// A worker that lacks its wiring may end again and again: it is the one that needs the repair.
func TestScanRepairs(t *testing.T) {
	pod := func(name, spec string, ready bool) Pod {
		p := named(t, name, spec)
		p.Ready = ready
		p.Metadata.OwnerReferences = of(name[:1], name).Metadata.OwnerReferences
		return p
	}
	good := wired(t, worker, wiring.Settings{})
	for name, tc := range map[string]struct {
		pods []Pod
		want []string
	}{
		"crash loops for want of wiring":         {[]Pod{pod("a1", worker, false)}, []string{"a1/a1"}},
		"one is down, its peer serves":           {[]Pod{pod("a1", worker, true), pod("a2", worker, false)}, []string{"a2/a2"}},
		"the one made anew is not ready yet":     {[]Pod{pod("a1", worker, false), pod("a2", good, false)}, nil},
		"the one made anew is":                   {[]Pod{pod("a1", worker, false), pod("a2", good, true)}, []string{"a1/a1"}},
		"another workload's pod is not ready":    {[]Pod{pod("a1", worker, true), pod("b1", good, false)}, []string{"a1/a1"}},
		"nothing to do for what is only unready": {[]Pod{pod("a1", good, false)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := &cluster{reports: map[string][]string{}, pods: map[string][]Pod{"n": tc.pods}}
			s := c.scanner(prometheus.NewRegistry(), "n")
			e := &evictor{}
			s.Repair, _ = repair(5, e)
			s.scan(t.Context())
			assert.Equal(t, tc.want, e.evicted)
		})
	}
}

func gauge(t *testing.T, registry *prometheus.Registry, want string) {
	t.Helper()
	const head = `# HELP dynawire_drift_pods Running pods that the last scan found at fault, by namespace and rule.
# TYPE dynawire_drift_pods gauge
`
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(head+want), "dynawire_drift_pods"))
}

func TestScansComeAtIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{reports: map[string][]string{}}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- c.scanner(prometheus.NewRegistry(), "a").Start(ctx) }()
		time.Sleep(150 * time.Second)
		cancel()
		require.NoError(t, <-done)
		assert.Equal(t, 3, c.scans, "at once, after one minute and after two")
	})
}
