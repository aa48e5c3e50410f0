package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// parseJSON reads a stream of JSON values. ok is false where data is none, which may still be YAML.
func parseJSON(file string, data []byte) (documents []Document, ok bool, err error) {
	if text := bytes.TrimLeft(data, " \t\r\n"); len(text) == 0 || text[0] != '{' {
		return nil, false, nil
	}
	values, err := jsonValues(data)
	if err != nil {
		return nil, false, nil //nolint:nilerr // it is YAML then, and YAML's parser says what is wrong
	}
	for i, v := range values {
		d := Document{File: file, Number: i + 1, Line: lineOf(data, v.from), Text: data[v.from:v.to], JSON: true}
		if err := d.parseJSON(); err != nil {
			return nil, true, err
		}
		documents = append(documents, d)
	}
	return documents, true, nil
}

// jsonValues are the places of the values of a stream, each with the space in front of it; the last one takes the rest.
func jsonValues(data []byte) ([]piece, error) {
	var pieces []piece
	dec := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true))
	from := 0
	for {
		err := dec.SkipValue()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		to := int(dec.InputOffset())
		pieces = append(pieces, piece{from, to})
		from = to
	}
	if len(pieces) > 0 {
		pieces[len(pieces)-1].to = len(data)
	}
	return pieces, nil
}

func (d *Document) parseJSON() error {
	object, err := fromJSON(d.Text, maxDepth)
	if err != nil {
		e := &Error{File: d.File, Document: d.Number, Err: err}
		if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
			e.Line = d.Line + lineOf(d.Text, int(syntactic.ByteOffset)) - 1
			if errors.Is(syntactic, jsontext.ErrDuplicateName) {
				e.Err = fmt.Errorf("key %q is there twice; keep one of them", syntactic.JSONPointer.LastToken())
			}
		}
		return e
	}
	if object.Kind != yaml.MappingNode {
		return d.Errorf(object, "", "%s", notAnObject(object))
	}
	d.Root = &yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{object}}
	return nil
}

// FromJSON is a JSON value as a tree. Its nodes have no lines.
func FromJSON(data []byte) (*yaml.Node, error) {
	n, err := fromJSON(data, maxDepth)
	if err != nil {
		return nil, err
	}
	forgetLines(n)
	return n, nil
}

func forgetLines(n *yaml.Node) {
	n.Line = 0
	for _, child := range n.Content {
		forgetLines(child)
	}
}

func fromJSON(data []byte, depth int) (*yaml.Node, error) {
	r := jsonReader{data: data, dec: jsontext.NewDecoder(bytes.NewReader(data)), line: 1}
	return r.value(depth)
}

type jsonReader struct {
	data []byte
	dec  *jsontext.Decoder
	// at and line go together, so that lines are counted once.
	at, line int
}

func (r *jsonReader) value(depth int) (*yaml.Node, error) {
	if depth < 0 {
		return nil, errors.New("nested too deeply")
	}
	tok, err := r.dec.ReadToken()
	if err != nil {
		return nil, err
	}
	to := int(r.dec.InputOffset())
	r.line += bytes.Count(r.data[r.at:to], []byte{'\n'})
	r.at = to
	n := &yaml.Node{Line: r.line}
	switch kind := tok.Kind(); kind {
	case '{', '[':
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
		closing := jsontext.Kind('}')
		if kind == '[' {
			n.Kind, n.Tag, closing = yaml.SequenceNode, "!!seq", ']'
		}
		for r.dec.PeekKind() != closing {
			child, err := r.value(depth - 1)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, child)
		}
		_, err = r.dec.ReadToken()
		return n, err
	case '"':
		line := n.Line
		n = stringNode(tok.String())
		n.Line = line
	case '0':
		n.Kind, n.Tag, n.Value = yaml.ScalarNode, numberTag(tok.String()), tok.String()
	case 'n':
		n.Kind, n.Tag, n.Value = yaml.ScalarNode, "!!null", "null"
	default:
		n.Kind, n.Tag, n.Value = yaml.ScalarNode, "!!bool", tok.String()
	}
	return n, nil
}

func numberTag(text string) string {
	if bytes.ContainsAny([]byte(text), ".eE") {
		return "!!float"
	}
	return "!!int"
}
