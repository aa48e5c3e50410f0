package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// isAll reports whether a parameter stands for all arguments.
func isAll(p *syntax.ParamExp) bool {
	return p.Param != nil && (p.Param.Value == "@" || p.Param.Value == "*") && isPlain(p) && p.Exp == nil
}

// isPlain reports whether a parameter has no operator, or one of those with a default.
func isPlain(p *syntax.ParamExp) bool {
	return p.Param != nil && p.Flags == nil && !p.Excl && !p.Length && !p.Width && !p.IsSet && p.NestedParam == nil &&
		p.Index == nil && len(p.Modifiers) == 0 && p.Slice == nil && p.Repl == nil && p.Names == 0
}

// rest are the arguments behind $0.
func (r *runner) rest() []string {
	if len(r.args) == 0 {
		return nil
	}
	return r.args[1:]
}

// parameter is the value of $NAME, ${NAME} and ${NAME:-default} and its like. One that nothing sets stays as ${NAME}.
func (r *runner) parameter(p *syntax.ParamExp) string {
	if !isPlain(p) {
		return Hidden
	}
	name := p.Param.Value
	text, ok := r.value(name)
	if p.Exp == nil {
		if !ok {
			return "${" + name + "}"
		}
		return text
	}
	if ok && isOpaque(text) {
		return Hidden
	}
	return r.alternative(p, text, ok)
}

// alternative is the value of a parameter with an operator for the case that it is unset or empty.
func (r *runner) alternative(p *syntax.ParamExp, text string, ok bool) string {
	word := ""
	if p.Exp.Word != nil {
		word = r.text(p.Exp.Word)
	}
	switch p.Exp.Op {
	case syntax.DefaultUnsetOrNull, syntax.AssignUnsetOrNull, syntax.ErrorUnsetOrNull:
		ok = ok && text != ""
	case syntax.AlternateUnsetOrNull:
		if ok && text != "" {
			return word
		}
		return ""
	case syntax.AlternateUnset:
		if ok {
			return word
		}
		return ""
	case syntax.DefaultUnset, syntax.AssignUnset, syntax.ErrorUnset:
	default:
		return Hidden
	}
	if ok {
		return text
	}
	switch p.Exp.Op {
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		return "${" + p.Param.Value + "}"
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		r.set(p.Param.Value, word, r.export)
	}
	return word
}

// value is a parameter's value: an argument, a variable of the script's, or of its environment.
func (r *runner) value(name string) (string, bool) {
	if name[0] >= '0' && name[0] <= '9' {
		n, err := strconv.Atoi(name)
		if err != nil || n >= len(r.args) {
			return "", true
		}
		return r.args[n], true
	}
	if text, ok := r.own(name); ok {
		return text, true
	}
	if isShells(name) {
		return Hidden, true
	}
	for i := range r.vars {
		if r.vars[i].name == name {
			return "", false // unset by the script
		}
	}
	if text, ok := r.script.Lookup(name); ok || !r.opaque {
		return text, ok
	}
	return Hidden, true
}

// isShells tells a parameter that the shell or the container runtime sets by itself.
func isShells(name string) bool {
	if !syntax.ValidName(name) {
		return true // $?, $$, $#, …
	}
	switch name {
	case "HOME", "HOSTNAME", "PATH", "PWD", "OLDPWD", "RANDOM", "SECONDS", "UID", "EUID", "PPID", "SHLVL", "LINENO", "IFS",
		"USER", "OSTYPE", "BASHPID", "FUNCNAME", "EPOCHSECONDS":
		return true
	}
	return strings.HasPrefix(name, "BASH_")
}
