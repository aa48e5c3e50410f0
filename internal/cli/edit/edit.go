// Package edit changes the tree of a document, and writes the change into its text: what is not changed stays as it was
// written.
package edit

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"gomodules.xyz/jsonpatch/v2"

	"github.com/dynawire/dynawire/internal/cli/manifest"
)

// Apply applies patch operations to a tree without aliases. What it adds has no lines.
func Apply(root *yaml.Node, patch []jsonpatch.Operation) error {
	for i := range patch {
		o := &patch[i]
		if err := apply(root, o); err != nil {
			return fmt.Errorf("%s %s: %w", o.Operation, o.Path, err)
		}
	}
	return nil
}

func apply(root *yaml.Node, o *jsonpatch.Operation) error {
	data, err := json.Marshal(o.Value)
	if err != nil {
		return err
	}
	value, err := manifest.FromJSON(data)
	if err != nil {
		return err
	}
	keys := strings.Split(strings.TrimPrefix(o.Path, "/"), "/")
	n := root
	for _, key := range keys[:len(keys)-1] {
		if n, err = step(n, unescape(key)); err != nil {
			return err
		}
	}
	last := unescape(keys[len(keys)-1])
	switch {
	case o.Operation != "add" && o.Operation != "replace":
		return fmt.Errorf("operation is not supported")
	case n.Kind == yaml.SequenceNode && o.Operation == "add":
		return insert(n, last, value)
	case n.Kind == yaml.MappingNode:
		set(n, last, value)
		return nil
	}
	return fmt.Errorf("the parent is neither an object nor a list")
}

// escapes are those of a JSON pointer (RFC 6901).
var escapes = strings.NewReplacer("~1", "/", "~0", "~")

func unescape(key string) string { return escapes.Replace(key) }

// step goes down one level.
func step(n *yaml.Node, key string) (*yaml.Node, error) {
	switch n.Kind {
	case yaml.SequenceNode:
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= len(n.Content) {
			return nil, fmt.Errorf("no element %s", key)
		}
		return n.Content[i], nil
	case yaml.MappingNode:
		if child := manifest.Get(n, key); child != nil {
			return child, nil
		}
		return nil, fmt.Errorf("no member %s", key)
	}
	return nil, fmt.Errorf("%s is below a scalar", key)
}

func insert(list *yaml.Node, key string, value *yaml.Node) error {
	i := len(list.Content)
	if key != "-" {
		n, err := strconv.Atoi(key)
		if err != nil || n < 0 || n > i {
			return fmt.Errorf("no element %s", key)
		}
		i = n
	}
	list.Content = append(list.Content, nil)
	copy(list.Content[i+1:], list.Content[i:])
	list.Content[i] = value
	return nil
}

func set(n *yaml.Node, key string, value *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value != key {
			continue
		}
		if old := n.Content[i+1]; old.Kind == yaml.ScalarNode && value.Kind == yaml.ScalarNode && old.ShortTag() != "!!null" {
			old.Value, old.Tag = value.Value, value.Tag // where it stands, with its comments
			old.Style |= value.Style
			return
		}
		n.Content[i+1] = value
		return
	}
	n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, value)
}
