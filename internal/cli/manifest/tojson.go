package manifest

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// ToJSON is a tree as JSON, its keys in their order, indented by indent, or on one line where that is empty. The tree has
// no aliases: see Expand.
func ToJSON(n *yaml.Node, indent string) ([]byte, error) {
	w := jsonWriter{indent: indent}
	if err := w.value(n, "\n"); err != nil {
		return nil, err
	}
	return w.out, nil
}

type jsonWriter struct {
	out    []byte
	indent string
}

// value writes n; newline is the line break with the indentation of n.
func (w *jsonWriter) value(n *yaml.Node, newline string) error {
	switch n.Kind {
	case yaml.MappingNode:
		return w.list(n, newline, '{', '}')
	case yaml.SequenceNode:
		return w.list(n, newline, '[', ']')
	case yaml.ScalarNode:
		return w.scalar(n)
	}
	return &NodeError{n, errors.New("neither mapping, sequence nor scalar")}
}

func (w *jsonWriter) list(n *yaml.Node, newline string, opening, closing byte) error {
	w.out = append(w.out, opening)
	inner := newline + w.indent
	for i, child := range n.Content {
		isValue := n.Kind == yaml.MappingNode && i%2 == 1
		switch {
		case isValue && w.indent != "":
			w.out = append(w.out, ": "...)
		case isValue:
			w.out = append(w.out, ':')
		case i > 0:
			w.out = append(w.out, ',')
		}
		if !isValue && w.indent != "" {
			w.out = append(w.out, inner...)
		}
		var err error
		if n.Kind == yaml.MappingNode && !isValue {
			err = w.key(child)
		} else {
			err = w.value(child, inner)
		}
		if err != nil {
			return err
		}
	}
	if len(n.Content) > 0 && w.indent != "" {
		w.out = append(w.out, newline...)
	}
	w.out = append(w.out, closing)
	return nil
}

func (w *jsonWriter) key(n *yaml.Node) error {
	key, err := keyOf(n)
	if err != nil {
		return err
	}
	w.out, err = jsontext.AppendQuote(w.out, key)
	return err
}

func (w *jsonWriter) scalar(n *yaml.Node) error {
	out, err := appendScalar(w.out, n)
	if err != nil {
		return err
	}
	w.out = out
	return nil
}
