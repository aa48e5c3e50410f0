package main

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// startup is how long a leader takes for its caches and the first reconciliations, as a rule.
const startup = 5 * time.Second

// release makes the resident set smaller; that it stays as large is no reason to stop.
func release(log logr.Logger) {
	if err := releasePages(); err != nil {
		log.V(1).Info("pages were not released", "error", err.Error())
	}
}

// releaseLater releases what only the start has needed: first what every replica needs for it, then what a leader does.
func releaseLater(log logr.Logger, c cache.Cache) everyReplica {
	return func(ctx context.Context) error {
		c.WaitForCacheSync(ctx)
		release(log)
		select {
		case <-ctx.Done():
		case <-time.After(startup):
			release(log)
		}
		return nil
	}
}
