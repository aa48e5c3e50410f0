package edit

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// splicer writes the difference between a tree and its snapshot into the text. It does what is simple and gives up on the
// rest; whether the outcome is right is for the caller to see.
type splicer struct {
	*Snapshot
	text []byte
	// lines are the offsets of the lines, from 1.
	lines   []int
	style   style
	changes []change
	failed  bool
}

// change replaces text[from:to].
type change struct {
	from, to int
	with     string
}

func (s *Snapshot) splice() ([]byte, bool) {
	p := splicer{Snapshot: s, text: s.document.Text, style: styleOf(s.document), lines: []int{0, 0}}
	for i, c := range p.text {
		if c == '\n' {
			p.lines = append(p.lines, i+1)
		}
	}
	p.node(s.document.Object(), 0)
	if p.failed {
		return nil, false
	}
	return p.apply(), true
}

// apply makes the changes. One that lies in what another one removes is part of that.
func (p *splicer) apply() []byte {
	slices.SortStableFunc(p.changes, func(a, b change) int { return cmp.Compare(a.from, b.from) })
	var out []byte
	at := 0
	for _, c := range p.changes {
		if c.from < at {
			continue
		}
		out = append(append(out, p.text[at:c.from]...), c.with...)
		at = c.to
	}
	out = append(out, p.text[at:]...)
	if !bytes.HasSuffix(p.text, []byte("\n")) {
		out = bytes.TrimRight(out, "\r\n") // the last line was removed, and now the one in front of it is the last
	}
	return out
}

func (p *splicer) change(from, to int, with string) {
	if bytes.Contains(p.text, []byte("\r\n")) {
		with = strings.ReplaceAll(with, "\n", "\r\n")
	}
	p.changes = append(p.changes, change{from, to, with})
}

// node compares a node with what it was. keyLine is the line of its key.
func (p *splicer) node(n *yaml.Node, keyLine int) {
	was, flow := p.nodes[n], n.Style&yaml.FlowStyle != 0
	switch {
	case p.failed:
	case n.Kind == yaml.ScalarNode:
		if n.Value != was.value {
			p.scalar(n, was.value)
		}
	case n.Kind == yaml.MappingNode:
		p.mapping(n, was, flow)
	case n.Kind == yaml.SequenceNode:
		p.sequence(n, was, flow, keyLine)
	}
}

func (p *splicer) mapping(n *yaml.Node, was written, flow bool) {
	var added []*yaml.Node
	kept := map[*yaml.Node]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		kept[key] = true
		_, oldKey := p.nodes[key]
		_, oldValue := p.nodes[value]
		switch {
		case !oldKey:
			added = append(added, key, value)
		case !oldValue:
			p.fill(key, was.content[slices.Index(was.content, key)+1], value)
		default:
			p.node(value, key.Line)
		}
	}
	switch {
	case flow:
		p.flowRemove(n, was.content, 2, kept)
		p.flowAdd(n, nil, added)
	default:
		for i := 0; i+1 < len(was.content); i += 2 {
			if !kept[was.content[i]] {
				p.removeLines(was.content[i], was.content[i+1], was.content[i].Column, ' ')
			}
		}
		if len(added) > 0 {
			p.insertBlock(p.end(was.next, n.Line, n.Column-1), &yaml.Node{Kind: yaml.MappingNode, Content: added}, n.Column)
		}
	}
}

func (p *splicer) sequence(n *yaml.Node, was written, flow bool, keyLine int) {
	var front, back []*yaml.Node
	kept := map[*yaml.Node]bool{}
	for _, item := range n.Content {
		if _, old := p.nodes[item]; old {
			p.failed = p.failed || len(back) > 0
			kept[item] = true
			p.node(item, 0)
		} else if len(kept) == 0 {
			front = append(front, item)
		} else {
			back = append(back, item)
		}
	}
	switch {
	case flow:
		p.flowRemove(n, was.content, 1, kept)
		p.flowAdd(n, front, back)
		return
	case len(kept) == 0 || len(front) > 0 && keyLine == 0:
		p.failed = true
		return
	}
	for _, item := range was.content {
		if !kept[item] {
			p.removeLines(item, item, n.Column, '-')
		}
	}
	if len(front) > 0 {
		p.insertBlock(p.line(keyLine+1), &yaml.Node{Kind: yaml.SequenceNode, Content: front}, n.Column)
	}
	if len(back) > 0 {
		p.insertBlock(p.end(was.next, n.Line, n.Column), &yaml.Node{Kind: yaml.SequenceNode, Content: back}, n.Column)
	}
}

// line is where a line begins.
func (p *splicer) line(n int) int {
	if n >= len(p.lines) {
		return len(p.text)
	}
	return p.lines[n]
}

// end is where the lines of a node end: before next, and before the empty lines and the comments in front of that, as far
// as these stand further out than indent and so belong to what follows.
func (p *splicer) end(next, first, indent int) int {
	for ; next-1 > first; next-- {
		line := p.text[p.line(next-1):p.line(next)]
		rest := bytes.TrimLeft(line, " ")
		blank := len(bytes.TrimSpace(rest)) == 0 || bytes.HasPrefix(line, []byte("..."))
		if !blank && (rest[0] != '#' || len(line)-len(rest) >= indent) {
			break
		}
	}
	return p.line(next)
}

// insertBlock writes a node in block style at the beginning of a line, so that its keys or dashes stand in column.
func (p *splicer) insertBlock(at int, n *yaml.Node, column int) {
	p.insertLines(at, p.block(n), column)
}

func (p *splicer) insertLines(at int, lines []string, column int) {
	var b strings.Builder
	for _, line := range lines {
		if strings.TrimSpace(line) != "" {
			b.WriteString(strings.Repeat(" ", column-1))
		}
		b.WriteString(line + "\n")
	}
	with := b.String()
	if at == len(p.text) && at > 0 && p.text[at-1] != '\n' {
		with = "\n" + strings.TrimSuffix(with, "\n")
	}
	p.change(at, at, with)
}

// block is a node in block style, by lines.
func (p *splicer) block(n *yaml.Node) []string {
	var b strings.Builder
	if p.style.encode(&b, n) != nil {
		p.failed = true
	}
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

// removeLines removes the lines from one node to the end of another. In front of the first there is nothing but mark, which
// stands in column.
func (p *splicer) removeLines(from, to *yaml.Node, column int, mark byte) {
	start := p.line(from.Line)
	before := bytes.TrimRight(p.text[start:p.offset(from)], " ")
	if mark == ' ' && len(before) > 0 || mark == '-' && (len(before) != column || before[column-1] != '-' || len(bytes.TrimLeft(before, " ")) != 1) {
		p.failed = true
		return
	}
	p.change(start, p.end(p.nodes[to].next, to.Line, column), "")
}

// offset is where a node stands. Columns count characters.
func (p *splicer) offset(n *yaml.Node) int {
	at := p.line(n.Line)
	for i := 1; i < n.Column && at < len(p.text); i++ {
		at++
		for at < len(p.text) && p.text[at]&0xc0 == 0x80 {
			at++
		}
	}
	return at
}
