package manifest

import (
	"errors"

	"go.yaml.in/yaml/v3"
)

// maxExpanded bounds what aliases may grow to.
const maxExpanded = 1 << 18

// Expand is a copy of the document's tree without aliases, anchors and merge keys. Its nodes have no lines but their
// comments. In their field Alias, which has no meaning in what is no alias, they have the node that they stand for.
func (d *Document) Expand() (*yaml.Node, error) {
	left := maxExpanded
	n, err := expand(d.Root, maxDepth, &left)
	if err != nil {
		return nil, d.Errorf(nil, "", "%w", err)
	}
	return n, nil
}

func expand(n *yaml.Node, depth int, left *int) (*yaml.Node, error) {
	origin := n
	for n.Kind == yaml.AliasNode && depth > 0 {
		n = n.Alias
		depth--
	}
	if *left--; *left < 0 || depth <= 0 {
		return nil, errors.New("its aliases expand to too much, or to themselves")
	}
	c := *n
	c.Line, c.Column, c.Anchor, c.Content, c.Alias = 0, 0, "", nil, origin
	var merged []*yaml.Node
	for i := 0; i < len(n.Content); i++ {
		child, err := expand(n.Content[i], depth-1, left)
		if err != nil {
			return nil, err
		}
		if n.Kind == yaml.MappingNode && i%2 == 1 && n.Content[i-1].ShortTag() == "!!merge" {
			c.Content = c.Content[:len(c.Content)-1]
			merged = append(merged, sources(child)...)
			continue
		}
		c.Content = append(c.Content, child)
	}
	if len(merged) == 0 {
		return &c, nil
	}
	return &c, merge(&c, merged)
}

// sources are the mappings of a merge key: one, or a list of them.
func sources(n *yaml.Node) []*yaml.Node {
	if n.Kind == yaml.SequenceNode {
		return n.Content
	}
	return []*yaml.Node{n}
}

// merge adds the keys that n does not have; the first mapping that has one counts.
func merge(n *yaml.Node, from []*yaml.Node) error {
	has := make(map[string]bool, len(n.Content)/2)
	for i := 0; i < len(n.Content); i += 2 {
		has[n.Content[i].Value] = true
	}
	for _, m := range from {
		if m.Kind != yaml.MappingNode {
			return errors.New("a merge key whose value is no mapping")
		}
		for i := 0; i+1 < len(m.Content); i += 2 {
			if key := m.Content[i].Value; !has[key] {
				has[key] = true
				n.Content = append(n.Content, m.Content[i], m.Content[i+1])
			}
		}
	}
	return nil
}

// Get is the value of a key; nil where n is no mapping or does not have it.
func Get(n *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		if n == nil || n.Kind != yaml.MappingNode {
			return nil
		}
		var value *yaml.Node
		for i := 0; i+1 < len(n.Content) && value == nil; i += 2 {
			if n.Content[i].Value == key {
				value = n.Content[i+1]
			}
		}
		n = value
	}
	return n
}

// Text is a scalar's text; empty where there is none.
func Text(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		return ""
	}
	return n.Value
}
