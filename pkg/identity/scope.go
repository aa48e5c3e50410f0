package identity

import (
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// FrontendScope is how much the pod's frontends see, and whether anybody declares it: the pod's annotation or label, or
// the Namespace. Undeclared, upstream's "all namespaces" stays.
func FrontendScope(p *pod.Pod, ns wiring.Settings) (scope wiring.Scope, declared bool) {
	if text, ok := p.Metadata.Annotations[wiring.AnnotationFrontendScope]; ok {
		return wiring.Scope(text), true
	}
	_, labelled := p.Metadata.Labels[wiring.LabelNamespace]
	return ns.FrontendScope, labelled || ns.FrontendScope != "" || ns.Namespace() != ""
}

// exactScope reports whether a frontend that is told nothing is given DYN_NAMESPACE.
func exactScope(p *pod.Pod, ns wiring.Settings) bool {
	scope, declared := FrontendScope(p, ns)
	return declared && scope != wiring.ScopeAll && scope != wiring.ScopePrefix
}

// TellsScope reports whether the user gives a frontend its scope, so that the mutation adds nothing to it.
func (p *Process) TellsScope() bool {
	if p.Module == nil {
		return p.Variable(wiring.EnvNamespace).Told() || p.Variable(wiring.EnvNamespacePrefix).Told()
	}
	return p.Told(FlagNamespace).Told() || p.Told(FlagNamespacePrefix).Told()
}
