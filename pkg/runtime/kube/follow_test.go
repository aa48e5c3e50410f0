package kube

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestRetryAfterIsHeeded(t *testing.T) {
	f := &follower{log: slog.New(slog.DiscardHandler)}
	for range 100 { // half of a delay is random
		f.failures = 0
		require.GreaterOrEqual(t, f.assess(apierrors.NewTooManyRequests("slow down", 10)), 10*time.Second)
	}
}

// slowAPI is an API server whose every attempt fails after half a minute. Waits are over at once, and noted.
type slowAPI struct {
	*clocktesting.FakeClock
	waits []time.Duration
	stop  func()
}

func (s *slowAPI) RoundTrip(*http.Request) (*http.Response, error) {
	s.Step(30 * time.Second)
	return nil, errors.New("dial tcp: i/o timeout")
}

func (s *slowAPI) NewTimer(d time.Duration) clock.Timer {
	if s.waits = append(s.waits, d); len(s.waits) == 10 {
		s.stop()
	}
	over := make(elapsed, 1)
	over <- s.Now()
	return over
}

type elapsed chan time.Time

func (e elapsed) C() <-chan time.Time      { return e }
func (e elapsed) Stop() bool               { return false }
func (e elapsed) Reset(time.Duration) bool { return false }

type deaf struct{ sink }

func (deaf) contact(bool) {}

// A failure that takes its time is a failure too: not each is the first one after a while without any.
func TestSlowFailuresAreFailuresToo(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	slow := &slowAPI{FakeClock: clocktesting.NewFakeClock(time.Now()), stop: stop}
	a, err := newAPI(&rest.Config{Host: "http://nowhere", Transport: slow, QPS: -1})
	require.NoError(t, err)
	var log bytes.Buffer
	f := &follower{from: a.endpointSlices("llm", ""), to: deaf{}, clock: slow, log: slog.New(slog.NewTextHandler(&log, nil))}
	f.run(ctx)
	assert.Less(t, slow.waits[0], time.Second)
	assert.Greater(t, slow.waits[9], time.Second, "%v", slow.waits)
	assert.Equal(t, 1, strings.Count(log.String(), "level=WARN"), "said once")
}
