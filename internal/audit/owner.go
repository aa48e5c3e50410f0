package audit

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// OwnerGetter finds the object that a record about a pod belongs to.
type OwnerGetter interface {
	// Owner is the object that controls near, which may be a ReplicaSet or a Job, or near itself. It never fails: what
	// cannot be looked up leaves the nearest owner that is known.
	Owner(ctx context.Context, near corev1.ObjectReference) corev1.ObjectReference
}

const (
	// ownersKept and ownerAge bound the memory of look-ups. A ReplicaSet never changes its Deployment.
	ownersKept = 4096
	ownerAge   = 10 * time.Minute
	// missAge is for look-ups that failed: a flood must not become one of look-ups.
	missAge = 30 * time.Second
)

// Owners is the OwnerGetter of a cluster: pod to ReplicaSet to Deployment, pod to Job to CronJob, pod to whatever else
// controls it, and the pod itself where nothing does.
type Owners struct {
	// Live reads metadata from the API server.
	Live client.Reader

	mu    sync.Mutex
	known map[types.UID]knownOwner
}

type knownOwner struct {
	owner corev1.ObjectReference
	until time.Time
}

// Owner implements OwnerGetter.
func (o *Owners) Owner(ctx context.Context, near corev1.ObjectReference) corev1.ObjectReference {
	if near.Kind == "ReplicaSet" || near.Kind == "Job" {
		return o.above(ctx, near)
	}
	return near
}

// above is the controller of a ReplicaSet or Job, or the object itself where it has none or cannot be read.
func (o *Owners) above(ctx context.Context, near corev1.ObjectReference) corev1.ObjectReference {
	if owner, ok := o.remembered(near.UID); ok {
		return owner
	}
	object := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: near.APIVersion, Kind: near.Kind}}
	if o.Live.Get(ctx, client.ObjectKey{Namespace: near.Namespace, Name: near.Name}, object) != nil || object.UID != near.UID {
		o.remember(near.UID, near, missAge)
		return near
	}
	owner := near
	if c := metav1.GetControllerOf(object); c != nil {
		owner = corev1.ObjectReference{APIVersion: c.APIVersion, Kind: c.Kind, Namespace: near.Namespace, Name: c.Name, UID: c.UID}
	}
	o.remember(near.UID, owner, ownerAge)
	return owner
}

func (o *Owners) remembered(uid types.UID) (corev1.ObjectReference, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	k, ok := o.known[uid]
	return k.owner, ok && time.Now().Before(k.until)
}

func (o *Owners) remember(uid types.UID, owner corev1.ObjectReference, age time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.known == nil || len(o.known) >= ownersKept {
		// Starting anew is simpler than choosing, and costs one look-up for each workload that still fails.
		o.known = make(map[types.UID]knownOwner)
	}
	o.known[uid] = knownOwner{owner, time.Now().Add(age)}
}
