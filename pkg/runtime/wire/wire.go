// Package wire is the document by which a Dynamo worker describes itself: what NVIDIA Dynamo's runtime calls
// DiscoveryMetadata and writes as spec.data of a DynamoWorkerMetadata (ai-dynamo/dynamo lib/runtime/src/discovery).
// It only reads and writes JSON.
//
// Dynamo's readers refuse a whole document for one entry of a kind that they do not know, so Encode writes nothing but
// what every release since 1.0 reads. Metadata is as tolerant as can be: what it does not know it leaves alone in Raw.
package wire

import (
	"encoding/json"
	"strings"
)

// ValuesKey is the top-level key under which a registration's own object is kept. Dynamo's readers take the keys that they
// know and ignore all others; the slash keeps clear of every name that Dynamo may come to use.
const ValuesKey = "dynawire.io/metadata"

// MaxInstanceID is the largest instance id: larger integers are not exact in JSON readers that use floats.
const MaxInstanceID = 1<<53 - 1

// Endpoint is one entry point of an instance.
type Endpoint struct {
	// Namespace and Component are as the instance registered them: the namespace with the worker suffix, if it has one.
	Namespace string `json:"namespace"`
	Component string `json:"component"`
	Name      string `json:"name"`
	// InstanceID is Dynamo's number; 0 where the document has none that is exact.
	InstanceID uint64    `json:"instanceID,omitempty"`
	Transport  Transport `json:"transport"`
	// DeviceType (cpu, cuda) and Codec (json, msgpack: how the request plane encodes) are empty where the worker is silent.
	DeviceType string `json:"deviceType,omitempty"`
	Codec      string `json:"codec,omitempty"`
}

// Transport says how to reach an endpoint: a kind (tcp, nats_tcp, http) and an address in that kind's own form, which
// differs between Dynamo's releases. It is passed on as it is.
type Transport struct {
	Kind    string `json:"kind"`
	Address string `json:"address,omitempty"`
	// Raw is the value of a kind that is not written as a plain string.
	Raw json.RawMessage `json:"raw,omitempty"`
}

// TCP is the transport for an address that a TCP client dials. Dynamo's own form is HOST:PORT/{id:x}/ENDPOINT.
func TCP(address string) Transport { return Transport{Kind: "tcp", Address: address} }

// HostPort is the HOST:PORT that the address begins with, scheme and path cut off.
func (t Transport) HostPort() string {
	addr := t.Address
	if _, rest, ok := strings.Cut(addr, "://"); ok {
		addr = rest
	}
	addr, _, _ = strings.Cut(addr, "/")
	return addr
}

// ModelCard is a model that an endpoint serves.
type ModelCard struct {
	Namespace string `json:"namespace"`
	Component string `json:"component"`
	Endpoint  string `json:"endpoint"`
	// Suffix tells several models of one endpoint apart (LoRA adapters).
	Suffix string `json:"suffix,omitempty"`
	// Card is Dynamo's model deployment card.
	Card json.RawMessage `json:"card"`
}
