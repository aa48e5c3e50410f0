package runtime

import (
	"encoding/json"
	"net/netip"

	"github.com/dynawire/dynawire/pkg/runtime/wire"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// InstanceID names one instance: the pod that it is. It is comparable.
type InstanceID struct {
	// Namespace is the Kubernetes namespace of the pod.
	Namespace string `json:"namespace"`
	PodName   string `json:"pod"`
	// UID tells pods of the same name apart.
	UID string `json:"uid"`
}

// Number is the id under which Dynamo knows the instance, in entries and transports: a function of the pod's name.
func (id InstanceID) Number() uint64 { return wiring.InstanceID(id.PodName) }

func (id InstanceID) String() string { return id.Namespace + "/" + id.PodName }

// Instance is one pod of a component as it was when the value was made. What it points to is shared and must not be
// changed.
type Instance struct {
	ID InstanceID `json:"id"`
	// Namespace and Component are those under which the instance was found (for the own one: registered).
	Namespace string `json:"dynamoNamespace"`
	Component string `json:"component"`
	// Ready says whether to send it traffic.
	Ready bool `json:"ready"`
	// Terminating instances are not ready and will not be again.
	Terminating bool `json:"terminating,omitempty"`
	// Addresses are the pod's, IPv4 before IPv6.
	Addresses []netip.Addr `json:"addresses,omitempty"`
	Zone      string       `json:"zone,omitempty"`
	Node      string       `json:"node,omitempty"`
	// Revision grows whenever anything but the readiness changes, so that a cached transport can be told from a newer one. It
	// is this process's, and grows from one subscription to the next, too.
	Revision uint64 `json:"revision"`
	// Metadata is everything that it published.
	Metadata *Metadata `json:"-"`
}

// Endpoints are those that it registered, sorted by namespace, component and name. They are read anew each time.
func (i Instance) Endpoints() []Endpoint { return i.Metadata.Endpoints() }

// MarshalJSON writes the endpoints as well.
func (i Instance) MarshalJSON() ([]byte, error) {
	type fields Instance
	return json.Marshal(struct {
		fields
		Endpoints []Endpoint `json:"endpoints,omitempty"`
	}{fields(i), i.Endpoints()})
}

// Endpoint returns the endpoint of that name of the instance's own component. In Dynamo's namespace the worker suffix does
// not count. It is read anew each time, at the cost of a microsecond.
func (i Instance) Endpoint(name string) (Endpoint, bool) {
	return i.Metadata.Endpoint(i.Component, name)
}

// What instances publish about themselves, in the form that Dynamo gave it.
type (
	// Metadata is everything that one instance published: Endpoints, ModelCards, Values (what it registered with), Raw. It is
	// [wire.Metadata], whose methods go doc github.com/dynawire/dynawire/pkg/runtime/wire.Metadata shows.
	Metadata = wire.Metadata
	// Endpoint is one entry point of an instance: its names, Transport, DeviceType, Codec. It is [wire.Endpoint], whose fields
	// go doc github.com/dynawire/dynawire/pkg/runtime/wire.Endpoint shows.
	Endpoint = wire.Endpoint
	// Transport says how to reach an endpoint: Kind, Address, HostPort. It is [wire.Transport], whose fields and methods
	// go doc github.com/dynawire/dynawire/pkg/runtime/wire.Transport shows.
	Transport = wire.Transport
	// ModelCard is a model that an endpoint serves, and its Card. It is [wire.ModelCard], whose fields
	// go doc github.com/dynawire/dynawire/pkg/runtime/wire.ModelCard shows.
	ModelCard = wire.ModelCard
)

// TCP is the transport for an address that a TCP client dials. Dynamo's own form is HOST:PORT/{id:x}/ENDPOINT.
func TCP(address string) Transport { return wire.TCP(address) }

// Registration is what CreateInstance publishes.
type Registration struct {
	// Namespace is Dynamo's; empty means what the environment says (DYN_NAMESPACE, else "dynamo"). It is given without the
	// worker suffix, which is appended as Dynamo does.
	Namespace string
	// Component; empty means DYN_COMPONENT.
	Component string
	// Endpoints need a Name and a Transport; the rest is filled in.
	Endpoints []RegisterEndpoint
	// Metadata is any JSON object; peers get it from Metadata.Values. Numbers are kept as Kubernetes keeps them: 64-bit
	// integers and floats.
	Metadata json.RawMessage
}

// RegisterEndpoint is one endpoint of a Registration.
type RegisterEndpoint struct {
	Name      string
	Transport Transport
	// ModelCard, where the endpoint serves a model that Dynamo's frontends shall offer: a model deployment card, which needs
	// a display_name.
	ModelCard  json.RawMessage
	DeviceType string
	Codec      string
}

// Status is an instance's readiness for traffic.
type Status string

// The two states, spelled as Dynamo's health endpoint does.
const (
	StatusReady    Status = "ready"
	StatusNotReady Status = "notready"
)
