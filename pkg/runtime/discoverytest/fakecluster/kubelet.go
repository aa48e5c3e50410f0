package fakecluster

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/dynawire/dynawire/api/v1alpha1"
	"github.com/dynawire/dynawire/pkg/runtime"
)

// collectAfter is how long the garbage collector takes to find what a dead pod owned.
const collectAfter = 50 * time.Millisecond

// kubelet asks every pod, as often as the period says, and collects what dead pods owned.
func (c *Cluster) kubelet(stop <-chan struct{}) {
	tick := time.NewTicker(c.options.Period)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			c.probe()
			c.collect()
		}
	}
}

func (c *Cluster) probe() {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := false
	for _, p := range c.pods {
		ready := p.health != nil && p.health.Status() == runtime.StatusReady
		if ready != isReady(p.object) {
			p.change(c, func(o *corev1.Pod) { setReady(o, ready) })
			changed = true
		}
	}
	if changed {
		c.sync()
	}
}

// collect deletes what is owned by nobody any more. A pod that took the name over has taken the object over, too.
func (c *Cluster) collect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead = slices.DeleteFunc(c.dead, func(d dead) bool {
		if time.Since(d.at) < collectAfter {
			return false
		}
		for _, resource := range []string{v1alpha1.Resource, "configmaps"} {
			for _, obj := range c.API.All(resource, d.namespace) {
				c.disown(resource, obj, d.uid)
			}
		}
		return true
	})
}

// disown takes a dead owner off an object, and deletes the object with its last one.
func (c *Cluster) disown(resource string, obj k8sruntime.Object, owner types.UID) {
	obj = obj.DeepCopyObject()
	m, err := meta.Accessor(obj)
	if err != nil {
		return
	}
	owners := m.GetOwnerReferences()
	left := slices.DeleteFunc(slices.Clone(owners), func(r metav1.OwnerReference) bool { return r.UID == owner })
	switch {
	case len(left) == len(owners):
	case len(left) == 0:
		c.API.Delete(resource, m.GetNamespace(), m.GetName())
	default:
		m.SetOwnerReferences(left)
		c.API.Set(obj)
	}
}

func isReady(o *corev1.Pod) bool {
	for _, cond := range o.Status.Conditions {
		if cond.Type == corev1.PodReady {
			return cond.Status == corev1.ConditionTrue
		}
	}
	return false
}

func setReady(o *corev1.Pod, ready bool) {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	o.Status.ContainerStatuses[0].Ready = ready
	o.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}
}
