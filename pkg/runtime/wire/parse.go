package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/dynawire/dynawire/pkg/runtime/internal/scan"
)

// ErrNotAnObject says that a document carries nothing: null, absent, or no JSON object.
var ErrNotAnObject = errors.New("not a JSON object")

// jsonSpace is what JSON takes for white space (RFC 8259); bytes.TrimSpace takes more.
const jsonSpace = " \t\r\n"

// Parse reads a document from anywhere. It fails only where there is no document to speak of. The result does not share
// memory with raw.
func Parse(raw []byte) (*Metadata, error) {
	raw = bytes.Trim(raw, jsonSpace)
	if len(raw) > 0 && raw[0] == '{' {
		if err := json.Unmarshal(raw, &struct{}{}); err != nil {
			return nil, fmt.Errorf("discovery metadata: %w", err)
		}
	}
	if err := Check(string(raw)); err != nil {
		return nil, err
	}
	m := Labelled("", string(raw))
	return &m, nil
}

// Check says what is wrong with a document that an API server sent, and which is therefore well-formed JSON. The part of a
// document that all releases agree on are two maps of entries; one that is null counts as empty.
func Check(document string) error {
	s := scan.New(document)
	if s.Peek() != '{' {
		return fmt.Errorf("discovery metadata: %w", ErrNotAnObject)
	}
	for s.Enter('{'); s.More('}'); {
		if s.Key() == "endpoints" {
			if c := s.Peek(); c != '{' && c != 'n' {
				return fmt.Errorf("discovery metadata: endpoints is no map of entries, but begins with %q", c)
			}
			return nil
		}
		s.Skip()
	}
	if !s.Done() {
		return errors.New("discovery metadata: malformed JSON")
	}
	return nil
}

// topLevel returns a scanner in front of a top-level value, the first of that key, as Check does; nil where there is none. What
// comes after it is not read: endpoints come first as API servers write them, and model cards are large.
func topLevel(document, key string) *scan.Scanner {
	if document == "" {
		return nil
	}
	s := scan.New(document)
	for s.Enter('{'); s.More('}'); s.Skip() {
		if s.Key() == key {
			return s
		}
	}
	return nil
}

// entry is an element of either map. Readers take the values; the keys differ between releases. What is not looked into is
// the JSON text; event_channels and event_sources are never looked into: 1.3 writes channel ids above 2^53, which no
// API server keeps.
type entry struct {
	kind, namespace, component, endpoint string
	instanceID                           uint64
	transport, card                      string
	deviceType, codec, suffix            string
}

// eachEntry calls f with the entries of one of the maps that can be read.
func eachEntry(document, in string, f func(*entry)) {
	s := topLevel(document, in)
	if s == nil || s.Peek() != '{' {
		return
	}
	for s.Enter('{'); s.More('}'); {
		s.Key()
		if e := (entry{}); e.read(s.Raw()) && e.endpoint != "" {
			f(&e)
		}
	}
}

func (e *entry) asEndpoint() Endpoint {
	return Endpoint{
		Namespace: e.namespace, Component: e.component, Name: e.endpoint,
		InstanceID: e.instanceID, Transport: parseTransport(e.transport), DeviceType: e.deviceType, Codec: e.codec,
	}
}

func (e *entry) read(raw string) bool {
	if raw == "" || raw[0] != '{' {
		return false
	}
	s := scan.New(raw)
	for s.Enter('{'); s.More('}'); {
		switch s.Key() {
		case "type":
			e.kind = s.String()
		case "namespace":
			e.namespace = s.String()
		case "component":
			e.component = s.String()
		case "endpoint":
			e.endpoint = s.String()
		case "instance_id":
			e.instanceID = exactID(s.Raw())
		case "transport":
			e.transport = s.Raw()
		case "device_type":
			e.deviceType = s.String()
		case "request_plane_codec":
			e.codec = s.String()
		case "model_suffix":
			e.suffix = s.String()
		case "card_json":
			e.card = s.Raw()
		default:
			s.Skip()
		}
	}
	return s.Done()
}

// parseTransport reads serde's externally tagged form: an object with one key, the kind.
func parseTransport(raw string) Transport {
	if raw == "" {
		return Transport{}
	}
	if raw[0] != '{' {
		return Transport{Raw: json.RawMessage(raw)}
	}
	var t Transport
	kinds := 0
	s := scan.New(raw)
	for s.Enter('{'); s.More('}'); kinds++ {
		t = Transport{Kind: s.Key()}
		if s.Peek() == '"' {
			t.Address = s.String()
		} else {
			t.Raw = json.RawMessage(s.Raw())
		}
	}
	if kinds != 1 {
		return Transport{Raw: json.RawMessage(raw)}
	}
	return t
}

// exactID reads a number, or one in quotes; 0 where it is none, or not exact for readers that use floats.
func exactID(raw string) uint64 {
	id, err := strconv.ParseUint(strings.Trim(raw, `"`), 10, 64)
	if err != nil || id > MaxInstanceID {
		return 0
	}
	return id
}

func compareEndpoints(a, b Endpoint) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Component, b.Component), cmp.Compare(a.Name, b.Name))
}

func compareCards(a, b ModelCard) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Component, b.Component),
		cmp.Compare(a.Endpoint, b.Endpoint), cmp.Compare(a.Suffix, b.Suffix))
}
