package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Document is what Encode writes.
type Document struct {
	// InstanceID is the owner's (wiring.InstanceID); every entry carries it.
	InstanceID uint64
	Endpoints  []Endpoint
	ModelCards []ModelCard
	// Values is any JSON object, or nil.
	Values json.RawMessage
}

type endpointEntry struct {
	Type       string         `json:"type"`
	Namespace  string         `json:"namespace"`
	Component  string         `json:"component"`
	Endpoint   string         `json:"endpoint"`
	InstanceID uint64         `json:"instance_id"`
	Transport  map[string]any `json:"transport"`
	DeviceType string         `json:"device_type,omitempty"`
	Codec      string         `json:"request_plane_codec,omitempty"`
}

type modelEntry struct {
	Type       string          `json:"type"`
	Namespace  string          `json:"namespace"`
	Component  string          `json:"component"`
	Endpoint   string          `json:"endpoint"`
	InstanceID uint64          `json:"instance_id"`
	Card       json.RawMessage `json:"card_json"`
	Suffix     string          `json:"model_suffix,omitempty"`
}

// Encode writes a document with all the maps that old releases insist on, empty ones too. It refuses what a reader of
// Dynamo's would stumble over.
func Encode(d Document) (json.RawMessage, error) {
	if d.InstanceID > MaxInstanceID {
		return nil, fmt.Errorf("instance id %d is above 2^53-1", d.InstanceID)
	}
	endpoints := make(map[string]endpointEntry, len(d.Endpoints))
	for _, e := range d.Endpoints {
		key, transport, err := checkEndpoint(d.InstanceID, e)
		if err != nil {
			return nil, err
		}
		if _, twice := endpoints[key]; twice {
			return nil, fmt.Errorf("endpoint %q is given twice", e.Name)
		}
		endpoints[key] = endpointEntry{
			Type: "Endpoint", Namespace: e.Namespace, Component: e.Component, Endpoint: e.Name,
			InstanceID: d.InstanceID, Transport: transport, DeviceType: e.DeviceType, Codec: e.Codec,
		}
	}
	models := make(map[string]modelEntry, len(d.ModelCards))
	for _, c := range d.ModelCards {
		if err := checkCard(c.Card); err != nil {
			return nil, fmt.Errorf("model card of endpoint %q: %w", c.Endpoint, err)
		}
		key := entryKey(d.InstanceID, c.Namespace, c.Component, c.Endpoint)
		if c.Suffix != "" {
			key += "/" + c.Suffix
		}
		models[key] = modelEntry{
			Type: "Model", Namespace: c.Namespace, Component: c.Component, Endpoint: c.Endpoint,
			InstanceID: d.InstanceID, Card: c.Card, Suffix: c.Suffix,
		}
	}
	doc := map[string]any{"endpoints": endpoints, "model_cards": models, "event_channels": struct{}{}}
	if len(d.Values) > 0 {
		if err := checkObject(d.Values); err != nil {
			return nil, fmt.Errorf("metadata: %w", err)
		}
		doc[ValuesKey] = d.Values
	}
	raw, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("encode discovery metadata: %w", err)
	}
	return raw, nil
}

func checkEndpoint(id uint64, e Endpoint) (key string, transport map[string]any, err error) {
	for _, part := range [...]struct{ what, name string }{
		{"namespace", e.Namespace}, {"component", e.Component}, {"endpoint", e.Name},
	} {
		// A dot or a slash would be read as a separator of dyn://ns.component.endpoint or of the key.
		if part.name == "" || strings.ContainsAny(part.name, "./") {
			return "", nil, fmt.Errorf("%s name %q is empty or has a dot or slash", part.what, part.name)
		}
	}
	switch {
	case strings.HasPrefix(e.Transport.HostPort(), ":"):
		return "", nil, fmt.Errorf("transport of endpoint %q: the address %q has no host, and peers would not know where to dial; "+
			"a pod gets its own from a variable with the fieldRef status.podIP", e.Name, e.Transport.Address)
	case e.Transport.Kind == "":
		return "", nil, fmt.Errorf("endpoint %q has no transport", e.Name)
	case len(e.Transport.Raw) > 0:
		transport = map[string]any{e.Transport.Kind: e.Transport.Raw}
	case e.Transport.Address != "":
		transport = map[string]any{e.Transport.Kind: e.Transport.Address}
	default:
		return "", nil, fmt.Errorf("transport of endpoint %q has no address", e.Name)
	}
	return entryKey(id, e.Namespace, e.Component, e.Name), transport, nil
}

// entryKey is the key of releases 1.1 and newer; the id is in lower-case hexadecimal without padding.
func entryKey(id uint64, namespace, component, endpoint string) string {
	return fmt.Sprintf("%s/%s/%s/%x", namespace, component, endpoint, id)
}

// checkCard wants what Dynamo's frontends need to register a model at all.
func checkCard(card json.RawMessage) error {
	if err := checkObject(card); err != nil {
		return err
	}
	var c struct {
		DisplayName *string `json:"display_name"`
	}
	if err := json.Unmarshal(card, &c); err != nil || c.DisplayName == nil || *c.DisplayName == "" {
		return errors.New("it needs a display_name")
	}
	return nil
}

func checkObject(raw json.RawMessage) error {
	if trimmed := bytes.Trim(raw, jsonSpace); len(trimmed) == 0 || trimmed[0] != '{' || !json.Valid(trimmed) {
		return ErrNotAnObject
	}
	return nil
}
