package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/dynawire/dynawire/pkg/wiring"
)

// workers is how many keys of a kind are reconciled at once: many namespaces may be labelled together.
const workers = 8

// accountIndex finds the pods that keep an account of their own.
const accountIndex = "account"

// namespaces gives every opted-in Namespace its ServiceAccount, Role and RoleBinding, and takes them away again when it
// is no longer opted in and the last wired pod is gone.
type namespaces struct {
	keeper
	excluded []string
	recorder events.EventRecorder
}

func (r *namespaces) setup(ctx context.Context, mgr ctrl.Manager) error {
	err := mgr.GetFieldIndexer().IndexField(ctx, podMetadata(), accountIndex, func(o client.Object) []string {
		if o.GetAnnotations()[wiring.AnnotationServiceAccount] == "" {
			return nil
		}
		return []string{"own"}
	})
	if err != nil {
		return fmt.Errorf("index pods by account: %w", err)
	}
	err = ctrl.NewControllerManagedBy(mgr).
		Named("namespace").
		For(namespaceMetadata()).
		Watches(accountMetadata(), handler.EnqueueRequestsFromMapFunc(toNamespace)).
		Watches(&rbacv1.Role{}, handler.EnqueueRequestsFromMapFunc(toNamespace)).
		Watches(&rbacv1.RoleBinding{}, handler.EnqueueRequestsFromMapFunc(toNamespace)).
		Watches(podMetadata(), handler.EnqueueRequestsFromMapFunc(toNamespace), builder.WithPredicates(r.podsThatMatter())).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: retries[reconcile.Request]()}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the namespace reconciler: %w", err)
	}
	return nil
}

// retries is the pace after errors. There is no limit over all keys: it would hold up the first pods of other namespaces.
func retries[request comparable]() workqueue.TypedRateLimiter[request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[request](5*time.Millisecond, 30*time.Second)
}

func toNamespace(_ context.Context, o client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: o.GetNamespace()}}}
}

// podsThatMatter are changes of the accounts to bind, and the end of a pod, which may be the last one of a Namespace that
// opted out.
func (r *namespaces) podsThatMatter() predicate.Predicate {
	account := func(o client.Object) string { return o.GetAnnotations()[wiring.AnnotationServiceAccount] }
	return predicate.Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { return account(e.Object) != "" },
		UpdateFunc:  func(e event.UpdateEvent) bool { return account(e.ObjectOld) != account(e.ObjectNew) },
		DeleteFunc:  func(event.DeleteEvent) bool { return true },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// Reconcile implements reconcile.Reconciler; the request is a Namespace.
func (r *namespaces) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	name := req.Name
	if slices.Contains(r.excluded, name) {
		return reconcile.Result{}, nil
	}
	in, ns, err := r.optedIn(ctx, name)
	if err != nil || ns == nil {
		return reconcile.Result{}, err
	}
	if in {
		return reconcile.Result{}, r.ensure(ctx, name, ns.GetAnnotations()[wiring.AnnotationKeyValue] == "true")
	}
	left, err := r.hasPods(ctx, name)
	if err != nil || left {
		return reconcile.Result{}, err // running pods still use their account
	}
	return reconcile.Result{}, r.clear(ctx, name)
}

// ensure makes everything as it should be. The account comes first: the namespace's first pod may be waiting for it.
func (r *namespaces) ensure(ctx context.Context, namespace string, keyValue bool) error {
	if err := r.ensureAccount(ctx, namespace); err != nil {
		return err
	}
	accounts, err := r.ownAccounts(ctx, namespace)
	if err != nil {
		return err
	}
	if err := r.ensureGrant(ctx, namespace, wiring.ServiceAccount, discoveryRules(), accounts); err != nil {
		return err
	}
	if !keyValue {
		return r.clearGrant(ctx, namespace, wiring.KeyValueRole)
	}
	return r.ensureGrant(ctx, namespace, wiring.KeyValueRole, keyValueRules(), accounts)
}

