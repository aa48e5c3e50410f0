package kube

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// Diagnose says why a component's instances are found, or why not. It looks at what there is now, past the client's own
// watches, writes nothing and starts nothing: some reads of the whole component. Empty names mean the own pod's. If the
// component is the own pod's, the question is whether that pod is found; else, whether any is.
//
// What cannot be read is a finding, not an error; an error is ErrClosed, or names that no label can carry.
func (c *Client) Diagnose(ctx context.Context, namespace, componentName string) (runtime.Diagnosis, error) {
	if c.isClosed() {
		return runtime.Diagnosis{}, fmt.Errorf("diagnose: %w", runtime.ErrClosed)
	}
	d := &diagnosing{client: c}
	d.KubeNamespace = c.identity.PodNamespace
	d.own = c.identity.PodName != "" && (namespace == "" || namespace == c.identity.Namespace) &&
		(componentName == "" || componentName == c.identity.Component)
	if namespace == "" {
		namespace = c.identity.Namespace
	}
	if componentName == "" {
		componentName = c.identity.Component
	}
	d.Namespace, d.Component = namespace, componentName
	d.key = componentKey{namespace, componentName}
	if d.own {
		d.Pod, d.Container = c.identity.PodName, c.identity.Container
	}
	err := d.key.check()
	if err != nil && (!d.own || componentName != "" && namespace != "") {
		return runtime.Diagnosis{}, fmt.Errorf("diagnose: %w", err)
	}
	d.run(ctx)
	return d.Diagnosis, nil
}

// ownUID is the UID by which the own instance is known.
func (d *diagnosing) ownUID() string { return d.client.identity.InstanceID().UID }

// self is the name by which it is known.
func (d *diagnosing) self() string { return d.client.identity.ObjectName() }

// ofContainers tells container mode: what is listed is containers, by pods and not by slices.
func (d *diagnosing) ofContainers() bool { return d.client.identity.Container != "" }

// diagnosing is a diagnosis that is being made, with what was read for it.
type diagnosing struct {
	runtime.Diagnosis
	client *Client
	key    componentKey
	own    bool // it is about the own pod

	pods      map[string]*corev1.Pod // by UID, of the Kubernetes namespace; nil where they cannot be read
	endpoints []listed
}

// listed is a pod that slices list.
type listed struct {
	pod, uid           string
	ready, terminating bool
}

func (d *diagnosing) add(id runtime.CheckID, v runtime.Verdict, found, remedy string, details ...string) {
	d.Checks = append(d.Checks, runtime.Check{ID: id, Verdict: v, Found: found, Remedy: remedy, Details: details})
}

func (d *diagnosing) run(ctx context.Context) {
	if d.client.identity.PodName != "" {
		d.checkBackend()
		if !d.checkOwnPod(ctx) {
			return
		}
	}
	slicesOf, objects, ok := d.checkAccess(ctx)
	if !ok {
		return
	}
	d.checkPods(ctx)
	if d.ofContainers() {
		d.listContainers()
	} else if !d.checkService(slicesOf) {
		return
	}
	if d.checkEndpoints() {
		d.checkReady()
		d.checkMetadata(objects)
	}
	d.checkSynced()
}

// listContainers is what the slices list, in container mode.
func (d *diagnosing) listContainers() {
	for _, p := range d.pods {
		if len(d.wrongLabels(p.Labels)) > 0 || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		slice := sliceOf(p.Name, string(p.UID), p.DeletionTimestamp != nil, p.Status.ContainerStatuses)
		for _, e := range slice {
			d.endpoints = append(d.endpoints, listed{pod: e.PodName, uid: e.PodUID, ready: e.Ready, terminating: e.Terminating})
		}
	}
	slices.SortFunc(d.endpoints, func(a, b listed) int { return strings.Compare(a.pod+a.uid, b.pod+b.uid) })
}

