package kube

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/kube/join"
)

// Container mode (DYN_KUBE_DISCOVERY_MODE=container): every container of a pod is an instance of its own. Its readiness is
// the container's, which no EndpointSlice has, so that pods are followed in their place; for the join each pod is a slice
// that lists its containers. (ai-dynamo/dynamo lib/runtime/src/discovery/kube/daemon.rs)

// reader takes what the join needs out of one object; into lends its memory.
type reader func(object string, into []join.Endpoint) (s join.Slice, version string, err error)

// readiness is where a component's readiness comes from in the client's mode.
func (c *Client) readiness(key componentKey) (collection, reader) {
	if c.identity.Container == "" {
		return c.api.endpointSlices(c.identity.PodNamespace, key.selector()), readSlice
	}
	return collection{
		client: c.api.core, params: c.api.params, format: jsonFormat{}, resource: "pods",
		namespace: c.identity.PodNamespace, selector: key.selector(),
	}, readPod
}

// somePod is what is read of a pod.
type somePod struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		NodeName string `json:"nodeName"`
	} `json:"spec"`
	Status struct {
		Phase             corev1.PodPhase          `json:"phase"`
		PodIP             string                   `json:"podIP"`
		ContainerStatuses []corev1.ContainerStatus `json:"containerStatuses"`
	} `json:"status"`
}

// readPod is a pod as a slice of its containers.
func readPod(object string, into []join.Endpoint) (s join.Slice, version string, err error) {
	var p somePod
	if err := json.Unmarshal([]byte(object), &p); err != nil {
		return s, "", fmt.Errorf("read pod: %w", err)
	}
	s = join.Slice{Name: p.Metadata.Name, Endpoints: into[:0]}
	s.Version, _ = strconv.ParseUint(p.Metadata.ResourceVersion, 10, 64)
	if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return s, p.Metadata.ResourceVersion, nil
	}
	address, _ := netip.ParseAddr(p.Status.PodIP)
	m := p.Metadata
	for _, e := range sliceOf(m.Name, string(m.UID), m.DeletionTimestamp != nil, p.Status.ContainerStatuses) {
		e.Address, e.Node = address, p.Spec.NodeName
		s.Endpoints = append(s.Endpoints, e)
	}
	return s, m.ResourceVersion, nil
}

// sliceOf lists a pod's containers with their readiness. As in a slice, none is ready in a pod that is terminating; Dynamo
// goes on listing them until they end.
func sliceOf(pod, uid string, terminating bool, containers []corev1.ContainerStatus) []join.Endpoint {
	out := make([]join.Endpoint, len(containers))
	for i, container := range containers {
		id := runtime.Identity{PodName: pod, PodUID: uid, Container: container.Name}.InstanceID()
		out[i] = join.Endpoint{PodName: id.PodName, PodUID: id.UID, Ready: container.Ready && !terminating, Terminating: terminating}
	}
	return out
}

// ofContainers reads metadata objects of which a pod may have several: the one that is named POD-CONTAINER belongs to that
// container.
func ofContainers(read func(string) (join.Object, string, error)) func(string) (join.Object, string, error) {
	return func(text string) (join.Object, string, error) {
		o, version, err := read(text)
		if err != nil {
			return o, version, err
		}
		var object struct {
			Metadata struct {
				OwnerReferences []metav1.OwnerReference `json:"ownerReferences"`
			} `json:"metadata"`
		}
		if err := json.Unmarshal([]byte(text), &object); err != nil {
			return o, version, fmt.Errorf("read owners: %w", err)
		}
		for _, owner := range object.Metadata.OwnerReferences {
			if container, ok := strings.CutPrefix(o.Name, owner.Name+"-"); ok && string(owner.UID) == o.PodUID {
				o.PodUID = runtime.ContainerUID(o.PodUID, container)
			}
		}
		return o, version, nil
	}
}
