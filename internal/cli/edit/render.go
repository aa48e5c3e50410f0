package edit

import (
	"bytes"

	"go.yaml.in/yaml/v3"

	"github.com/dynawire/dynawire/internal/cli/manifest"
)

// Snapshot remembers a document's tree as it was written, before it is changed.
type Snapshot struct {
	document *manifest.Document
	nodes    map[*yaml.Node]written
}

// written is a node as it was.
type written struct {
	content []*yaml.Node
	value   string
	// next is the line of the first node behind this one and all below it.
	next int
}

// Take remembers a document. Its tree is to be changed in place.
func Take(d *manifest.Document) *Snapshot {
	s := &Snapshot{document: d, nodes: map[*yaml.Node]written{}}
	end := 1 + bytes.Count(d.Text, []byte{'\n'})
	if len(d.Text) > 0 && d.Text[len(d.Text)-1] != '\n' {
		end++
	}
	s.take(d.Root, end)
	return s
}

// take goes backwards, so that it knows what comes next.
func (s *Snapshot) take(n *yaml.Node, next int) {
	s.nodes[n] = written{content: append([]*yaml.Node(nil), n.Content...), value: n.Value, next: next}
	for i := len(n.Content) - 1; i >= 0; i-- {
		s.take(n.Content[i], next)
		next = n.Content[i].Line
	}
}

// Text is the document's text with what was changed in root, which is its tree or, where the document has aliases, the
// changed copy without them. Where the change cannot be written into the text, the whole document is written anew: the
// comments and the order stay even then.
func (s *Snapshot) Text(root *yaml.Node) ([]byte, error) {
	d := s.document
	want, err := manifest.ToJSON(root.Content[0], "")
	if err != nil {
		return nil, err
	}
	if d.JSON {
		return s.json(root)
	}
	if root != d.Root {
		graft(root)
	}
	if text, ok := s.splice(); ok && reads(text, want) {
		return text, nil
	}
	return Encode(d, root)
}

// reads reports whether a text is the object that is wanted.
func reads(text, want []byte) bool {
	documents, err := manifest.Parse("", text)
	if err != nil || len(documents) != 1 || documents[0].Root == nil {
		return false
	}
	root := documents[0].Root
	if documents[0].Aliases {
		if root, err = documents[0].Expand(); err != nil {
			return false
		}
	}
	got, err := manifest.ToJSON(root.Content[0], "")
	return err == nil && bytes.Equal(got, want)
}

// graft brings a change of the copy without aliases back to the tree that it stands for, except below aliases and beside
// merge keys: what is changed there is not in the text then, and that is seen when the text is read again.
func graft(n *yaml.Node) *yaml.Node {
	origin := n.Alias
	if origin == nil {
		return n
	}
	switch {
	case origin.Kind == yaml.AliasNode:
	case origin.Kind == yaml.ScalarNode:
		origin.Value, origin.Tag = n.Value, n.Tag
	case !merges(origin):
		content := make([]*yaml.Node, len(n.Content))
		for i := range n.Content {
			content[i] = graft(n.Content[i])
		}
		origin.Content = content
	}
	return origin
}

func merges(n *yaml.Node) bool {
	for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
		if n.Content[i].ShortTag() == "!!merge" {
			return true
		}
	}
	return false
}

// json writes a JSON document as it was indented.
func (s *Snapshot) json(root *yaml.Node) ([]byte, error) {
	text := s.document.Text
	object := bytes.TrimSpace(text)
	before, after, _ := bytes.Cut(text, object)
	indent := ""
	if rest := object[1:]; len(rest) > 0 && (rest[0] == '\n' || rest[0] == '\r') {
		line := bytes.TrimLeft(rest, "\r\n")
		indent = string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
	}
	out, err := manifest.ToJSON(root.Content[0], indent)
	return append(append(append([]byte(nil), before...), out...), after...), err
}

// Encode writes a document as YAML, in its own style of indentation.
func Encode(d *manifest.Document, root *yaml.Node) ([]byte, error) {
	var b bytes.Buffer
	if bytes.HasPrefix(d.Text, []byte("---")) {
		b.WriteString("---\n")
	}
	if err := styleOf(d).encode(&b, root); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
