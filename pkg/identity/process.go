package identity

import (
	"strings"

	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// Process is what one container runs, as far as discovery is concerned.
type Process struct {
	Container *pod.Container
	// At is the container.
	At Field
	// Module is nil where the command is no module that the table knows.
	Module  *Module
	Release Release

	// Namespace is what the process is told: by an endpoint path, a flag or a variable, without a worker suffix. Nothing
	// where it would take what the mutation gives it, or the default.
	Namespace Value
	// Registered is the full namespace that goes with Namespace: with the suffix, where one is appended.
	Registered string
	// Suffix is DYN_NAMESPACE_WORKER_SUFFIX where the module appends it.
	Suffix Value
	// Component, Endpoint and Role are what the process is told, else its module's default.
	Component, Endpoint, Role Value
	// Path is the endpoint flag or variable as it was written; Malformed tells that the module does not take it.
	Path      Value
	Malformed bool
	// Folded: the mocker's runtime makes other names of a path or a namespace than were meant. They are what the process
	// registers as, and nothing to compare with labels: what they are made of is wrong by itself.
	Folded bool
	// NameRefused: the process ends with its namespace or its component, for a dot in it, or with a namespace that is empty.
	NameRefused bool

	// Runtime: it starts a Dynamo runtime.
	Runtime bool
	// Registers: it writes metadata for an endpoint of its own.
	Registers bool
	// Follower: a rank that serves nothing, or perhaps one, which only the running pod knows.
	Follower bool
	// Lost are words of the container that never reach the module, because they stand behind a shell string that does not
	// use them.
	Lost []string
	// ReadyAlone: /health becomes 200 without DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS.
	ReadyAlone bool

	env    environment
	tuning wiring.Tuning
	port   int32 // the system port where the process is told none
	given  []given
}

// Variable is what the container or its command sets a variable to.
func (p *Process) Variable(name string) Value {
	text, ok := p.env.get(name)
	if !ok {
		return Value{}
	}
	at := p.At.Env(name)
	if p.env.sets(name) {
		at = p.At.Args()
	}
	return p.value(Env, at, name, text)
}

// Told is what a flag, or the variable behind it, says.
func (p *Process) Told(f Flag) Value {
	if g := p.flag(f); g != nil {
		at := p.At.Args()
		if g.inCommand {
			at = p.At.Command()
		}
		v := p.value(Argument, at, g.name, g.value)
		if g.open {
			v.Text, v.Sure = "", Unknown
		}
		if !g.none {
			return v
		}
	}
	if p.Module == nil {
		return Value{}
	}
	for i := range p.Module.Flags {
		if name := &p.Module.Flags[i]; name.Flag == f && name.Env != "" {
			if v := p.Variable(name.Env); v.Told() && !p.mirrors(f, name.Env) {
				return v
			}
		}
	}
	return Value{}
}

// flag is the last occurrence of a flag; nil where it is not given.
func (p *Process) flag(f Flag) *given {
	for i := len(p.given) - 1; i >= 0; i-- {
		if p.given[i].flag == f {
			return &p.given[i]
		}
	}
	return nil
}

// mirrors reports whether the variable behind a flag takes the very label that the flag's value becomes, which the pod
// does not have yet: it says nothing by itself.
func (p *Process) mirrors(f Flag, name string) bool {
	switch f {
	case FlagNamespace, FlagNamespacePrefix:
		return p.env.mirrors(name, wiring.LabelNamespace)
	case FlagComponent:
		return p.env.mirrors(name, wiring.LabelComponent)
	}
	return false
}

// Switch reports whether a flag without a value is on, and what says so.
func (p *Process) Switch(f Flag) (Value, bool) {
	v := p.Told(f)
	if g := p.flag(f); g != nil {
		return v, !g.off
	}
	switch strings.ToLower(v.Text) {
	case "1", "true", "yes", "on":
		return v, true
	}
	return v, false
}

func (p *Process) value(how How, at Field, name, text string) Value {
	v := Value{Text: text, How: how, Sure: Proven, Field: at, Name: name, raw: text}
	if isHidden(text) || hasVariable(text) {
		v.Text, v.Sure = "", Unknown
	}
	return v
}
