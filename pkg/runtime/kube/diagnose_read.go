package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/kube/join"
	"github.com/dynawire/dynawire/pkg/runtime/wire"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// watchTry is how long a watch is held to see whether it may be.
const watchTry = 2 * time.Second

// checkAccess reads what discovery reads, the way it does, and keeps it. It is not ok where there is nothing to go on with.
func (d *diagnosing) checkAccess(
	ctx context.Context,
) (list []discoveryv1.EndpointSlice, objects map[string]join.Object, ok bool) {
	a, st := d.client.api, d.client.store
	var es discoveryv1.EndpointSliceList
	selector := d.key.selector()
	from, resource := a.discovery, "endpointslices"
	into, limit := k8sruntime.Object(&es), "0"
	if d.ofContainers() {
		from, resource = a.core, "pods"
		into, limit = &corev1.PodList{}, "1" // whether they can be read; checkPods reads them
	}
	objects = map[string]join.Object{}
	_, listed := st.collection(a, d.KubeNamespace).page(ctx, metav1.ListOptions{}, func(text string) error {
		if o, _, err := st.read(text); err == nil {
			objects[o.Name] = o
		}
		return nil
	})
	refused := []error{
		from.Get().Namespace(d.KubeNamespace).Resource(resource).Param("labelSelector", selector).Param("limit", limit).Do(ctx).Into(into),
		d.mayWatch(ctx, from, resource, selector),
		listed,
		d.mayWatch(ctx, st.client, st.resource, st.selector),
	}
	refused = slices.DeleteFunc(refused, func(err error) bool { return err == nil })
	if len(refused) == 0 {
		d.add(runtime.CheckAccess, runtime.OK, resource+" and "+st.resource+" can be listed and watched", "")
		return es.Items, objects, true
	}
	details := make([]string, len(refused))
	for i, err := range refused {
		details[i] = err.Error()
	}
	found := "what discovery reads cannot be read"
	if apierrors.IsForbidden(refused[0]) {
		found = "the account may not read what discovery reads"
	}
	d.add(runtime.CheckAccess, runtime.Problem, found, d.remedyFor(refused[0]), details...)
	return nil, nil, false
}

// mayWatch opens a watch and lets go of it: a right to list is none to watch.
func (d *diagnosing) mayWatch(ctx context.Context, client rest.Interface, resource, selector string) error {
	try, cancel := context.WithTimeout(ctx, watchTry)
	defer cancel()
	stream, err := client.Get().Namespace(d.KubeNamespace).Resource(resource).
		Param("watch", "true").Param("timeoutSeconds", "1").Param("labelSelector", selector).Stream(try)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			return nil // it was not refused, only slow
		}
		return err
	}
	return stream.Close()
}

// remedyFor is what to do about a read that failed.
func (d *diagnosing) remedyFor(err error) string {
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("dynawire binds the Role %s to the pods' accounts in namespaces labelled %s=true; an account of your own elsewhere "+
			"needs get, list and watch on pods, endpointslices and %s", wiring.ServiceAccount, wiring.LabelDiscoveryEnabled, d.client.store.resource)
	case apierrors.IsUnauthorized(err):
		return "the pod's token is not accepted: is automountServiceAccountToken false, or the token of another cluster?"
	case apierrors.IsNotFound(err):
		return "there must be " + d.client.store.missing
	default:
		return "the API server must be reachable from here"
	}
}

// checkMetadata joins what is listed with what was published, as discovery does: by name and owner.
func (d *diagnosing) checkMetadata(objects map[string]join.Object) {
	var missing []string
	ownFound := false
	for _, l := range d.endpoints {
		if why := d.whyNoMetadata(l, objects); why != "" {
			missing = append(missing, l.pod+": "+why)
			continue
		}
		d.Instances++
		if l.ready {
			d.Ready++
		}
		ownFound = ownFound || l.uid == d.ownUID()
	}
	const remedy = "the process publishes its metadata when it registers (CreateInstance; a Dynamo worker when it serves its endpoint): see its " +
		"log. A frontend that only looks, and a container that is no part of Dynamo, publish none"
	found := fmt.Sprintf("with metadata: %d of %d", d.Instances, len(d.endpoints))
	switch {
	case d.own && !ownFound:
		d.add(runtime.CheckMetadata, runtime.Problem, d.self()+" has no metadata; "+found, remedy, missing...)
	case d.Instances == 0:
		d.add(runtime.CheckMetadata, runtime.Problem, found, remedy, missing...)
	case len(missing) > 0:
		d.add(runtime.CheckMetadata, runtime.Warning, found, "", missing...)
	default:
		d.add(runtime.CheckMetadata, runtime.OK, found, "")
	}
}

func (d *diagnosing) whyNoMetadata(l listed, objects map[string]join.Object) string {
	o, found := objects[l.pod]
	switch {
	case !found:
		return "there is no " + d.client.store.kind.Kind + " " + d.client.store.prefix + l.pod
	case o.PodUID == "":
		return "its object has no owner that is a pod"
	case o.PodUID != l.uid:
		return fmt.Sprintf("its object belongs to another pod of that name (UID %s, not %s)", o.PodUID, l.uid)
	}
	if err := wire.Check(o.Document); err != nil {
		return "its object cannot be read: " + err.Error()
	}
	return ""
}

// whyNotReady says what keeps a listed pod from being ready.
func (d *diagnosing) whyNotReady(l listed) string {
	if l.terminating {
		return "it is terminating"
	}
	uid, _, _ := strings.Cut(l.uid, "/") // in container mode the container follows
	p := d.pods[uid]
	if p == nil {
		return "its readiness probe has not succeeded"
	}
	statuses := p.Status.ContainerStatuses
	if d.ofContainers() {
		for i, e := range sliceOf(p.Name, uid, false, statuses) {
			if e.PodUID == l.uid {
				statuses = statuses[i : i+1]
				break
			}
		}
	}
	for i := range statuses {
		c := &statuses[i]
		switch {
		case c.Ready:
			continue
		case c.State.Waiting != nil:
			return fmt.Sprintf("container %s waits: %s %s", c.Name, c.State.Waiting.Reason, c.State.Waiting.Message)
		case c.State.Terminated != nil:
			return fmt.Sprintf("container %s ended: %s (exit code %d)", c.Name, c.State.Terminated.Reason, c.State.Terminated.ExitCode)
		default:
			return fmt.Sprintf("the readiness probe of container %s has not succeeded (restarts: %d)", c.Name, c.RestartCount)
		}
	}
	for _, gate := range p.Spec.ReadinessGates {
		if !slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == gate.ConditionType && c.Status == corev1.ConditionTrue
		}) {
			return fmt.Sprintf("its readiness gate %s is not true", gate.ConditionType)
		}
	}
	return fmt.Sprintf("the pod is %s and its readiness probe has not succeeded", p.Status.Phase)
}
