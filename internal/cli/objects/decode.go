package objects

import (
	"errors"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
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
	p := new(pod.Pod)
	if err := o.decode(d, t, p); err != nil {
		return nil, err
	}
	if t.Prefix != "" {
		// Of a template's metadata only labels and annotations count: its pods are made beside their owner, under names of their own.
		p.Metadata.Name, p.Metadata.Namespace = "", o.Namespace
	}
	return p, nil
}

// Read reads the object as a whole into v.
func (o *Object) Read(d *manifest.Document, v any) error {
	return o.decode(d, &Template{Node: o.Node}, v)
}

func (o *Object) decode(d *manifest.Document, t *Template, v any) error {
	data, err := manifest.ToJSON(t.Node, "")
	if err != nil {
		return d.Errorf(t.Node, o.String(), "%w", err)
	}
	if n, field := null(t.Node, strings.TrimSuffix(t.Prefix, ".")); n != nil {
		return d.Errorf(n, o.String(), "%s is null, want an item of the list; remove its \"-\" or write what is missing", field)
	}
	err = json.Unmarshal(data, v, pod.Options)
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		n, field := follow(t.Node, string(semantic.JSONPointer))
		return d.Errorf(n, o.String(), "%s%s: %s", t.Prefix, field, wrongType(n, semantic))
	}
	if err != nil {
		return d.Errorf(t.Node, o.String(), "%w", err)
	}
	return nil
}

// Metadata reads the object's own metadata.
func (o *Object) Metadata(d *manifest.Document) (pod.Metadata, error) {
	p, err := o.Decode(d, &Template{Node: o.Node})
	if err != nil {
		return pod.Metadata{}, err
	}
	return p.Metadata, nil
}

// wrongType says what was found at n and what is wanted; the decoder's words are about Go types.
func wrongType(n *yaml.Node, e *json.SemanticError) string {
	found, ok := map[jsontext.Kind]string{
		'{': "an object", '[': "a list", '"': "a string", '0': "a number", 't': "a boolean", 'f': "a boolean", 'n': "null",
	}[e.JSONKind]
	want := wanted(e.GoType)
	if !ok || want == "" {
		return e.Error()
	}
	it := "it"
	if n.Kind == yaml.ScalarNode && n.Value != "" && len(n.Value) < 64 {
		it = n.Value
		if e.JSONKind == '"' {
			it = strconv.Quote(it)
		}
	}
	text := it + " is " + found + ", want " + want
	switch {
	case n.Kind != yaml.ScalarNode:
	case want == "a string":
		text += "; put it in quotes"
	case e.GoType == reflect.TypeFor[[]string]():
		text += "; write each word as an item of its own"
	case want == wholeNumber && n.Style != 0 && strings.Trim(n.Value, "0123456789") == "":
		text += "; take the quotes away"
	}
	return text
}

const wholeNumber = "a whole number up to 2147483647"

// null is the first item of a list that is null, and its field path: the API would read an empty object, or an empty text.
func null(n *yaml.Node, at string) (found *yaml.Node, field string) {
	for i, child := range n.Content {
		switch {
		case n.Kind == yaml.SequenceNode && child.Kind == yaml.ScalarNode && child.ShortTag() == "!!null":
			return child, at + "[" + strconv.Itoa(i) + "]"
		case n.Kind == yaml.SequenceNode:
			found, field = null(child, at+"["+strconv.Itoa(i)+"]")
		case n.Kind == yaml.MappingNode && i%2 == 1:
			found, field = null(child, strings.TrimPrefix(at+"."+n.Content[i-1].Value, "."))
		}
		if found != nil {
			return found, field
		}
	}
	return nil, ""
}

// wanted is JSON's word for a Go type; empty where there is none.
func wanted(t reflect.Type) string {
	if t == nil {
		return ""
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Int32:
		return wholeNumber
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map, reflect.Pointer:
		return "an object"
	}
	return ""
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
