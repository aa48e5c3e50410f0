package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// builtin does what a command does to the shell itself; false where it is a program.
func (r *runner) builtin(words []string, chance Chance) bool {
	switch words[0] {
	case "exit", "return":
		r.done = r.done || chance == Surely
	case "shift":
		n := 1
		if len(words) > 1 {
			n, _ = strconv.Atoi(words[1])
		}
		if n > 0 && n < len(r.args) {
			r.args = append(r.args[:1:1], r.args[1+n:]...)
		}
	case "set":
		r.setOptions(words[1:])
	case "unset":
		for _, name := range words[1:] {
			if name[:min(1, len(name))] != "-" {
				r.vars = append(r.vars, variable{name: name, gone: true})
			}
		}
	case "source", ".", "eval":
		r.opaque = true
	case "read", "mapfile", "readarray", "getopts", "printf":
		for _, name := range words[1:] {
			if syntax.ValidName(name) { // more than it sets, perhaps: then they are hidden for nothing
				r.set(name, Hidden, r.export)
			}
		}
	default:
		return false
	}
	return true
}

// setOptions is the builtin set: options, and the positional parameters behind "--".
func (r *runner) setOptions(words []string) {
	for i, word := range words {
		switch {
		case word == "--":
			r.args = append(r.args[:min(1, len(r.args)):min(1, len(r.args))], words[i+1:]...)
			return
		case strings.HasPrefix(word, "-") && strings.Contains(word, "a"), word == "allexport":
			r.export = true
		}
	}
}

// declare is export, declare, local, readonly.
func (r *runner) declare(c *syntax.DeclClause) {
	export := c.Variant.Value == "export"
	for _, a := range c.Args {
		if a.Name == nil {
			option := ""
			if a.Value != nil {
				option = a.Value.Lit()
			}
			export = export || strings.Contains(option, "x") // declare -x
			r.opaque = r.opaque || option == ""              // export $(cat …)
			continue
		}
		name := a.Name.Value
		if a.Naked {
			if text, ok := r.own(name); ok && export {
				r.set(name, text, true)
			}
			continue
		}
		r.assign(a, export || r.export)
	}
}
