package wire

import (
	"encoding/json"
	"slices"
	"strings"
)

// Metadata is what an instance published about itself. It never changes: an instance that publishes anew gets another
// one. It keeps the document as it was written and reads it when asked, each time anew: there are thousands of them, and
// most are never looked into. The zero value and nil are those of an instance that published nothing.
type Metadata struct {
	text string // a label and the document behind it, in one piece of memory
	from uint32
}

// Labelled is the metadata of a document that Check approves of. The label is the caller's, for what it would else keep
// apart at the price of a piece of memory. The result does not share memory with either.
func Labelled(label, document string) Metadata {
	text := make([]byte, 0, len(label)+len(document))
	text = append(append(text, label...), document...)
	return Metadata{text: string(text), from: uint32(len(label))}
}

// Pile keeps the text of many small documents in few pieces of memory, which costs less than one for each; but a piece
// stays until nothing in it is wanted any more. It is for what comes all at once. The nil Pile keeps each apart.
type Pile struct{ top strings.Builder }

const (
	pieceSize = 32 << 10
	smallText = 1 << 10
)

// Labelled is Labelled, with the text on the pile.
func (p *Pile) Labelled(label, document string) Metadata {
	size := len(label) + len(document)
	if p == nil || size > smallText {
		return Labelled(label, document)
	}
	if p.top.Cap()-p.top.Len() < size {
		p.top = strings.Builder{}
		p.top.Grow(pieceSize)
	}
	from := p.top.Len()
	p.top.WriteString(label)
	p.top.WriteString(document)
	return Metadata{text: p.top.String()[from:], from: uint32(len(label))}
}

// Label returns the label.
func (m *Metadata) Label() string { return m.text[:m.from] }

// document is empty where nothing was published.
func (m *Metadata) document() string {
	if m == nil {
		return ""
	}
	return m.text[m.from:]
}

// Raw is the whole document as it was published, a copy; nil where there is none.
func (m *Metadata) Raw() json.RawMessage {
	if document := m.document(); document != "" {
		return json.RawMessage(document)
	}
	return nil
}

// Publishes says whether this is the document that was published.
func (m *Metadata) Publishes(document string) bool { return m.document() == document }

// Same says whether both publish the same document.
func (m *Metadata) Same(o *Metadata) bool { return m.document() == o.document() }

// Endpoints are the instance's, sorted by namespace, component and name. An entry that cannot be read is left out.
func (m *Metadata) Endpoints() []Endpoint {
	var endpoints []Endpoint
	eachEntry(m.document(), "endpoints", func(e *entry) {
		if e.kind == "Endpoint" {
			endpoints = append(endpoints, e.asEndpoint())
		}
	})
	slices.SortFunc(endpoints, compareEndpoints)
	return endpoints
}

// Endpoint is the first of Endpoints with that component and name, without what it costs to make the others.
func (m *Metadata) Endpoint(component, name string) (Endpoint, bool) {
	var first entry
	eachEntry(m.document(), "endpoints", func(e *entry) {
		if e.kind == "Endpoint" && e.component == component && e.endpoint == name && (first.kind == "" || e.namespace < first.namespace) {
			first = *e
		}
	})
	if first.kind == "" {
		return Endpoint{}, false
	}
	return first.asEndpoint(), true
}

// ModelCards are the models that the instance serves, sorted by namespace, component, endpoint and suffix.
func (m *Metadata) ModelCards() []ModelCard {
	var cards []ModelCard
	eachEntry(m.document(), "model_cards", func(e *entry) {
		if e.kind == "Model" {
			cards = append(cards, ModelCard{
				Namespace: e.namespace, Component: e.component, Endpoint: e.endpoint, Suffix: e.suffix, Card: json.RawMessage(e.card),
			})
		}
	})
	slices.SortFunc(cards, compareCards)
	return cards
}

// Values is the registration's own object; nil where there is none (Dynamo's workers have none).
func (m *Metadata) Values() json.RawMessage {
	if s := topLevel(m.document(), ValuesKey); s != nil {
		return json.RawMessage(s.Raw())
	}
	return nil
}
