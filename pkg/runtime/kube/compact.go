package kube

import (
	"net/netip"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/dynawire/dynawire/api/v1alpha1"
	"github.com/dynawire/dynawire/pkg/runtime/kube/join"
	"github.com/dynawire/dynawire/pkg/runtime/wire"
)

// compactSlice keeps what the join needs of an EndpointSlice, so that the rest can go.
func compactSlice(obj k8sruntime.Object) (join.Slice, bool) {
	es, ok := obj.(*discoveryv1.EndpointSlice)
	if !ok {
		return join.Slice{}, false
	}
	s := join.Slice{Name: es.Name, Endpoints: make([]join.Endpoint, 0, len(es.Endpoints))}
	// Resource versions can be compared as numbers (KEP-5504). Should one not be, the last heard wins.
	s.Version, _ = strconv.ParseUint(es.ResourceVersion, 10, 64)
	for i := range es.Endpoints {
		e := &es.Endpoints[i]
		if e.TargetRef == nil || e.TargetRef.Kind != "Pod" || e.TargetRef.UID == "" {
			continue
		}
		out := join.Endpoint{
			PodName: e.TargetRef.Name, PodUID: string(e.TargetRef.UID),
			Ready:       ready(e.Conditions),
			Terminating: e.Conditions.Terminating != nil && *e.Conditions.Terminating,
		}
		if e.NodeName != nil {
			out.Node = *e.NodeName
		}
		if e.Zone != nil {
			out.Zone = *e.Zone
		}
		if len(e.Addresses) > 0 { // the API gives meaning to the first only
			if addr, err := netip.ParseAddr(e.Addresses[0]); err == nil {
				out.Address = addr.Unmap()
			}
		}
		s.Endpoints = append(s.Endpoints, out)
	}
	return s, true
}

// ready reads the conditions as the API defines them: nil ready and serving are true. On a Service that publishes
// not-ready addresses ready is always true, and serving tells.
func ready(c discoveryv1.EndpointConditions) bool {
	no := func(b *bool) bool { return b != nil && !*b }
	return !no(c.Ready) && !no(c.Serving) && (c.Terminating == nil || !*c.Terminating)
}

// compactMetadata keeps what the join needs of a DynamoWorkerMetadata. The error is that of its data, without which the
// object is still worth something.
func compactMetadata(dwm *v1alpha1.DynamoWorkerMetadata) (join.Object, error) {
	o := join.Object{Name: dwm.Name, UID: string(dwm.UID)}
	for _, owner := range dwm.OwnerReferences {
		if owner.Kind == "Pod" && owner.APIVersion == corev1.SchemeGroupVersion.String() {
			o.PodUID = string(owner.UID)
			break
		}
	}
	var err error
	o.Metadata, err = wire.Parse(dwm.Spec.Data.Raw)
	return o, err
}
