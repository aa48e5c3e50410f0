package validate

import (
	"github.com/dynawire/dynawire/pkg/wiring"
)

// env-from-hidden: a ConfigMap may say the namespace, and the injected value wins over it.
//
// Restricted: a ConfigMap in the envFrom of a container that is given DYN_NAMESPACE because no label, argument or variable
// says the namespace.
//
// Allowed: a Secret; a prefix with which no key makes DYN_NAMESPACE; a namespace on the pod's label, in an argument, in env.
func envFromHidden(s *subject) {
	p := s.resolution.AssumedNamespace(s.pod.Metadata.Annotations, s.settings)
	if p == nil {
		return
	}
	namespace := s.resolution.Identity.Namespace.Text
	s.find(p.At, ".envFrom", "a ConfigMap here may hold "+wiring.EnvNamespace+", but nothing else in the pod says the Dynamo namespace, so that "+
		wiring.EnvNamespace+"="+namespace+" is injected and wins over it; the process would register in "+quoted(namespace)+
		". Set the label "+wiring.LabelNamespace+" to the namespace that is meant.")
}
