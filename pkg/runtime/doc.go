// Package runtime is the in-pod library: a program registers itself as an instance of a Dynamo component, says when it is
// ready, and finds the instances of other components, without etcd and without Dynamo's operator. On Kubernetes it speaks
// the wire format of NVIDIA Dynamo's own runtime, so that both find each other.
//
// This package is the contract: Discovery and its types, errors, the health endpoint that the kubelet asks, and the
// delivery of events (Table, Subscription), which every backend shares. A backend is a package of its own; the one for
// Kubernetes is pkg/runtime/kube.
//
// A worker registers, loads its model, becomes ready, and drains when it is told to go:
//
//	d, err := kube.New(kube.Config{})
//	err = runtime.Worker{Registration: runtime.Registration{Component: "backend", …}, Load: load, Serve: serve}.Run(ctx, d)
//
// A router sends requests to the ready instances of a component in turn:
//
//	routes, err := runtime.Follow(ctx, d, "dynamo", "backend", nil)
//	err = routes.WaitReady(ctx)
//	for instance := range routes.InTurn() {
//		…
//	}
//
// Both are made of Discovery's methods, which are there for programs that need more: Subscribe for every event. Packages
// beside this one: memory is a backend in one process, for tests; grpcresolver dials components with gRPC; discoverytest
// is the contract as a test suite.
package runtime
