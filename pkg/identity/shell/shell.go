// Package shell tells which programs a shell string runs, with which words, as far as that can be proven without
// running it. It is pure. It knows simple commands, lists, pipelines, groups, assignments, quotes, parameters and
// positional parameters; what stands in a branch, a loop or a function is reported as not sure to run.
package shell

import (
	"errors"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const (
	// Hidden stands in a word for what only the running shell knows. No argument or variable can hold a NUL byte.
	Hidden = "\x00"
	// Open is Hidden without quotes around it: it may be any number of words.
	Open = Hidden + "*"
)

// isOpaque reports whether a part of text is hidden.
func isOpaque(text string) bool { return strings.Contains(text, Hidden) }

// Variable is one that the script sets for a program; Gone where it takes it away.
type Variable struct {
	Name, Value string
	Gone        bool
}

// Command is a program that the script runs. Words may have Hidden and Open parts. What nothing in sight gives a value
// is left as it is written, as ${NAME}.
type Command struct {
	Words []string
	// Env is what the script sets on top of the environment that it got.
	Env    []Variable
	Chance Chance
}

// Chance is how sure a command is to run.
type Chance uint8

const (
	// Perhaps: in a branch, a loop, a function, or behind ||.
	Perhaps Chance = iota
	// UnderCondition: behind a test and &&, so that it is this or nothing.
	UnderCondition
	// Surely: whenever what stands before it ends well.
	Surely
)

// Script is a shell string and what it is run with.
type Script struct {
	Text string
	// Args are $0, $1, ….
	Args []string
	// Lookup is the environment; false where nothing in sight sets the variable.
	Lookup func(name string) (string, bool)
}

// Result is what a script does.
type Result struct {
	Commands []Command
	// Lost are the indices of the Args that the script never uses. $0 is rarely used, and often nothing but a name.
	Lost []int
}

// What is read is bounded, for the parser's time grows with the square of the nesting. A container's command is far
// shorter and flatter.
const (
	maxScript  = 16 << 10
	maxNesting = 100
)

// ErrTooLong is for a script that nobody should have to read.
var ErrTooLong = errors.New("script is too long or nested too deep")

// Run reads a script. An error means that it is no shell script, or too long for one.
func Run(s Script) (Result, error) {
	if len(s.Text) > maxScript || nesting(s.Text) > maxNesting {
		return Result{}, ErrTooLong
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(s.Text), "")
	if err != nil {
		return Result{}, err
	}
	r := runner{script: s, args: s.Args}
	r.statements(file.Stmts, Surely)
	return Result{Commands: r.commands, Lost: lost(file, len(s.Args))}, nil
}

// nesting is how deep the brackets go, quoted or not.
func nesting(text string) int {
	deep, deepest := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '(', '{', '[':
			deep++
			deepest = max(deepest, deep)
		case ')', '}', ']':
			deep = max(0, deep-1)
		}
	}
	return deepest
}

// lost finds the arguments that no parameter refers to, wherever it may stand. What moves or hides them uses them all.
func lost(file *syntax.File, args int) []int {
	if args == 0 {
		return nil
	}
	used := make([]bool, args)
	all := false // but $0
	syntax.Walk(file, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.ParamExp:
			if n.Param == nil || n.Param.Value == "@" || n.Param.Value == "*" {
				all = true
			} else if i, err := strconv.Atoi(n.Param.Value); err == nil && i < args {
				used[i] = true
			}
		case *syntax.CallExpr:
			if len(n.Args) > 0 {
				switch n.Args[0].Lit() {
				case "shift", "set", "getopts", "eval", "source", ".":
					all = true
				}
			}
		case *syntax.WordIter:
			all = all || !n.InPos.IsValid() // "for x; do" goes over the arguments
		}
		return true
	})
	var unused []int
	for i := range used {
		if !used[i] && (i == 0 || !all) {
			unused = append(unused, i)
		}
	}
	return unused
}
