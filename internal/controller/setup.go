package controller

import (
	"context"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

// Options of the reconcilers.
type Options struct {
	// Excluded are namespaces that are never touched, labelled or not.
	Excluded []string
	// IdleServiceTTL is how long a component without pods keeps its Service.
	IdleServiceTTL time.Duration
}

// Setup adds the reconcilers to a manager whose cache is made of CachedObjects. They run on the leader.
func Setup(ctx context.Context, mgr ctrl.Manager, o Options) error {
	k := keeper{cached: mgr.GetClient(), live: mgr.GetAPIReader()}
	n := &namespaces{keeper: k, excluded: o.Excluded, recorder: mgr.GetEventRecorder("dynawire")}
	if err := n.setup(ctx, mgr); err != nil {
		return err
	}
	c := &components{keeper: k, excluded: o.Excluded, idleTTL: o.IdleServiceTTL, idle: map[component]time.Time{}}
	return c.setup(ctx, mgr)
}
