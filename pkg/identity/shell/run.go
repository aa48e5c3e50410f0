package shell

import (
	"mvdan.cc/sh/v3/syntax"
)

// runner walks a script from top to bottom and keeps what it knows of the variables.
type runner struct {
	script   Script
	commands []Command
	vars     []variable
	// args are $0, $1, …, as shift and set leave them.
	args []string
	// export is "set -a".
	export bool
	// opaque: a file was sourced or a text evaluated, and any variable that nothing else sets may have a value.
	opaque bool
	// done: the script has ended, or another program has taken its place.
	done bool
}

// variable is one that the script has assigned.
type variable struct {
	name, text     string
	exported, gone bool
	// array: it has a list, of which text is the first.
	array bool
	list  []string
}

func (r *runner) statements(list []*syntax.Stmt, chance Chance) {
	for _, s := range list {
		if r.done {
			return
		}
		r.statement(s, chance)
	}
}

func (r *runner) statement(s *syntax.Stmt, chance Chance) {
	switch c := s.Cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		r.simple(c, chance)
	case *syntax.DeclClause:
		r.declare(c)
	case *syntax.BinaryCmd:
		r.binary(c, chance)
	case *syntax.Block:
		r.statements(c.Stmts, chance)
	case *syntax.Subshell:
		r.apart(func() { r.statements(c.Stmts, chance) })
	case *syntax.TimeClause:
		if c.Stmt != nil {
			r.statement(c.Stmt, chance)
		}
	default:
		r.unsure(c)
	}
	if s.Background {
		r.done = false
	}
}

// apart runs f in a shell of its own, whose variables are lost afterwards.
func (r *runner) apart(f func()) {
	vars, args, export, opaque := r.vars, r.args, r.export, r.opaque
	r.vars = append([]variable(nil), vars...)
	f()
	r.vars, r.args, r.export, r.opaque, r.done = vars, args, export, opaque, false
}

// binary is a list or a pipeline. What stands behind && is there to run; what stands behind || is not. What the right
// side of a list assigns under a condition is known inside the list only.
func (r *runner) binary(c *syntax.BinaryCmd, chance Chance) {
	switch c.Op {
	case syntax.AndStmt, syntax.OrStmt:
		r.statement(c.X, chance)
		if r.done {
			return
		}
		before, behind := len(r.vars), Surely
		if c.Op == syntax.OrStmt {
			behind = Perhaps
		} else if isTest(c.X) {
			behind = UnderCondition
		}
		r.statement(c.Y, min(chance, behind))
		if behind != Surely {
			r.hideFrom(before)
			r.done = false
		}
	default:
		r.apart(func() { r.statement(c.X, chance) })
		r.apart(func() { r.statement(c.Y, chance) })
	}
}

// isTest tells a condition. Any other command is there to end well.
func isTest(s *syntax.Stmt) bool {
	if s.Negated {
		return true
	}
	switch c := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		return isTest(c.X) || isTest(c.Y)
	case *syntax.TestClause, *syntax.ArithmCmd:
		return true
	case *syntax.CallExpr:
		if len(c.Args) > 0 {
			name := c.Args[0].Lit()
			return name == "[" || name == "test"
		}
	}
	return false
}

// hideFrom forgets what the variables assigned since then are.
func (r *runner) hideFrom(n int) {
	for i := n; i < len(r.vars); i++ {
		r.vars[i].text, r.vars[i].gone, r.vars[i].array = Hidden, false, false
	}
}

// unsure is a branch, a loop or a function: its commands may run, once or often, and its variables may be set.
func (r *runner) unsure(c syntax.Command) {
	before := len(r.vars)
	syntax.Walk(c, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.CallExpr:
			r.simple(n, Perhaps)
		case *syntax.DeclClause:
			r.declare(n)
		case *syntax.WordIter:
			r.set(n.Name.Value, Hidden, false)
		}
		return true
	})
	r.hideFrom(before)
	r.done = false
}

// simple is a command without a structure of its own.
func (r *runner) simple(c *syntax.CallExpr, chance Chance) {
	if len(c.Args) == 0 {
		for _, a := range c.Assigns {
			r.assign(a, r.export)
		}
		return
	}
	var words []string
	for _, w := range c.Args {
		words = append(words, r.fields(w)...)
	}
	if len(words) == 0 || r.builtin(words, chance) {
		return
	}
	env := r.exported()
	for _, a := range c.Assigns {
		env = append(env, Variable{Name: a.Name.Value, Value: r.assigned(a)})
	}
	r.commands = append(r.commands, Command{Words: words, Env: env, Chance: chance})
	if words[0] == "exec" && len(words) > 1 && chance == Surely {
		r.done = true
	}
}

// assigned is the value of an assignment.
func (r *runner) assigned(a *syntax.Assign) string {
	if a.Index != nil {
		return Hidden
	}
	text := ""
	if a.Value != nil {
		text = r.text(a.Value)
	}
	if a.Append {
		before, _ := r.value(a.Name.Value)
		text = before + text
	}
	return text
}

// set assigns a variable. One that the environment has, or that was exported, stays exported.
func (r *runner) set(name, text string, export bool) {
	for i := len(r.vars) - 1; i >= 0 && !export; i-- {
		if r.vars[i].name == name {
			export = r.vars[i].exported
			break
		}
	}
	if !export {
		_, export = r.script.Lookup(name)
	}
	r.vars = append(r.vars, variable{name: name, text: text, exported: export})
}

// own is a variable that the script itself has set.
func (r *runner) own(name string) (string, bool) {
	for i := len(r.vars) - 1; i >= 0; i-- {
		if r.vars[i].name == name {
			return r.vars[i].text, !r.vars[i].gone
		}
	}
	return "", false
}

// exported are the variables that a program gets from the script.
func (r *runner) exported() []Variable {
	var env []Variable
	for _, v := range r.vars {
		if v.exported || v.gone {
			env = append(env, Variable{Name: v.name, Value: v.text, Gone: v.gone})
		}
	}
	return env
}
