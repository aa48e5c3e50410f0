package objects

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dynawire/dynawire/internal/cli/manifest"
)

// Locate is the node of a field, as rules name it (spec.containers[0].env[POD_NAME].value, metadata.labels[a.b/c]): its key
// where it has one. Where it is not there, it is the last one on the way.
func Locate(n *yaml.Node, field string) *yaml.Node {
	found := n
	for _, part := range parts(field) {
		key, value := element(n, part)
		if value == nil {
			break
		}
		found, n = key, value
	}
	return found
}

// parts are the names and the subscripts of a field path.
func parts(field string) []string {
	var all []string
	for field != "" {
		end := strings.IndexAny(field, ".[")
		if rest, ok := strings.CutPrefix(field, "["); ok {
			part, after, _ := strings.Cut(rest, "]")
			all, field = append(all, part), strings.TrimPrefix(after, ".")
			continue
		}
		if end < 0 {
			end = len(field)
		}
		all, field = append(all, field[:end]), strings.TrimPrefix(field[end:], ".")
	}
	return all
}

// element is a mapping's key with its value, or an item of a list by its index or its name.
func element(n *yaml.Node, part string) (key, value *yaml.Node) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == part {
				return n.Content[i], n.Content[i+1]
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(part); err == nil && i >= 0 && i < len(n.Content) {
			return n.Content[i], n.Content[i]
		}
		for _, item := range n.Content {
			if manifest.Text(manifest.Get(item, "name")) == part {
				return item, item
			}
		}
	}
	return nil, nil
}