func (d *diagnosing) checkBackend() {
	switch b := d.client.identity.Backend; b {
	case wiring.BackendKubernetes:
		d.add(runtime.CheckBackend, runtime.OK, wiring.EnvDiscoveryBackend+" is "+b, "")
	case "":
		d.add(runtime.CheckBackend, runtime.Warning,
			wiring.EnvDiscoveryBackend+" is not set: Dynamo's own runtime would look in etcd",
			"label the Kubernetes namespace "+wiring.LabelDiscoveryEnabled+"=true and recreate the pod, or set the variable to "+
				wiring.BackendKubernetes)
	default:
		d.add(runtime.CheckBackend, runtime.Problem, fmt.Sprintf("%s is %q: peers that look in Kubernetes never see this process",
			wiring.EnvDiscoveryBackend, b), "set it to "+wiring.BackendKubernetes+", or leave it to dynawire")
	}
}

// checkOwnPod is false where there is no going on.
func (d *diagnosing) checkOwnPod(ctx context.Context) bool {
	id := d.client.identity
	var pod corev1.Pod
	err := d.client.api.core.Get().Namespace(id.PodNamespace).Resource("pods").Name(id.PodName).Do(ctx).Into(&pod)
	switch {
	case apierrors.IsNotFound(err):
		d.add(runtime.CheckIdentity, runtime.Problem, fmt.Sprintf("there is no pod %s/%s", id.PodNamespace, id.PodName),
			wiring.EnvPodName+" and "+wiring.EnvPodNamespace+" must come from fieldRefs; leave them to dynawire")
		return false
	case err != nil:
		d.add(runtime.CheckIdentity, runtime.Unknown, fmt.Sprintf("the pod %s/%s cannot be read: %v", id.PodNamespace, id.PodName, err), d.remedyFor(err))
	case string(pod.UID) != id.PodUID:
		d.add(runtime.CheckIdentity, runtime.Problem, fmt.Sprintf("pod %s has UID %s, but %s is %s: its metadata would belong to nobody",
			id.PodName, pod.UID, wiring.EnvPodUID, id.PodUID), wiring.EnvPodUID+" must come from fieldRef metadata.uid; leave it to dynawire")
	case d.ofContainers() && !slices.Contains(containersOf(&pod), id.Container):
		d.add(runtime.CheckIdentity, runtime.Problem, fmt.Sprintf("pod %s has no container %s (%s): nobody looks for what it publishes",
			id.PodName, id.Container, wiring.EnvContainerName), "set it to the container's name, one of "+strings.Join(containersOf(&pod), ", ")+
			"; init containers, sidecars among them, are not looked at")
	case d.ofContainers():
		d.add(runtime.CheckIdentity, runtime.OK, fmt.Sprintf("container %s of pod %s with UID %s", id.Container, id.PodName, id.PodUID), "")
	default:
		d.add(runtime.CheckIdentity, runtime.OK, fmt.Sprintf("pod %s with UID %s", id.PodName, id.PodUID), "")
	}
	if err == nil && d.own {
		return d.checkLabels(pod.Labels)
	}
	return true
}

