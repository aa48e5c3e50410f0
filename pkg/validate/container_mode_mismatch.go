package validate

import (
	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// container-mode-mismatch: the discovery mode is not known, or the process does not know its container.
//
// Restricted: DYN_KUBE_DISCOVERY_MODE of every Dynamo container; CONTAINER_NAME where the mode is "container".
//
// Allowed: no mode, or "pod"; "container" with CONTAINER_NAME equal to the container's name; anything that only the
// running pod knows, a CONTAINER_NAME that an envFrom may hold included.
func containerModeMismatch(s *subject) {
	for i := range s.resolution.Processes {
		p := &s.resolution.Processes[i]
		mode := p.Variable(wiring.EnvKubeDiscoveryMode)
		if p.Module != nil && !p.Runtime || !mode.Told() || mode.Sure == identity.Unknown || mode.Text == "pod" {
			continue
		}
		if mode.Text != wiring.ContainerMode {
			s.find(mode.Field, "", mode.Name+" is "+quoted(mode.Text)+`, but the runtime knows "pod" and "container"; the process would not start. Set it to "pod" or remove it.`)
			continue
		}
		name, want := p.Variable(wiring.EnvContainerName), p.Container.Name
		const inMode = wiring.EnvKubeDiscoveryMode + ` is "container"`
		remedy := ". Set " + wiring.EnvContainerName + " to " + quoted(want) + ", or " + wiring.EnvKubeDiscoveryMode + ` to "pod".`
		switch {
		case name.Told() && (name.Sure == identity.Unknown || name.Text == want):
		case name.Told():
			s.find(name.Field, "", name.Name+" is "+quoted(name.Text)+", but "+inMode+" and the container is "+quoted(want)+
				"; its discovery entry would be that of another container"+remedy)
		case len(p.Container.EnvFrom) == 0:
			s.find(mode.Field, "", inMode+", but "+wiring.EnvContainerName+" is not set; the process would not start"+remedy)
		}
	}
}
