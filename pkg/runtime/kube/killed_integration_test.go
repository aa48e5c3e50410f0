//go:build integration

package kube_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
)

// The real API server is killed under load, its port stays closed for a while, and it comes back with the etcd that it had.
// What became of each of a thousand instances is told once, and nothing that did not happen. DYNAWIRE_OUTAGE says for how
// long it is away.
func TestAPIServerKilled(t *testing.T) {
	away := outage(t, 2*time.Second)
	var certDir string // a server that is started again does not remove it
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(certDir)) })
	c := newCluster(t)
	c.admin = c.impatient(t)
	certDir = c.env.ControlPlane.APIServer.CertDir
	f := newLiveFleet(t, c)

	var watchers []*watcher
	for range 5 {
		watchers = append(watchers, f.watch(t))
	}
	for _, w := range watchers {
		for _, r := range w.readers {
			select {
			case <-r.sub.Synced():
			case <-time.After(patience):
				t.Fatalf("%s is not synced", r.name)
			}
		}
	}
	channel := f.dial(t, watchers[0].client)
	stopLoad := f.load(t)
	time.Sleep(time.Second)
	written := f.written.Load()

	killed := time.Now()
	c.kill(t)
	cut := f.operate(t) // tried until it is taken: most of it before a client looks again
	for _, w := range watchers {
		w.expectStale(t, killed, f.size())
	}
	all, err := watchers[0].client.ListInstances(t.Context(), dynNamespace, component)
	require.NoError(t, err)
	assert.Len(t, all, f.size(), "the last state is served")
	newcomer := f.watch(t)
	newcomer.expectNotSynced(t)

	time.Sleep(time.Until(killed.Add(away)))
	for _, w := range watchers {
		w.expectStale(t, killed, f.size())
	}
	watchers = append(watchers, newcomer)
	var contact sync.WaitGroup
	for _, w := range watchers {
		contact.Go(w.awaitContact)
	}
	answering, healthy := c.restart(t)
	operated := <-cut
	contact.Wait()
	for _, w := range watchers {
		require.False(t, w.contact.IsZero(), "no contact %s after the API server was back", time.Since(answering))
		for _, r := range w.readers {
			require.Eventually(t, r.heard, patience, 10*time.Millisecond, "%s was not told of what changed at the restart", r.name)
		}
	}
	stopLoad()

	f.expectTruth(t, watchers)
	for _, w := range watchers {
		for _, r := range w.readers {
			r.expectStories(t)
		}
	}
	assert.Empty(t, channel.dropped(), "instances that were ready all the time and that the gRPC channel was told to leave")
	assert.Positive(t, channel.updates.Load(), "what the gRPC channel was told")
	f.logRecovery(t, watchers, written, killed, answering, healthy, operated)
}

// impatient is an administrator whose requests fail at once where a server that is starting asks to come back in some seconds.
func (c *cluster) impatient(t *testing.T) ctrlclient.Client {
	cfg := rest.CopyConfig(c.env.Config)
	cfg.QPS = -1
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return noRetryAfter{next} })
	admin, err := ctrlclient.New(cfg, ctrlclient.Options{Scheme: c.admin.Scheme(), Mapper: c.admin.RESTMapper()})
	require.NoError(t, err)
	return admin
}

type noRetryAfter struct{ next http.RoundTripper }

func (n noRetryAfter) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := n.next.RoundTrip(r)
	if err == nil {
		resp.Header.Del("Retry-After")
	}
	return resp, err
}

// kill ends the API server as the kernel would when memory runs out.
func (c *cluster) kill(t *testing.T) {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	var pids []int
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && bytes.Contains(line, []byte("\x00--cert-dir="+c.env.ControlPlane.APIServer.CertDir+"\x00")) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			require.NoError(t, err)
			pids = append(pids, pid)
		}
	}
	require.Len(t, pids, 1, "API servers of this test")
	require.NoError(t, syscall.Kill(pids[0], syscall.SIGKILL))
	host, err := url.Parse(c.pod.Host)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", host.Host)
		if err == nil {
			_ = conn.Close()
		}
		return errors.Is(err, syscall.ECONNREFUSED)
	}, patience, time.Millisecond)
}

// restart starts the API server again, on the port and with the etcd that it had, and returns when it first answered the
// pod's account, and when it called itself healthy.
func (c *cluster) restart(t *testing.T) (answering, healthy time.Time) {
	var says bytes.Buffer
	server := c.env.ControlPlane.APIServer
	server.Err, server.StartTimeout = &says, time.Minute
	started := make(chan error, 1)
	go func() { started <- server.Start() }()
	cfg := rest.CopyConfig(c.pod)
	cfg.Timeout = time.Second // what is asked of a server that is starting may never be answered
	client, err := rest.HTTPClientFor(cfg)
	require.NoError(t, err)
	defer client.CloseIdleConnections()
	for began := time.Now(); answering.IsZero() || healthy.IsZero(); {
		require.Less(t, time.Since(began), 2*time.Minute, "the API server does not answer")
		if answering.IsZero() {
			resp, err := client.Get(cfg.Host + "apis/discovery.k8s.io/v1/namespaces/" + kubeNamespace + "/endpointslices?limit=1")
			if err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if resp.StatusCode == http.StatusOK {
					answering = time.Now()
				}
			}
		}
		select {
		case err := <-started:
			require.NoError(t, err, "%s", &says)
			healthy = time.Now()
		case <-time.After(5 * time.Millisecond):
		}
	}
	return answering, healthy
}

// logRecovery says how long what took.
func (f *liveFleet) logRecovery(t *testing.T, watchers []*watcher, written int64, killed, answering, healthy, operated time.Time) {
	noticed := time.Duration(0)
	for _, w := range watchers {
		if !w.readers[0].late {
			noticed = max(noticed, w.lost.Sub(killed))
		}
	}
	ms := func(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
	t.Logf("%d writes/s before it was killed; noticed within %s; away for %s; from its first answer %s until it was healthy, %s until all that changes was written",
		written, ms(noticed), ms(answering.Sub(killed)), ms(healthy.Sub(answering)), ms(operated.Sub(answering)))
	var contact, told []time.Duration
	for _, w := range watchers {
		contact = append(contact, w.contact.Sub(answering))
		for _, r := range w.readers {
			told = append(told, r.told.Sub(answering))
		}
	}
	for what, d := range map[string][]time.Duration{"contact": contact, "told of the changes": told} {
		slices.Sort(d)
		t.Logf("from its first answer to %s: best %s, p50 %s, worst %s of %d", what, ms(d[0]), ms(d[len(d)/2]), ms(d[len(d)-1]), len(d))
	}
}
