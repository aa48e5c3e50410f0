//go:build bench

package bench_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dynawire/dynawire/pkg/identity/identitytest"
	"github.com/dynawire/dynawire/pkg/wiring"
)

var (
	pods  = flag.Int("pods", 5000, "wired pods in the cluster")
	phase = flag.Duration("phase", 8*time.Second, "how long each kind of load lasts")
	limit = flag.Int("limit", 45, "the most that may ever be resident, in MiB")
)

const (
	podNamespaces = 50
	components    = 4 // in each namespace
)

// TestMemory watches the server's resident set in a cluster full of pods that it wired, under load from all sides.
func TestMemory(t *testing.T) {
	s := startServer(t, "server")
	var all []usage
	during := func(phase string, do func()) { all = append(all, watch(t, s.PID(), phase, do)) }
	rest := func() { time.Sleep(*phase) }
	during("empty cluster", rest)
	namespaces := make([]string, podNamespaces)
	for i := range namespaces {
		namespaces[i] = fmt.Sprintf("llm-%d", i)
		newNamespace(t, namespaces[i], map[string]string{wiring.LabelDiscoveryEnabled: "true"})
		waitAccount(t, namespaces[i])
	}
	t.Cleanup(func() {
		for _, n := range namespaces {
			assert.NoError(t, deletePods(context.WithoutCancel(t.Context()), n))
		}
	})
	during(fmt.Sprintf("%d pods are created", *pods), func() { fill(t, namespaces, *pods) })
	requireWired(t, *pods)
	during("idle", rest)
	require.NoError(t, s.Stop())
	start(t, s)
	during("idle after a restart", rest)

	reviews, creations := reviewer(t, s.Port), creator(namespaces)
	during("reviews", func() { load(t, *phase, reviews) })
	during("pods through the API server", func() { load(t, *phase, creations) })
	during("both", func() { load(t, *phase, reviews, creations) })
	during("idle after the load", rest)
	fmt.Println(memoryTable(all))
	for _, u := range all {
		assert.LessOrEqual(t, u.peak, *limit<<20, "bytes resident while: %s", u.phase)
	}
}

// fill creates pods, evenly over namespaces and components.
func fill(t *testing.T, namespaces []string, n int) {
	t.Helper()
	manifests := make([][]byte, components)
	for i := range manifests {
		manifests[i] = bytes.ReplaceAll(workerPod, []byte("vllm-disagg.decode."), fmt.Appendf(nil, "vllm-disagg.decode-%d.", i))
	}
	var next atomic.Int64
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				_, err := createPod(t.Context(), namespaces[i%len(namespaces)], manifests[i/len(namespaces)%components], false)
				assert.NoError(t, err)
			}
		})
	}
	group.Wait()
}

// requireWired waits until all pods are there, and a Service for every component.
func requireWired(t *testing.T, n int) {
	t.Helper()
	o := metav1.ListOptions{LabelSelector: wiring.LabelDiscoveryEnabled + "=true", ResourceVersion: "0"}
	list, err := core.CoreV1().Pods("").List(t.Context(), o)
	require.NoError(t, err)
	require.Len(t, list.Items, n)
	require.Eventually(t, func() bool {
		services, err := core.CoreV1().Services("").List(t.Context(), o)
		return err == nil && len(services.Items) == podNamespaces*components
	}, time.Minute, 100*time.Millisecond)
}

// source of load: one request.
type source func(context.Context) error

// load runs each source with all clients for some time.
func load(t *testing.T, d time.Duration, sources ...source) {
	t.Helper()
	end := time.Now().Add(d)
	var group sync.WaitGroup
	for _, s := range sources {
		for range clients {
			group.Go(func() {
				for time.Now().Before(end) {
					assert.NoError(t, s(t.Context()))
				}
			})
		}
	}
	group.Wait()
}

// creator creates pods in dry run.
func creator(namespaces []string) source {
	var n atomic.Int64
	return func(ctx context.Context) error {
		_, err := createPod(ctx, namespaces[int(n.Add(1))%len(namespaces)], workerPod, true)
		return err
	}
}

// reviewer posts reviews to both webhooks, past the API server.
func reviewer(t *testing.T, port int) source {
	t.Helper()
	config := &admissionv1.MutatingWebhookConfiguration{}
	require.NoError(t, plane.Client.Get(t.Context(), clientKey("dynawire"), config))
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(config.Webhooks[0].ClientConfig.CABundle))
	c := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: clients,
	}}
	t.Cleanup(c.CloseIdleConnections)
	// A review of a pod in one of the namespaces that the server knows.
	body := bytes.ReplaceAll(identitytest.Review(t, "worker"), []byte(`"namespace":"capture"`), []byte(`"namespace":"llm-0"`))
	require.Contains(t, string(body), `"namespace":"llm-0"`)
	paths := []string{"mutate", "validate"}
	var n atomic.Int64
	return func(ctx context.Context) error {
		url := fmt.Sprintf("https://localhost:%d/%s/pods", port, paths[int(n.Add(1))%len(paths)])
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			return err
		}
		r.Header.Set("Content-Type", "application/json")
		answer, err := c.Do(r)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		_, err = io.Copy(io.Discard, answer.Body)
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("answer: %s", answer.Status)
		}
		return err
	}
}

func memoryTable(all []usage) string {
	mib := func(bytes int) string { return fmt.Sprintf("%.1f", float64(bytes)/(1<<20)) }
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "MiB\tpeak\ttypical\tof that anonymous\tfile\t")
	for _, u := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t\n", u.phase, mib(u.peak), mib(u.typical.resident), mib(u.typical.anon), mib(u.typical.file))
	}
	_ = w.Flush()
	return b.String()
}