func (r *namespaces) ensureAccount(ctx context.Context, namespace string) error {
	key := client.ObjectKey{Namespace: namespace, Name: wiring.ServiceAccount}
	whose, err := r.look(ctx, key, accountMetadata())
	if err != nil || whose != absent {
		return err // an account of the user's does as well: it only has to be there
	}
	return r.apply(ctx, "ServiceAccount", key, applycore.ServiceAccount(key.Name, key.Namespace).WithLabels(managedLabels()))
}

// ownAccounts are the accounts that wired pods keep, from the annotation that the mutation leaves.
func (r *namespaces) ownAccounts(ctx context.Context, namespace string) ([]string, error) {
	pods := podMetadataList()
	err := r.cached.List(ctx, pods, client.InNamespace(namespace), client.MatchingFields{accountIndex: "own"}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list pods of namespace %s: %w", namespace, err)
	}
	seen := map[string]bool{}
	var out []string
	for i := range pods.Items {
		if name := pods.Items[i].Annotations[wiring.AnnotationServiceAccount]; !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	return out, nil
}

// ensureGrant keeps a Role and the RoleBinding of the same name.
func (r *namespaces) ensureGrant(ctx context.Context, namespace, name string, rules []rbacv1.PolicyRule, accounts []string) error {
	key := client.ObjectKey{Namespace: namespace, Name: name}
	role := &rbacv1.Role{}
	whose, err := r.look(ctx, key, role)
	switch {
	case err != nil:
		return err
	case whose == foreign:
		r.taken(role, "Role", key)
	case whose == absent || !equality.Semantic.DeepEqual(role.Rules, rules):
		if err := r.apply(ctx, "Role", key, applyRole(namespace, name, rules)); err != nil {
			return err
		}
	}
	want := subjects(namespace, accounts)
	binding := &rbacv1.RoleBinding{}
	whose, err = r.look(ctx, key, binding)
	switch {
	case err != nil:
		return err
	case whose == foreign:
		r.taken(binding, "RoleBinding", key)
		return nil
	case whose == ours && binding.RoleRef != roleRef(name):
		// The reference cannot be changed, only made anew.
		if err := r.remove(ctx, binding); err != nil {
			return err
		}
	case whose == ours && equality.Semantic.DeepEqual(binding.Subjects, want):
		return nil
	}
	return r.apply(ctx, "RoleBinding", key, applyBinding(namespace, name, want))
}

// taken tells the user that an object of theirs has a name that we need.
func (r *namespaces) taken(o client.Object, kind string, key client.ObjectKey) {
	r.recorder.Eventf(o, nil, eventWarning, reasonNameTaken, actionReconcile,
		"%s %s is not dynawire's and is left alone: Dynamo's pods get what it grants. To let dynawire manage it, label it %s=%s",
		kind, key.Name, wiring.LabelManagedBy, wiring.ManagedBy)
}

// clear deletes everything of ours but the Services, which have a reconciler of their own.
func (r *namespaces) clear(ctx context.Context, namespace string) error {
	for _, name := range []string{wiring.KeyValueRole, wiring.ServiceAccount} {
		if err := r.clearGrant(ctx, namespace, name); err != nil {
			return err
		}
	}
	account := accountMetadata()
	if err := r.cached.Get(ctx, client.ObjectKey{Namespace: namespace, Name: wiring.ServiceAccount}, account); err != nil || !isOurs(account) {
		return client.IgnoreNotFound(err)
	}
	return r.remove(ctx, account)
}

// clearGrant deletes a RoleBinding and a Role of ours; the cache holds no others.
func (r *namespaces) clearGrant(ctx context.Context, namespace, name string) error {
	key := client.ObjectKey{Namespace: namespace, Name: name}
	for _, o := range []client.Object{&rbacv1.RoleBinding{}, &rbacv1.Role{}} {
		err := r.cached.Get(ctx, key, o)
		if err == nil {
			err = r.remove(ctx, o)
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("clear %s: %w", key, err)
		}
	}
	return nil
}
