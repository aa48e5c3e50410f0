package validate

import (
	"strings"
)

// arguments-lost: words that never reach the module.
//
// Restricted: command and args of every container that runs a Dynamo module, behind the string of sh -c.
//
// Allowed: words that the string uses ("$@", "$1", ...); the first one, which is the shell's name ($0), unless it is a flag.
func argumentsLost(s *subject) {
	for i := range s.resolution.Processes {
		p := &s.resolution.Processes[i]
		if len(p.Lost) == 0 {
			continue
		}
		at := p.At.Args()
		if len(p.Container.Args) == 0 {
			at = p.At.Command()
		}
		lost := strings.Join(p.Lost, " ")
		if len(p.Lost) > 3 {
			lost = strings.Join(p.Lost[:3], " ") + " ..."
		}
		s.find(at, "", quoted(lost)+" stands behind the string of the shell's -c, but the string does not use it (\"$@\"); "+
			module(p)+" would run without. Move it into the string, or run python3 -m without a shell.")
	}
}
