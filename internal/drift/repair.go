package drift

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/dynawire/dynawire/pkg/pod"
)

// Evictor asks the API server to evict a pod, which minds PodDisruptionBudgets.
type Evictor interface {
	EvictV1(ctx context.Context, eviction *policyv1.Eviction) error
}

// ReasonEvicted is that of the Event on a workload one of whose pods was evicted.
const ReasonEvicted = "DynamoPodEvicted"

// Events tells of what was done: what is used of a recorder of Events.
type Events interface {
	Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any)
}

// Repair evicts unwired pods, so that their workload makes wired ones: in each scan of a namespace at most Budget, of
// each workload at most one, and none of a workload of which a pod is still on its way. A pod without a workload is left
// alone.
type Repair struct {
	Budget int
	// Pods are the evictors of namespaces.
	Pods   func(namespace string) Evictor
	Owners OwnerGetter
	Events Events
	Log    logr.Logger
}

// evict takes the unwired pods of a namespace, and the UIDs of the workloads that have another pod that is not ready. Pods
// that serve nobody go first: it may be for want of wiring that they do not start.
func (r *Repair) evict(ctx context.Context, unwired []Pod, busy map[string]bool) error {
	budget := r.Budget
	slices.SortStableFunc(unwired, func(a, b Pod) int {
		switch {
		case a.Ready == b.Ready:
			return 0
		case b.Ready:
			return -1
		}
		return 1
	})
	for i := range unwired {
		p := unwired[i].Pod
		owner := controllerOf(p)
		if budget == 0 {
			return nil
		}
		if owner.UID == "" || busy[owner.UID] {
			continue
		}
		uid := types.UID(p.Metadata.UID)
		err := r.Pods(p.Metadata.Namespace).EvictV1(ctx, &policyv1.Eviction{
			ObjectMeta:    metav1.ObjectMeta{Namespace: p.Metadata.Namespace, Name: p.Metadata.Name},
			DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}},
		})
		switch {
		case apierrors.IsNotFound(err), apierrors.IsConflict(err):
			continue // gone by itself
		case apierrors.IsTooManyRequests(err):
			r.Log.Info("an unwired pod may not be evicted yet", "namespace", p.Metadata.Namespace, "name", p.Metadata.Name, "error", err.Error())
		case err != nil:
			return fmt.Errorf("evict the unwired pod %s/%s: %w", p.Metadata.Namespace, p.Metadata.Name, err)
		default:
			r.Log.Info("evicted an unwired pod", "namespace", p.Metadata.Namespace, "name", p.Metadata.Name,
				"owner", owner.Kind+"/"+owner.Name)
			r.tell(ctx, p)
			budget--
		}
		busy[owner.UID] = true
	}
	return nil
}

// tell makes an Event on the workload that a person wrote.
func (r *Repair) tell(ctx context.Context, p *pod.Pod) {
	of, evicted := workloadOf(ctx, r.Owners, p), reference(p)
	r.Events.Eventf(&of, &evicted, corev1.EventTypeNormal, ReasonEvicted, "Evicted", "evicted pod %s, which was created without dynawire's"+
		" wiring: before the namespace was opted in, or while the webhook was away. The pod in its place gets it", p.Metadata.Name)
}

func controllerOf(p *pod.Pod) pod.OwnerReference {
	for _, o := range p.Metadata.OwnerReferences {
		if o.Controller {
			return o
		}
	}
	return pod.OwnerReference{}
}
