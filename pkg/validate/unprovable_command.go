package validate

import (
	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// unprovable-command: a component is named, and nothing in the spec shows that the process registers as that.
//
// Restricted: a pod with label nvidia.com/dynamo-component, or DYN_COMPONENT that becomes it, in which no container runs a
// module of Dynamo's: a program or a script of one's own, or a shell string that cannot be read.
//
// Allowed: every module, also one that registers nothing.
func unprovableCommand(s *subject) {
	p, component := s.main(), s.resolution.Identity.Component
	if p.Module != nil || !component.Known() || component.How != identity.Label && !wiring.IsName(component.Text) {
		return // or no label would say it
	}
	s.find(p.At, "", "the command runs no module of Dynamo's that can be read from here, but the pod's component is "+quoted(component.Text)+
		" (label "+wiring.LabelComponent+"); if it registers as something else, nobody finds it. Have it register as "+quoted(component.Text)+
		", or run its module without a script (python3 -m dynamo.vllm ...).")
}
