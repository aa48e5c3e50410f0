package validate

import (
	"strings"

	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// two-registrars-one-pod: two containers write the pod's one discovery entry.
//
// Restricted: containers and native sidecars that each register endpoints in pod mode: every module but the frontend, and
// a frontend with --serve-indexer, or with --router-mode kv where the image's tag says a release before 1.6.
//
// Allowed: a worker with a frontend; ranks that register nothing, or perhaps nothing; container mode, in which each has an
// entry of its own.
func twoRegistrarsOnePod(s *subject) {
	if len(s.resolution.Processes) < 2 {
		return
	}
	var names []string
	var second identity.Field
	for i := range s.resolution.Processes {
		p := &s.resolution.Processes[i]
		if !registrar(p) {
			continue
		}
		if names = append(names, quoted(p.Container.Name)); len(names) == 2 {
			second = p.At
		}
	}
	if len(names) < 2 {
		return
	}
	last := len(names) - 1
	s.find(second, "", "containers "+strings.Join(names[:last], ", ")+" and "+names[last]+" each register endpoints, but a pod has one discovery entry ("+
		wiring.EnvKubeDiscoveryMode+` is "pod"); the last one to write would erase the others. Run them in pods of their own.`)
}

// registrar reports whether a process is sure to register endpoints in the pod's own entry.
func registrar(p *identity.Process) bool {
	if p.Module == nil || !p.Runtime || p.Follower {
		return false
	}
	if mode := p.Variable(wiring.EnvKubeDiscoveryMode); mode.Told() && mode.Text != "pod" {
		return false
	}
	if p.Module.Namespace != identity.Scope {
		return p.Registers
	}
	if _, on := p.Switch(identity.FlagServeIndexer); on {
		return true
	}
	return p.Release.Before(1, 6) && p.Told(identity.FlagRouterMode).Text == "kv"
}
