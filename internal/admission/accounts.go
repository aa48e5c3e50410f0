package admission

import (
	"context"
	"time"

	"golang.org/x/sync/singleflight"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dynawire/dynawire/pkg/wiring"
)

// Pauses between look-ups while the reconciler makes the account, which takes it a few milliseconds as a rule.
const (
	firstPause = 4 * time.Millisecond
	maxPause   = 128 * time.Millisecond
)

// Accounts is the AccountGate of a cluster.
type Accounts struct {
	// Cached holds the metadata of ServiceAccounts called wiring.ServiceAccount. It may lag behind.
	Cached client.Reader
	// Live asks the API server.
	Live client.Reader
	// Wait is how long to wait for an account that is not there. It must be well below the webhook's timeout.
	Wait    time.Duration
	Metrics *Metrics

	// waiting lets all pods of a namespace wait for one series of look-ups.
	waiting singleflight.Group
}

// Exists implements AccountGate.
func (a *Accounts) Exists(ctx context.Context, namespace string) bool {
	key := client.ObjectKey{Namespace: namespace, Name: wiring.ServiceAccount}
	if a.Cached.Get(ctx, key, metadata("ServiceAccount")) == nil {
		a.Metrics.account("cached")
		return true
	}
	// The look-ups go on when the first of the waiting requests is given up, for the others.
	found := a.waiting.DoChan(namespace, func() (any, error) { return a.lookUp(context.WithoutCancel(ctx), key), nil })
	select {
	case <-ctx.Done():
		a.Metrics.account("missing")
		return false
	case r := <-found:
		result := r.Val.(string)
		a.Metrics.account(result)
		return result != "missing"
	}
}

// lookUp asks the API server until the account is there or Wait is over.
func (a *Accounts) lookUp(ctx context.Context, key client.ObjectKey) string {
	ctx, cancel := context.WithTimeout(ctx, a.Wait)
	defer cancel()
	result := "live"
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		err := a.Live.Get(ctx, key, metadata("ServiceAccount"))
		if err == nil {
			return result
		}
		if apierrors.IsForbidden(err) {
			return "missing"
		}
		result = "waited"
		select {
		case <-ctx.Done():
			return "missing"
		case <-time.After(pause):
		}
	}
}
