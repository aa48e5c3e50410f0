package drift

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/dynawire/dynawire/pkg/pod"
)

// Evictor asks the API server to evict a pod, which minds PodDisruptionBudgets.
type Evictor interface {
	EvictV1(ctx context.Context, eviction *policyv1.Eviction) error
}

// Repair evicts unwired pods, so that their workload makes wired ones: in each scan of a namespace at most Budget, of
// each workload at most one, and none of a workload with a pod that is not ready. A pod without a workload is left alone.
type Repair struct {
	Budget int
	// Pods are the evictors of namespaces.
	Pods func(namespace string) Evictor
	Log  logr.Logger
}

// evict takes the unwired pods of a namespace, and the UIDs of the workloads that have a pod that is not ready.
func (r *Repair) evict(ctx context.Context, unwired []*pod.Pod, busy map[string]bool) error {
	budget := r.Budget
	for _, p := range unwired {
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
			budget--
		}
		busy[owner.UID] = true
	}
	return nil
}

func controllerOf(p *pod.Pod) pod.OwnerReference {
	for _, o := range p.Metadata.OwnerReferences {
		if o.Controller {
			return o
		}
	}
	return pod.OwnerReference{}
}
