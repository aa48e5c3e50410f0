package kube

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// What a start-up can sit out, as Dynamo's runtime has it (lib/runtime/src/discovery/kube/crd.rs).
const (
	retryBudget               = 10 * time.Second
	retryDelay, retryDelayMax = 250 * time.Millisecond, 2 * time.Second
)

// retry repeats what may yet succeed: an API server that restarts, a token that is about to be renewed, a RoleBinding
// that was made a moment ago.
func (c *Client) retry(ctx context.Context, f func() error) error {
	start := c.clock.Now()
	for delay := retryDelay; ; delay = min(retryDelayMax, delay*2) {
		err := f()
		ended := ctx.Err() != nil && errors.Is(err, ctx.Err())
		if err == nil || ended || !transient(err) || c.clock.Since(start) > retryBudget {
			return err
		}
		timer := c.clock.NewTimer(delay/2 + rand.N(delay/2))
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return errors.Join(err, ctx.Err())
		}
	}
}

func transient(err error) bool {
	return apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsConflict(err) ||
		apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) ||
		unreachable(err)
}

// unreachable says that there was no answer, which a pod meets whose network is not all there yet.
func unreachable(err error) bool {
	var dns *net.DNSError
	return utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) ||
		utilnet.IsHTTP2ConnectionLost(err) || utilnet.IsTimeout(err) ||
		errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH) || errors.As(err, &dns)
}

// explain makes a refusal by RBAC recognisable and says what to do; the API server's text names the verb and the resource.
func explain(err error) error {
	if err == nil || !apierrors.IsForbidden(err) {
		return err
	}
	return fmt.Errorf("%w: %w; dynawire binds the Role %s in namespaces labelled %s=true",
		runtime.ErrForbidden, err, wiring.ServiceAccount, wiring.LabelDiscoveryEnabled)
}
