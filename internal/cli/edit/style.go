package edit

import (
	"io"

	"go.yaml.in/yaml/v3"

	"github.com/dynawire/dynawire/internal/cli/manifest"
)

// style is how a document is indented.
type style struct {
	step int
	// compact: the dashes of a list stand below the key, not further in.
	compact bool
}

// styleOf reads the style off the first block mapping and the first block list in a mapping.
func styleOf(d *manifest.Document) style {
	s := style{step: 2, compact: true}
	if d.JSON || d.Root == nil {
		return s
	}
	var stepKnown, listKnown bool
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		if n.Style&yaml.FlowStyle != 0 || stepKnown && listKnown {
			return
		}
		for i := 1; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
			key, value := n.Content[i-1], n.Content[i]
			if value.Style&yaml.FlowStyle != 0 || value.Line <= key.Line {
				continue
			}
			switch in := value.Column - key.Column; {
			case value.Kind == yaml.MappingNode && !stepKnown && in > 0:
				s.step, stepKnown = min(max(in, 2), 8), true
			case value.Kind == yaml.SequenceNode && !listKnown:
				s.compact, listKnown = in == 0, true
			}
		}
		for _, child := range n.Content {
			walk(child)
		}
	}
	walk(d.Object())
	return s
}

func (s style) encode(w io.Writer, n *yaml.Node) error {
	e := yaml.NewEncoder(w)
	e.SetIndent(s.step)
	if s.compact {
		e.CompactSeqIndent()
	}
	if err := e.Encode(n); err != nil {
		return err
	}
	return e.Close()
}
