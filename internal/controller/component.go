package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/dynawire/dynawire/pkg/wiring"
)

// componentIndex finds the pods of a component.
const componentIndex = "component"

// components gives every component that has pods in an opted-in Namespace a Service, unless a Service of the user's does
// the job. A component without pods keeps its Service for a while, and its address with it.
type components struct {
	keeper
	excluded []string
	idleTTL  time.Duration

	mu sync.Mutex
	// idle is since when a component has had no pods. A new leader counts from its own start.
	idle map[component]time.Time
}

func (r *components) setup(ctx context.Context, mgr ctrl.Manager) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, podMetadata(), componentIndex, indexComponent); err != nil {
		return fmt.Errorf("index pods by component: %w", err)
	}
	err := builder.TypedControllerManagedBy[component](mgr).
		Named("component").
		Watches(podMetadata(), handler.TypedEnqueueRequestsFromMapFunc(toComponent), builder.WithPredicates(labelsChange())).
		Watches(&corev1.Service{}, handler.TypedEnqueueRequestsFromMapFunc(r.fromService)).
		Watches(namespaceMetadata(), handler.TypedEnqueueRequestsFromMapFunc(r.fromNamespace)).
		WithOptions(controller.TypedOptions[component]{MaxConcurrentReconciles: workers, RateLimiter: retries[component]()}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the component reconciler: %w", err)
	}
	return nil
}

func indexComponent(o client.Object) []string {
	c, ok := componentOf(o.GetNamespace(), o.GetLabels())
	if !ok {
		return nil
	}
	return []string{c.index(o.GetLabels()[wiring.LabelComponentType] == wiring.TypeFrontend)}
}

// labelsChange passes over what happens to a pod all the time: its status.
func labelsChange() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: predicate.LabelChangedPredicate{}.Update,
		GenericFunc: func(event.GenericEvent) bool { return false }}
}

func toComponent(_ context.Context, o client.Object) []component {
	if c, ok := componentOf(o.GetNamespace(), o.GetLabels()); ok {
		return []component{c}
	}
	return nil
}

// fromService maps a Service of ours to its component, and one of the user's to all components that it may select.
func (r *components) fromService(ctx context.Context, o client.Object) []component {
	if isOurs(o) {
		return toComponent(ctx, o)
	}
	return r.withPods(ctx, o.GetNamespace())
}

func (r *components) fromNamespace(ctx context.Context, o client.Object) []component {
	out := r.withPods(ctx, o.GetName())
	services := &corev1.ServiceList{}
	if err := r.cached.List(ctx, services, client.InNamespace(o.GetName()), client.MatchingLabels(managedLabels())); err != nil && !notYet(err) {
		ctrl.LoggerFrom(ctx).Error(err, "list services", "namespace", o.GetName())
	}
	for i := range services.Items {
		out = append(out, toComponent(ctx, &services.Items[i])...)
	}
	return out
}

// withPods are the components that have pods in a namespace.
func (r *components) withPods(ctx context.Context, namespace string) []component {
	pods := podMetadataList()
	if err := r.cached.List(ctx, pods, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil && !notYet(err) {
		ctrl.LoggerFrom(ctx).Error(err, "list pods", "namespace", namespace)
	}
	seen := map[component]bool{}
	var out []component
	for i := range pods.Items {
		if c, ok := componentOf(namespace, pods.Items[i].Labels); ok && !seen[c] {
			seen[c] = true
			out = append(out, c)
		}
	}
	return out
}

// notYet tells the order in which watches start from trouble: objects of a kind that is not watched yet speak for themselves
// once it is.
func notYet(err error) bool {
	var missing *cache.ErrResourceNotCached
	return errors.As(err, &missing)
}

// Reconcile implements reconcile.TypedReconciler.
func (r *components) Reconcile(ctx context.Context, c component) (reconcile.Result, error) {
	if slices.Contains(r.excluded, c.namespace) {
		return reconcile.Result{}, nil
	}
	in, ns, err := r.optedIn(ctx, c.namespace)
	if err != nil || ns == nil {
		return reconcile.Result{}, err
	}
	shape, err := r.shapeOf(ctx, c)
	if err != nil {
		return reconcile.Result{}, err
	}
	current, inCharge, err := r.services(ctx, c, shape)
	if err != nil {
		return reconcile.Result{}, err
	}
	switch {
	case shape == noPods && in:
		return r.expire(ctx, c, current)
	case shape == noPods, inCharge && in:
		return reconcile.Result{}, r.removeAll(ctx, c, current)
	case !in:
		return reconcile.Result{}, nil // running pods stay reachable
	}
	r.busy(c)
	return reconcile.Result{}, r.ensure(ctx, c, shape == frontends, current)
}

// shape is what kind of Service a component needs.
type shape int

const (
	noPods shape = iota
	workersOnly
	frontends
)

// shapeOf tells from the pods what a component is: a single pod that is no frontend makes it something to be discovered.
func (r *components) shapeOf(ctx context.Context, c component) (shape, error) {
	for _, s := range []shape{workersOnly, frontends} {
		has, err := r.hasPods(ctx, c.namespace, client.MatchingFields{componentIndex: c.index(s == frontends)})
		if err != nil {
			return noPods, err
		}
		if has {
			return s, nil
		}
	}
	return noPods, nil
}
