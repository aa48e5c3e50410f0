package edit

import (
	"bytes"
	"strings"

	"go.yaml.in/yaml/v3"
)

// scalar writes a changed scalar over the old one.
func (p *splicer) scalar(n *yaml.Node, old string) {
	at := p.offset(n)
	for _, quote := range []string{"", `"`, "'"} {
		if token := quote + old + quote; old != "" && bytes.HasPrefix(p.text[at:], []byte(token)) {
			p.change(at, at+len(token), p.inline(&yaml.Node{Kind: n.Kind, Tag: n.Tag, Value: n.Value, Style: n.Style}))
			return
		}
	}
	p.failed = true
}

// fill gives a key a value that had none: "env:" or "env: null".
func (p *splicer) fill(key, old, value *yaml.Node) {
	switch {
	case old.Kind != yaml.ScalarNode:
		p.failed = true
	case old.Value != "":
		if at := p.offset(old); bytes.HasPrefix(p.text[at:], []byte(old.Value)) {
			p.change(at, at+len(old.Value), p.inline(value))
			return
		}
		p.failed = true
	default:
		name := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key.Value}
		lines := p.block(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{name, value}})
		p.insertLines(p.line(key.Line+1), lines[1:], key.Column)
	}
}

// inline is a node on one line.
func (p *splicer) inline(n *yaml.Node) string {
	c := *n
	if c.Kind != yaml.ScalarNode {
		c.Style = yaml.FlowStyle
	}
	return strings.Join(p.block(&c), " ")
}

// flowAdd writes new members into "{…}" or "[…]".
func (p *splicer) flowAdd(n *yaml.Node, front, back []*yaml.Node) {
	if p.failed || len(front)+len(back) == 0 {
		return
	}
	open, last, ok := p.brackets(n)
	if !ok {
		p.failed = true
		return
	}
	text := func(content []*yaml.Node) string {
		inline := p.inline(&yaml.Node{Kind: n.Kind, Content: content})
		return inline[1 : len(inline)-1]
	}
	if last == open+1 { // there is nothing yet
		p.change(last, last, text(append(front, back...)))
		return
	}
	if len(front) > 0 {
		p.change(open+1, open+1, text(front)+", ")
	}
	switch {
	case len(back) == 0:
	case p.text[last-1] == ',':
		p.change(last, last, " "+text(back))
	default:
		p.change(last, last, ", "+text(back))
	}
}

// flowRemove takes members out of "{…}" or "[…]"; each is size nodes of content. That all of them go is not seen here: the
// whole goes then.
func (p *splicer) flowRemove(n *yaml.Node, content []*yaml.Node, size int, kept map[*yaml.Node]bool) {
	for from := 0; from < len(content) && !p.failed; from += size {
		if kept[content[from]] {
			continue
		}
		to := from
		for to < len(content) && !kept[content[to]] {
			to += size
		}
		open, last, ok := p.brackets(n)
		comma := bytes.LastIndexByte(p.text[:p.offset(content[from])], ',')
		switch {
		case !ok || from == 0 && to == len(content) || from > 0 && comma < open:
			p.failed = true
		case to < len(content):
			p.change(p.offset(content[from]), p.offset(content[to]), "")
		default:
			p.change(comma, last, "")
		}
		from = to
	}
}

// brackets are where a flow node opens, and the end of the last thing in it.
func (p *splicer) brackets(n *yaml.Node) (open, last int, ok bool) {
	open = p.offset(n)
	if open >= len(p.text) || p.text[open] != '{' && p.text[open] != '[' {
		return 0, 0, false
	}
	depth := 0
	for i := open; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return open, open + len(bytes.TrimRight(p.text[open:i], " \t\r\n")), true
			}
		case (c == '"' || c == '\'') && p.opensQuote(i):
			i = p.closingQuote(i)
		case c == '#' && (p.text[i-1] == ' ' || p.text[i-1] == '\n'):
			for i < len(p.text) && p.text[i] != '\n' {
				i++
			}
		}
	}
	return 0, 0, false
}

// opensQuote reports whether a quote stands where a value begins, and not inside of a word.
func (p *splicer) opensQuote(at int) bool {
	before := bytes.TrimRight(p.text[:at], " \t\r\n")
	return len(before) > 0 && strings.IndexByte("{[,:", before[len(before)-1]) >= 0
}

func (p *splicer) closingQuote(at int) int {
	quote := p.text[at]
	for i := at + 1; i < len(p.text); i++ {
		switch {
		case p.text[i] == '\\' && quote == '"':
			i++
		case p.text[i] == quote && quote == '\'' && i+1 < len(p.text) && p.text[i+1] == quote:
			i++
		case p.text[i] == quote:
			return i
		}
	}
	return len(p.text)
}
