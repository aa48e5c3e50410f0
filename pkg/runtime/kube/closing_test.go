package kube_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/runtime/kube"
	"github.com/dynawire/dynawire/pkg/runtime/kube/apitest"
)

// lingering is a transport whose watches of slices, once they have ended, take until release to say so.
type lingering struct {
	http.RoundTripper
	ended   func() // may be called more than once
	release chan struct{}
}

func (l lingering) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.RoundTripper.RoundTrip(r)
	if err == nil && strings.HasSuffix(r.URL.Path, "/endpointslices") {
		resp.Body = lingeringBody{resp.Body, l}
	}
	return resp, err
}

type lingeringBody struct {
	io.ReadCloser
	l lingering
}

func (b lingeringBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.l.ended()
		<-b.l.release
	}
	return n, err
}

// Close waits for the watches, those too that the last subscriber is just leaving.
func TestCloseWaitsForWhatIsEnding(t *testing.T) {
	s := apitest.New(t)
	ending := make(chan struct{})
	l := lingering{ended: sync.OnceFunc(func() { close(ending) }), release: make(chan struct{})}
	c := newClient(t, s, func(c *kube.Config) {
		c.REST.Wrap(func(next http.RoundTripper) http.RoundTripper { l.RoundTripper = next; return l })
	})
	sub := subscribe(t, c)
	expect(t, sub, "Synced")
	closing := func(end func() error) <-chan error {
		closed := make(chan error, 1)
		go func() { closed <- end() }()
		return closed
	}
	left := closing(sub.Close)
	<-ending
	closed := closing(c.Close)
	select {
	case <-closed:
		t.Error("Close returned while a watch still ran")
	case <-time.After(100 * time.Millisecond):
	}
	close(l.release)
	require.NoError(t, <-closed)
	require.NoError(t, <-left)
}