// containersOf are the names of those whose readiness the pod's status tells, or will tell.
func containersOf(p *corev1.Pod) []string {
	var names []string
	for i := range p.Status.ContainerStatuses {
		names = append(names, p.Status.ContainerStatuses[i].Name)
	}
	for i := range p.Spec.Containers {
		if name := p.Spec.Containers[i].Name; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// wrongLabels says what keeps a pod with these labels out of the component.
func (d *diagnosing) wrongLabels(labels map[string]string) []string {
	var wrong []string
	for _, want := range [...]struct{ label, value, is string }{
		{wiring.LabelNamespace, d.key.namespace, "the process registers as"},
		{wiring.LabelComponent, d.key.component, "the process registers as"},
		{wiring.LabelDiscoveryEnabled, "true", "in container mode peers look for"},
	} {
		switch found, ok := labels[want.label]; {
		case want.label == wiring.LabelDiscoveryEnabled && !d.ofContainers(): // the Service has it
		case !ok:
			wrong = append(wrong, "no label "+want.label)
		case found != want.value:
			wrong = append(wrong, fmt.Sprintf("label %s is %q, %s %q", want.label, found, want.is, want.value))
		}
	}
	return wrong
}

func (d *diagnosing) checkLabels(labels map[string]string) bool {
	wrong := d.wrongLabels(labels)
	if len(wrong) == 0 {
		d.add(runtime.CheckLabels, runtime.OK, "its labels name "+d.key.namespace+"/"+d.key.component, "")
		return true
	}
	found := "the pod's labels do not name the component: no Service selects it"
	if d.ofContainers() {
		found = "the pod's labels do not name the component: nobody looks for it there"
	}
	d.add(runtime.CheckLabels, runtime.Problem, found,
		"label the Kubernetes namespace "+wiring.LabelDiscoveryEnabled+"=true and recreate the pod, so that dynawire stamps it; a program "+
			"that is no Dynamo module needs label "+wiring.LabelComponent+" in its pod template", wrong...)
	return d.key.check() == nil
}

// checkPods tells whether anybody would be there, and who else is.
func (d *diagnosing) checkPods(ctx context.Context) {
	var list corev1.PodList
	err := d.client.api.core.Get().Namespace(d.KubeNamespace).Resource("pods").
		Param("labelSelector", wiring.LabelComponent).Do(ctx).Into(&list)
	if err != nil {
		d.add(runtime.CheckPods, runtime.Unknown, fmt.Sprintf("pods cannot be listed: %v", err), d.remedyFor(err))
		return
	}
	d.pods = map[string]*corev1.Pod{}
	others := map[string]int{}
	mine := 0
	for i := range list.Items {
		p := &list.Items[i]
		d.pods[string(p.UID)] = p
		if len(d.wrongLabels(p.Labels)) == 0 {
			mine++
			continue
		}
		name := cmp.Or(p.Labels[wiring.LabelNamespace], "(none)") + "/" + cmp.Or(p.Labels[wiring.LabelComponent], "(none)")
		if d.ofContainers() && p.Labels[wiring.LabelDiscoveryEnabled] != "true" {
			name += " without " + wiring.LabelDiscoveryEnabled + "=true"
		}
		others[name]++
	}
	if mine > 0 {
		d.add(runtime.CheckPods, runtime.OK, fmt.Sprintf("pods with the labels: %d", mine), "")
		return
	}
	details := make([]string, 0, len(others))
	for name, n := range others {
		details = append(details, fmt.Sprintf("%s has %d", name, n))
	}
	slices.Sort(details)
	remedy := "deploy it in this Kubernetes namespace, labelled " + wiring.LabelDiscoveryEnabled + "=true"
	if len(details) > 0 {
		remedy = "ask for one of those that are there, or " + remedy
	}
	d.add(runtime.CheckPods, runtime.Problem, fmt.Sprintf("no pod carries %s=%s and %s=%s", wiring.LabelNamespace, d.key.namespace,
		wiring.LabelComponent, d.key.component), remedy, details...)
}

func (d *diagnosing) checkService(list []discoveryv1.EndpointSlice) bool {
	if len(list) == 0 {
		d.add(runtime.CheckService, runtime.Problem, "no EndpointSlice is labelled "+d.key.selector()+": no Service has made one",
			"dynawire makes the Service "+wiring.ServiceName(d.key.namespace, d.key.component)+" by itself: is its controller running, and the "+
				"Kubernetes namespace labelled "+wiring.LabelDiscoveryEnabled+"=true? A Service of your own needs these labels")
		return false
	}
	var services []string
	endpoints := map[string]*listed{}
	for i := range list {
		if name := list[i].Labels[discoveryv1.LabelServiceName]; !slices.Contains(services, name) {
			services = append(services, name)
		}
		for j := range list[i].Endpoints {
			e := &list[i].Endpoints[j]
			if e.TargetRef == nil || e.TargetRef.Kind != "Pod" || e.TargetRef.UID == "" {
				continue
			}
			l := endpoints[string(e.TargetRef.UID)]
			if l == nil {
				l = &listed{pod: e.TargetRef.Name, uid: string(e.TargetRef.UID)}
				endpoints[l.uid] = l
			}
			l.ready = l.ready || serves(e.Conditions)
			l.terminating = l.terminating || e.Conditions.Terminating != nil && *e.Conditions.Terminating
		}
	}
	for _, l := range endpoints {
		d.endpoints = append(d.endpoints, *l)
	}
	slices.SortFunc(d.endpoints, func(a, b listed) int { return strings.Compare(a.pod+a.uid, b.pod+b.uid) })
	slices.Sort(services)
	d.add(runtime.CheckService, runtime.OK, fmt.Sprintf("Service %s, EndpointSlices: %d", strings.Join(services, ", "), len(list)), "")
	return true
}

// serves reads the conditions as discovery does: nil ready and serving are true, terminating is not ready.
func serves(c discoveryv1.EndpointConditions) bool {
	no := func(b *bool) bool { return b != nil && !*b }
	return !no(c.Ready) && !no(c.Serving) && (c.Terminating == nil || !*c.Terminating)
}

func (d *diagnosing) checkEndpoints() bool {
	list, what := "the EndpointSlices list", "pod"
	remedy := "the Service's selector must match the pods' labels; a pod is listed once it has an address, and until it has ended"
	if d.ofContainers() {
		list, what = "the pods' status lists", "container"
		remedy = "a container is listed once the kubelet has reported it, and until its pod has ended"
	}
	switch at := slices.IndexFunc(d.endpoints, func(l listed) bool { return l.uid == d.ownUID() }); {
	case len(d.endpoints) == 0:
		d.add(runtime.CheckEndpoints, runtime.Problem, list+" no "+what, remedy)
		return false
	case d.own && at < 0:
		d.add(runtime.CheckEndpoints, runtime.Problem, fmt.Sprintf("%s other %ss (%d), but not %s", list, what, len(d.endpoints), d.self()), remedy)
		return false
	}
	d.add(runtime.CheckEndpoints, runtime.OK, fmt.Sprintf("%ss listed: %d", what, len(d.endpoints)), "")
	return true
}

func (d *diagnosing) checkReady() {
	var not []string
	ready, ownReady := 0, false
	for _, l := range d.endpoints {
		if l.ready {
			ready++
			ownReady = ownReady || l.uid == d.ownUID()
			continue
		}
		not = append(not, l.pod+": "+d.whyNotReady(l))
	}
	const remedy = "see the pods' events and logs; a worker is ready once its /health answers 200, which is after SetStatus(ready)"
	found := fmt.Sprintf("ready: %d of %d", ready, len(d.endpoints))
	switch {
	case d.own && !ownReady:
		d.add(runtime.CheckReady, runtime.Problem, d.self()+" is not ready; "+found, remedy, not...)
	case ready == 0:
		d.add(runtime.CheckReady, runtime.Problem, found, remedy, not...)
	case len(not) > 0:
		d.add(runtime.CheckReady, runtime.Warning, found, "", not...)
	default:
		d.add(runtime.CheckReady, runtime.OK, found, "")
	}
}

func (d *diagnosing) checkSynced() {
	c := d.client
	c.mu.Lock()
	comp := c.components[d.key]
	c.mu.Unlock()
	if comp == nil {
		return // nobody follows it here: nothing to be late
	}
	switch s := comp.table.Snapshot(); {
	case !s.Synced:
		d.add(runtime.CheckSynced, runtime.Problem, fmt.Sprintf("this client has not heard everything yet: %v", comp.notSynced(nil)),
			"the client goes on trying; see its log")
	case !s.StaleSince.IsZero():
		d.add(runtime.CheckSynced, runtime.Warning, fmt.Sprintf("this client has had no contact with the API server since %s (%s)",
			s.StaleSince.Format("15:04:05"), c.clock.Since(s.StaleSince).Round(1e9)), "it serves what it knew then, and goes on trying")
	default:
		d.add(runtime.CheckSynced, runtime.OK, fmt.Sprintf("this client follows the component; instances it knows: %d", len(s.Instances)), "")
	}
}
