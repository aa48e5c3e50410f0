//go:build integration

package integration_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dynawire/dynawire/internal/audit"
	"github.com/dynawire/dynawire/internal/report"
	"github.com/dynawire/dynawire/internal/report/store"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/validate"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// errBeforeReports is what a client was told of Reports before their CRD was there.
var errBeforeReports error

// installReports installs the CRD as docs/audit.md says, and waits until it is served.
func installReports() error {
	reports, err := newStore(config)
	if err != nil {
		return err
	}
	_, errBeforeReports = reports.Get(context.Background(), "default", report.Admission)
	dir, err := os.MkdirTemp("", "dynawire-reports-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := plane.WriteKubeconfig(kubeconfig); err != nil {
		return err
	}
	out, err := exec.Command(
		plane.Kubectl(), "--kubeconfig", kubeconfig, "--as", "admin", "--as-group", "system:masters",
		"create", "-k", filepath.Join("..", "..", "manifests", "crds", "openreports"),
	).CombinedOutput()
	if err != nil {
		return fmt.Errorf("install the CRD of reports: %w\n%s", err, out)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(tick) {
		if _, err = reports.List(context.Background(), "default"); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

func newStore(c *rest.Config) (*store.Client, error) {
	h, err := rest.HTTPClientFor(c)
	if err != nil {
		return nil, err
	}
	return store.New(c, h)
}

// reported are the entries of a namespace's Report.
func reported(t require.TestingT, namespace string) []report.Entry {
	reports, err := newStore(config)
	require.NoError(t, err)
	r, err := reports.Get(context.Background(), namespace, report.Admission)
	require.NoError(t, err)
	return report.Entries(r)
}

func TestClientsAreToldWhatIsMissing(t *testing.T) {
	t.Parallel()
	require.ErrorIs(t, errBeforeReports, store.ErrNotInstalled)
	reports, err := newStore(config)
	require.NoError(t, err)
	_, err = reports.Create(t.Context(), report.New("no-such-namespace", report.Admission))
	require.ErrorIs(t, err, store.ErrNamespaceGone)
	_, err = reports.Get(t.Context(), "default", report.Admission)
	require.Error(t, err)
	require.NotErrorIs(t, err, store.ErrNotInstalled)
}

func TestRefusalIsInTheReport(t *testing.T) {
	t.Parallel()
	namespace := optedIn(t, nil)
	dry := worker(namespace, "dry", mismatched)
	require.Error(t, cluster.Create(t.Context(), dry, client.DryRunAll))
	for range 3 {
		require.Error(t, cluster.Create(t.Context(), worker(namespace, "w", mismatched)))
	}
	eventually(t, func(c require.TestingT) {
		entries := reported(c, namespace)
		require.Len(c, entries, 1, "a dry run leaves no trace")
		e := entries[0]
		require.EqualValues(c, 3, e.Count)
		require.Equal(c, "Pod/w component-mismatch refused enforce CREATE", fmt.Sprintf("%s/%s %s %s %s %s", e.Object.Kind, e.Object.Name, e.Rule, e.Outcome, e.Mode, e.Operation))
	})
}

// lossy is a transport on which the answer to every third write of a Report is lost, after the API server has done what was asked.
type lossy struct {
	next   http.RoundTripper
	writes atomic.Int64
}

func (l *lossy) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.next.RoundTrip(r)
	if r.Method != http.MethodGet && strings.Contains(r.URL.Path, "/reports") && err == nil && l.writes.Add(1)%3 == 0 {
		_ = resp.Body.Close()
		return nil, errors.New("connection lost")
	}
	return resp, err
}

// recorder is a replica's.
func recorder(t *testing.T, c *rest.Config) *audit.Recorder {
	t.Helper()
	h, err := rest.HTTPClientFor(c)
	require.NoError(t, err)
	reports, err := store.New(c, h)
	require.NoError(t, err)
	core, err := corev1client.NewForConfigAndClient(c, h)
	require.NoError(t, err)
	return audit.NewRecorder(audit.Config{
		Log: logr.FromSlogHandler(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})), Owners: &audit.Owners{Live: cluster}, Sink: audit.Events{Client: core}, Reports: reports,
		Retention: time.Hour, Registerer: prometheus.NewRegistry(), Host: "replica",
	})
}

