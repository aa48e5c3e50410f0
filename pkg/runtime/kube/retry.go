package kube

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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
		if err == nil || !transient(err) || c.clock.Since(start) > retryBudget {
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
		utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err)
}

// explain makes a refusal by RBAC recognisable and says what to do; the API server's text names the verb and the resource.
func explain(err error) error {
	if err == nil || !apierrors.IsForbidden(err) {
		return err
	}
	return fmt.Errorf("%w: %w; dynawire binds the Role %s in namespaces labelled %s=true",
		runtime.ErrForbidden, err, wiring.ServiceAccount, wiring.LabelDiscoveryEnabled)
}
