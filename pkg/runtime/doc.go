// Package runtime is the in-pod library: a program registers itself as an instance of a Dynamo component, says when it is
// ready, and finds the instances of other components, without etcd and without Dynamo's operator. On Kubernetes it speaks
// the wire format of NVIDIA Dynamo's own runtime, so that both find each other.
//
// This package is the contract: Discovery and its types, errors, the health endpoint that the kubelet asks, and the
// delivery of events (Table, Subscription), which every backend shares. A backend is a package of its own; the one for
// Kubernetes is pkg/runtime/kube.
//
// A worker registers, loads its model, and becomes ready:
//
//	d, err := kube.New(kube.Config{})
//	self, err := d.CreateInstance(ctx, runtime.Registration{Component: "backend", …})
//	load()
//	err = d.SetStatus(ctx, self, runtime.StatusReady)
//
// A frontend follows a component:
//
//	sub, err := d.Subscribe(ctx, "dynamo", "backend")
//	defer sub.Close()
//	for ev, err := range sub.Events(ctx) {
//		…
//	}
package runtime