// started runs a recorder; what is returned ends it as a shutdown does.
func started(r *audit.Recorder) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { r.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

func refusalOf(namespace, workload string) audit.Verdict {
	return audit.Verdict{
		Time: time.Now(), Namespace: namespace, Operation: "CREATE", User: "system:serviceaccount:kube-system:replicaset-controller", Mode: wiring.Enforce, Refused: true,
		Object: audit.Object{APIVersion: "v1", Kind: "Pod", Metadata: pod.Metadata{GenerateName: workload + "-6d4f9c7b5-", OwnerReferences: []pod.OwnerReference{
			{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: workload + "-6d4f9c7b5", UID: "uid-of-" + workload, Controller: true},
		}}},
		Findings: []validate.Finding{{
			Rule: "component-mismatch", Severity: validate.Deny, Field: "spec.containers[0].args",
			Message: `--endpoint names component "prefill", but label nvidia.com/dynamo-component is "decode"; peers looking for "decode" would never find this pod. Set the label to "prefill" or the argument to dyn://dynamo.decode.generate.`,
		}},
	}
}

// Replicas that write one Report at the same time, answers that are lost, and restarts: every refusal is counted once.
func TestReplicasLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t, nil)
	unreliable := rest.CopyConfig(config)
	unreliable.Wrap(func(next http.RoundTripper) http.RoundTripper { return &lossy{next: next} })
	const replicas, restarts, refusals = 3, 2, 50
	var all sync.WaitGroup
	for range replicas {
		all.Go(func() {
			for range restarts {
				r := recorder(t, unreliable)
				stop := started(r)
				for i := range refusals {
					r.Record(refusalOf(namespace, fmt.Sprint("w-", i%5)))
					time.Sleep(50 * time.Millisecond)
				}
				// What is ambiguous is settled by the next try, which comes seconds later.
				time.Sleep(8 * time.Second)
				stop()
			}
		})
	}
	all.Wait()
	entries := reported(t, namespace)
	assert.Equal(t, 5, len(entries))
	total := int64(0)
	for _, e := range entries {
		total += e.Count
	}
	assert.EqualValues(t, replicas*restarts*refusals, total)
}

// counted is a transport that counts writes by resource, and what they send.
type counted struct {
	next           http.RoundTripper
	events, report atomic.Int64
	bytes          atomic.Int64
}

func (c *counted) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		if strings.Contains(r.URL.Path, "/events") {
			c.events.Add(1)
		} else {
			c.report.Add(1)
		}
		c.bytes.Add(max(0, r.ContentLength))
	}
	return c.next.RoundTrip(r)
}

// floodTime is how long the flood takes: a fraction of the minute of which docs/audit.md speaks, at the full number.
const floodTime = 10 * time.Second

// A crash-looping ReplicaSet has 10,000 pods refused while a thousand other workloads have one each.
func TestFlood(t *testing.T) {
	namespace := newNamespace(t, nil)
	counts := &counted{}
	c := rest.CopyConfig(config)
	c.Wrap(func(next http.RoundTripper) http.RoundTripper {
		counts.next = next
		return counts
	})
	r := recorder(t, c)
	stop := started(r)
	defer stop()
	const distinct, same = 1000, 10_000
	before := heap()
	began := time.Now()
	took := make([]time.Duration, 0, same+distinct)
	peak := uint64(0)
	for i := range same + distinct {
		v := refusalOf(namespace, "crash-loop")
		if i%11 == 10 {
			v = refusalOf(namespace, fmt.Sprintf("vllm-disagg-decode-worker-%d", i/11))
		}
		start := time.Now()
		r.Record(v)
		took = append(took, time.Since(start))
		if i%2000 == 0 {
			peak = max(peak, heap())
		}
		time.Sleep(time.Until(began.Add(floodTime * time.Duration(i) / (same + distinct))))
	}
	peak = max(peak, heap())
	events, writes, sent, length := counts.events.Load(), counts.report.Load(), counts.bytes.Load(), time.Since(began)
	eventually(t, func(c require.TestingT) {
		entries := reported(c, namespace)
		require.Equal(c, distinct+1, len(entries))
		total := int64(0)
		for _, e := range entries {
			total += e.Count
		}
		require.EqualValues(c, same+distinct, total)
	})
	slices.Sort(took)
	t.Logf("in %s: %d Events and %d Reports written, %d KB; Record p50 %s p99 %s max %s; heap %d KB before, at most %d KB; all in the report after %s",
		length.Round(time.Second), events, writes, sent/1000, took[len(took)/2], took[len(took)*99/100], took[len(took)-1],
		before/1000, peak/1000, time.Since(began).Round(time.Second))
	assert.LessOrEqual(t, events, int64(50+10*length.Seconds()+1))
	assert.LessOrEqual(t, writes, int64(3+length.Seconds()/5))
	assert.Less(t, int64(peak)-int64(before), int64(24<<20))
	assert.Less(t, took[len(took)/2], time.Millisecond)
}

// heap is what is in use after a collection.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}
