package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unique"
)

// ErrNotAnObject is Parse's for a document that carries nothing: null, absent, or no JSON object.
var ErrNotAnObject = errors.New("not a JSON object")

// The part of a document that all releases agree on are two maps of entries. A map that is null counts as empty.
// event_channels and event_sources stay raw: 1.3 writes channel ids above 2^53, which no API server keeps.
type (
	endpointMap struct {
		Entries map[string]json.RawMessage `json:"endpoints"`
	}
	modelMap struct {
		Entries map[string]json.RawMessage `json:"model_cards"`
	}
)

// entry is an element of either map. Readers take the values; the keys differ between releases.
type entry struct {
	Type       string          `json:"type"`
	Namespace  string          `json:"namespace"`
	Component  string          `json:"component"`
	Endpoint   string          `json:"endpoint"`
	InstanceID json.Number     `json:"instance_id"`
	Transport  json.RawMessage `json:"transport"`
	DeviceType string          `json:"device_type"`
	Codec      string          `json:"request_plane_codec"`
	Suffix     string          `json:"model_suffix"`
	Card       json.RawMessage `json:"card_json"`
}

// Parse reads a document. It fails only where there is no document to speak of; an entry that it cannot read is left out
// and stays in Raw. The result does not share memory with raw.
func Parse(raw []byte) (*Metadata, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '{' {
		return nil, fmt.Errorf("discovery metadata: %w", ErrNotAnObject)
	}
	var doc endpointMap
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, fmt.Errorf("discovery metadata: %w", err)
	}
	m := &Metadata{Raw: bytes.Clone(raw)}
	for _, r := range doc.Entries {
		if e, ok := parseEntry(r, "Endpoint"); ok {
			m.Endpoints = append(m.Endpoints, Endpoint{
				// The same few names stand in every document of a component.
				Namespace: intern(e.Namespace), Component: intern(e.Component), Name: intern(e.Endpoint),
				InstanceID: exactID(e.InstanceID),
				Transport:  parseTransport(e.Transport),
				DeviceType: intern(e.DeviceType), Codec: intern(e.Codec),
			})
		}
	}
	slices.SortFunc(m.Endpoints, func(a, b Endpoint) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Component, b.Component), cmp.Compare(a.Name, b.Name))
	})
	return m, nil
}

// ModelCards reads the models out of the document, sorted by namespace, component, endpoint and suffix. It parses anew
// each time: cards are most of a document, and few readers want them.
func (m *Metadata) ModelCards() []ModelCard {
	if m == nil {
		return nil
	}
	var doc modelMap
	if json.Unmarshal(m.Raw, &doc) != nil {
		return nil
	}
	cards := make([]ModelCard, 0, len(doc.Entries))
	for _, r := range doc.Entries {
		if e, ok := parseEntry(r, "Model"); ok {
			cards = append(cards, ModelCard{
				Namespace: e.Namespace, Component: e.Component, Endpoint: e.Endpoint, Suffix: e.Suffix, Card: e.Card,
			})
		}
	}
	slices.SortFunc(cards, func(a, b ModelCard) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Component, b.Component),
			cmp.Compare(a.Endpoint, b.Endpoint), cmp.Compare(a.Suffix, b.Suffix))
	})
	return cards
}

func parseEntry(raw json.RawMessage, kind string) (entry, bool) {
	var e entry
	if err := json.Unmarshal(raw, &e); err != nil || e.Type != kind || e.Endpoint == "" {
		return entry{}, false
	}
	return e, true
}

// parseTransport reads serde's externally tagged form: an object with one key, the kind.
func parseTransport(raw json.RawMessage) Transport {
	var tagged map[string]json.RawMessage
	if json.Unmarshal(raw, &tagged) != nil || len(tagged) != 1 {
		return Transport{Raw: bytes.Clone(raw)}
	}
	for kind, value := range tagged {
		t := Transport{Kind: intern(kind)}
		if json.Unmarshal(value, &t.Address) != nil {
			t.Raw = value
		}
		return t
	}
	return Transport{}
}

func exactID(n json.Number) uint64 {
	id, err := strconv.ParseUint(n.String(), 10, 64)
	if err != nil || id > MaxInstanceID {
		return 0
	}
	return id
}

func intern(s string) string { return unique.Make(s).Value() }
