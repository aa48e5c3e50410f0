package controller

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dynawire/dynawire/pkg/wiring"
)

// fieldOwner owns what the reconcilers apply.
const fieldOwner = "dynawire"

// holder tells whose an object is.
type holder int

const (
	absent holder = iota
	// ours carries the label managed-by=dynawire.
	ours
	// foreign does not: it is never changed or deleted. Taking the label off an object of ours gives it away.
	foreign
)

// keeper reads, applies and deletes the objects that the reconcilers own.
type keeper struct {
	// cached reads the caches, which hold labelled objects only, and writes.
	cached client.Client
	// live asks the API server.
	live client.Reader
}

// look reads an object and tells whose it is. What the cache does not hold is asked for before it counts as absent:
// an object of the user's has no label.
func (k *keeper) look(ctx context.Context, key client.ObjectKey, into client.Object) (holder, error) {
	err := k.cached.Get(ctx, key, into)
	if apierrors.IsNotFound(err) {
		err = k.live.Get(ctx, key, into)
	}
	switch {
	case apierrors.IsNotFound(err):
		return absent, nil
	case err != nil:
		return absent, fmt.Errorf("get %s %s: %w", kindOf(into), key, err)
	case isOurs(into):
		return ours, nil
	default:
		return foreign, nil
	}
}

// apply writes an object with server-side apply.
func (k *keeper) apply(ctx context.Context, kind string, key client.ObjectKey, want runtime.ApplyConfiguration) error {
	if err := k.cached.Apply(ctx, want, client.FieldOwner(fieldOwner), client.ForceOwnership); err != nil {
		return fmt.Errorf("apply %s %s: %w", kind, key, err)
	}
	ctrl.LoggerFrom(ctx).Info("applied", "kind", kind, "object", key.String())
	return nil
}

// remove deletes an object of ours as it was seen: one that came in its place meanwhile stays.
func (k *keeper) remove(ctx context.Context, o client.Object) error {
	uid := o.GetUID()
	err := k.cached.Delete(ctx, o, client.Preconditions{UID: &uid})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete %s %s/%s: %w", kindOf(o), o.GetNamespace(), o.GetName(), err)
	}
	ctrl.LoggerFrom(ctx).Info("deleted", "kind", kindOf(o), "object", types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}.String())
	return nil
}

// optedIn tells whether a Namespace is opted in, and its metadata. Where the cache does not say yes, the API server
// decides: what follows from a no may be a deletion.
func (k *keeper) optedIn(ctx context.Context, name string) (bool, client.Object, error) {
	ns := namespaceMetadata()
	err := k.cached.Get(ctx, client.ObjectKey{Name: name}, ns)
	if apierrors.IsNotFound(err) {
		err = k.live.Get(ctx, client.ObjectKey{Name: name}, ns)
	}
	if apierrors.IsNotFound(err) {
		return false, nil, nil
	}
	if err != nil {
		return false, nil, fmt.Errorf("get namespace %s: %w", name, err)
	}
	if ns.DeletionTimestamp != nil {
		return false, nil, nil // everything in it goes anyway, and nothing can be made
	}
	return ns.Labels[wiring.LabelDiscoveryEnabled] == "true", ns, nil
}

// hasPods is whether a namespace has wired pods, of one component or of any.
func (k *keeper) hasPods(ctx context.Context, namespace string, o ...client.ListOption) (bool, error) {
	pods := podMetadataList()
	o = append(o, client.InNamespace(namespace), client.Limit(1), client.UnsafeDisableDeepCopy)
	if err := k.cached.List(ctx, pods, o...); err != nil {
		return false, fmt.Errorf("list pods of namespace %s: %w", namespace, err)
	}
	return len(pods.Items) > 0, nil
}

func isOurs(o client.Object) bool { return o.GetLabels()[wiring.LabelManagedBy] == wiring.ManagedBy }

func kindOf(o client.Object) string {
	if kind := o.GetObjectKind().GroupVersionKind().Kind; kind != "" {
		return kind
	}
	return fmt.Sprintf("%T", o)
}
