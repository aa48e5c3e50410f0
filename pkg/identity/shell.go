package identity

import (
	"strings"

	"github.com/dynawire/dynawire/pkg/identity/shell"
)

// maxShells bounds shells within shells.
const maxShells = 4

// hiddenName is a variable that stands in a shell string for what the kubelet puts there and only the running pod knows.
const hiddenName = "__dynawire_hidden"

func isShell(program string) bool {
	switch program {
	case "sh", "bash", "dash", "ash", "zsh", "ksh", "busybox":
		return true
	}
	return false
}

// shell reads what follows a shell. Only its -c string can be read: a script is a file in the image.
func (e *environment) shell(words []string, i, fromCommand int, inv invocation, depth int) invocation {
	i = stringOfShell(words, i)
	if i >= len(words) || depth == maxShells || !e.mentionsDynamo(words[i:]) {
		return invocation{}
	}
	if e.left -= scriptWork * len(words[i]); e.left < 0 {
		return invocation{}
	}
	inner := *e
	inner.set, inner.cleared = inv.set, inv.cleared
	result, err := shell.Run(shell.Script{
		Text: strings.ReplaceAll(words[i], hidden, "${"+hiddenName+"}"),
		Args: words[i+1:],
		Lookup: func(name string) (string, bool) {
			if name == hiddenName {
				return hidden, true
			}
			return inner.seen(name)
		},
	})
	if err != nil {
		return invocation{}
	}
	e.left, e.used, e.mirrored = inner.left, inner.used, inner.mirrored
	found := e.chooseCommand(result.Commands, inv, depth)
	if found.module == nil {
		return invocation{}
	}
	if i < fromCommand {
		found.fromCommand = len(found.words)
	}
	for _, k := range result.Lost {
		if word := words[i+1+k]; k > 0 || len(word) > 2 && word[0] == '-' {
			found.lost = append(found.lost, word)
		}
	}
	return found
}

// stringOfShell is the index of the string behind -c, or behind the last word where there is none.
func stringOfShell(words []string, i int) int {
	command := false
	for ; i < len(words); i++ {
		word := words[i]
		if i > 0 && word == "sh" && baseName(words[i-1]) == "busybox" {
			continue
		}
		if len(word) < 2 || word[0] != '-' && word[0] != '+' {
			break
		}
		if word == "--" {
			i++
			break
		}
		if strings.HasPrefix(word, "--") {
			if word == "--rcfile" || word == "--init-file" {
				i++
			}
			continue
		}
		command = command || strings.IndexByte(word, 'c') > 0
		if last := word[len(word)-1]; last == 'o' || last == 'O' {
			i++ // -o pipefail, also as -euo pipefail
		}
	}
	if !command {
		return len(words)
	}
	return i
}

// chooseCommand is the one program of a script that gives the container its identity: the first worker, else the first
// that starts a runtime, else the first. If a module may or may not run, nothing is proven.
func (e *environment) chooseCommand(commands []shell.Command, inv invocation, depth int) (best invocation) {
	rank := func(m *Module) int {
		switch {
		case m == nil:
			return 0
		case m.Worker():
			return 3
		case m.Runtime:
			return 2
		}
		return 1
	}
	for i := range commands {
		c := &commands[i]
		set := inv.set[:len(inv.set):len(inv.set)]
		for _, v := range c.Env {
			set = append(set, assignment{name: v.Name, text: v.Value, gone: v.Gone})
		}
		found := e.recognise(c.Words, 0, set, depth+1)
		found.cleared = found.cleared || inv.cleared
		if found.module == nil {
			continue
		}
		if c.Chance == shell.Perhaps {
			return invocation{}
		}
		found.conditional = found.conditional || c.Chance == shell.UnderCondition
		if rank(found.module) > rank(best.module) {
			best = found
		}
	}
	return best
}

// mentionsDynamo spares the shell's parser the scripts that can run no module.
func (e *environment) mentionsDynamo(words []string) bool {
	variables := false
	for _, word := range words {
		if strings.Contains(word, "dynamo") {
			return true
		}
		variables = variables || strings.IndexByte(word, '$') >= 0
	}
	for i := range e.c.Env {
		if variables && strings.Contains(e.c.Env[i].Value, "dynamo") {
			return true
		}
	}
	return false
}
