package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// piece is a document's place in the data.
type piece struct{ from, to int }

// split finds the documents of a YAML stream. A document begins with its "---" and ends with its "..."; neither can stand
// at the beginning of a line inside of one.
func split(data []byte) []piece {
	var pieces []piece
	from := 0
	for at := 0; at < len(data); {
		end := at + 1 + bytes.IndexByte(data[at:], '\n')
		if end == at {
			end = len(data)
		}
		line := data[at:end]
		if at > from && marks(line, "---") {
			pieces = append(pieces, piece{from, at})
			from = at
		}
		if marks(line, "...") {
			pieces = append(pieces, piece{from, end})
			from = end
		}
		at = end
	}
	if from < len(data) {
		pieces = append(pieces, piece{from, len(data)})
	}
	return pieces
}

func marks(line []byte, marker string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(marker))
	return ok && (len(rest) == 0 || strings.IndexByte(" \t\r\n", rest[0]) >= 0)
}

// parse fills in Root.
func (d *Document) parse() error {
	if isBlank(d.Text) {
		return nil
	}
	var root yaml.Node
	if err := yaml.Unmarshal(d.Text, &root); err != nil {
		return d.syntax(err)
	}
	if root.Kind != yaml.DocumentNode || len(root.Content) == 0 {
		return nil
	}
	object := root.Content[0]
	if object.Kind == yaml.ScalarNode && object.Tag == "!!null" {
		return nil
	}
	if object.Kind != yaml.MappingNode {
		return d.Errorf(object, "", "%s", notAnObject(object))
	}
	if err := d.check(object, 0); err != nil {
		return err
	}
	d.Root = &root
	return nil
}

// notAnObject says what a document is instead.
func notAnObject(n *yaml.Node) string {
	const want = "this is no Kubernetes object: want one with apiVersion and kind, found "
	switch n.Kind {
	case yaml.SequenceNode:
		return want + `a list; put its objects between lines of "---", or into the items of one of kind List`
	case yaml.ScalarNode:
		return want + strconv.Quote(shortened(n.Value))
	}
	return want + "an alias"
}

// shortened is the beginning of a text.
func shortened(text string) string {
	if len(text) <= 40 {
		return text
	}
	return strings.ToValidUTF8(text[:40], "") + "…"
}

// isBlank reports whether there is nothing but comments, directives and markers.
func isBlank(text []byte) bool {
	for line := range bytes.Lines(text) {
		trimmed := bytes.TrimSpace(line)
		if len(trimmed) > 0 && trimmed[0] != '#' && line[0] != '%' && string(trimmed) != "---" && string(trimmed) != "..." {
			return false
		}
	}
	return true
}

// syntax is the parser's error with the line that counts from the beginning of the file.
func (d *Document) syntax(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	e := &Error{File: d.File, Document: d.Number}
	var line int
	if n, _ := fmt.Sscanf(text, "line %d:", &line); n == 1 {
		e.Line = d.Line + line - 1
		_, text, _ = strings.Cut(text, ": ")
	}
	if line > 0 && tabAt(d.Text, line) {
		text += "; the line is indented with a tab, want spaces"
	}
	e.Err = errors.New(text)
	return e
}

// tabAt reports whether there is a tab in front of what stands in a line.
func tabAt(text []byte, line int) bool {
	lines := bytes.Split(text, []byte{'\n'})
	if line > len(lines) {
		return false
	}
	indent := lines[line-1][:len(lines[line-1])-len(bytes.TrimLeft(lines[line-1], " \t"))]
	return bytes.IndexByte(indent, '\t') >= 0
}

// maxDepth is far more than any object has, and little enough for recursion.
const maxDepth = 500

// check refuses what has no JSON, or more than one.
func (d *Document) check(n *yaml.Node, depth int) error {
	if depth > maxDepth {
		return d.Errorf(n, "", "nested more than %d levels deep", maxDepth)
	}
	d.Aliases = d.Aliases || n.Kind == yaml.AliasNode
	if n.Kind == yaml.MappingNode {
		seen := make(map[string]bool, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind != yaml.ScalarNode {
				return d.Errorf(key, "", "a key that is no string")
			}
			name, err := keyOf(key)
			if err != nil {
				return d.Errorf(key, "", "%w", err)
			}
			if seen[name] {
				return d.Errorf(key, "", "key %q is there twice; keep one of them", name)
			}
			seen[name] = true
		}
	}
	for _, child := range n.Content {
		if err := d.check(child, depth+1); err != nil {
			return err
		}
	}
	return nil
}
