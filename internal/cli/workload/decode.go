package workload

import (
	"errors"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"go.yaml.in/yaml/v3"

	"github.com/dynawire/dynawire/internal/cli/manifest"
	"github.com/dynawire/dynawire/pkg/pod"
)

// Open finds the objects of a document. root is the document's tree, or a copy without aliases where it has some.
func Open(d *manifest.Document) (root *yaml.Node, all []Object, err error) {
	if d.Root == nil {
		return nil, nil, nil
	}
	root = d.Root
	if d.Aliases {
		if root, err = d.Expand(); err != nil {
			return nil, nil, err
		}
	}
	all, err = Objects(d, root.Content[0])
	return root, all, err
}

// Decode reads a template of the object as the webhook would.
func (o *Object) Decode(d *manifest.Document, t *Template) (*pod.Pod, error) {
	data, err := manifest.ToJSON(t.Node, "")
	if err != nil {
		return nil, d.Errorf(t.Node, o.String(), "%w", err)
	}
	p, err := pod.Decode(data)
	if err == nil {
		return p, nil
	}
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		n, field := follow(t.Node, string(semantic.JSONPointer))
		return nil, d.Errorf(n, o.String(), "%s%s: %s", t.Prefix, field, wrongType(semantic))
	}
	return nil, d.Errorf(t.Node, o.String(), "%w", err)
}

// wrongType says what was found; the decoder's words are about Go types.
func wrongType(e *json.SemanticError) string {
	kind := map[string]string{
		"{": "an object", "[": "a list", `"`: "a string", "0": "a number", "t": "a boolean", "f": "a boolean", "n": "null",
	}
	found, ok := kind[string(rune(e.JSONKind))]
	if e.Err != nil || !ok {
		return e.Error()
	}
	text := "it is " + found
	if e.GoType != nil && e.GoType.Kind().String() == "string" {
		return text + ", want a string; put it in quotes"
	}
	return text + ", which it cannot be"
}

// follow is the node at a JSON pointer, or the last one on the way, and the pointer as a field path.
func follow(n *yaml.Node, pointer string) (found *yaml.Node, field string) {
	found = n
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		i, err := strconv.Atoi(part)
		isItem := err == nil && found.Kind == yaml.SequenceNode
		switch {
		case isItem:
			field += "[" + part + "]"
		case strings.ContainsAny(part, "./"):
			field += "[" + part + "]"
		default:
			field += "." + part
		}
		child := manifest.Get(found, part)
		if isItem && i >= 0 && i < len(found.Content) {
			child = found.Content[i]
		}
		if child != nil {
			found = child
		}
	}
	return found, strings.TrimPrefix(field, ".")
}
