package identity

import (
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// fallback is the Dynamo namespace of a pod whose process is told none.
func fallback(p *pod.Pod, ns wiring.Settings) string {
	if label := p.Metadata.Labels[wiring.LabelNamespace]; label != "" {
		return label
	}
	if ns.Namespace() != "" {
		return ns.Namespace()
	}
	return wiring.DefaultNamespace
}

// identify puts the labels in front of what the process says, and the defaults behind it.
func identify(p *pod.Pod, proc *Process, ns wiring.Settings) Identity {
	id := Identity{Namespace: namespaceOf(proc, ns), Component: proc.Component, Endpoint: proc.Endpoint, Role: proc.Role}
	override(&id.Namespace, p, wiring.LabelNamespace)
	override(&id.Component, p, wiring.LabelComponent)
	override(&id.Role, p, wiring.LabelComponentType)
	return id
}

func namespaceOf(proc *Process, ns wiring.Settings) Value {
	switch {
	case proc.Namespace != (Value{}):
		return proc.Namespace
	case ns.Namespace() != "":
		return Value{
			Text: ns.Namespace(), How: NamespaceAnnotation, Sure: Proven,
			Field: Field{kind: namespaceAnnotationField, key: wiring.AnnotationDynamoNamespace},
		}
	case proc.Malformed && proc.Module.Syntax != BareName && proc.GivenNamespace("") == "":
		return Value{} // the path that should name it cannot be read, and nothing takes its place
	default:
		return byDefault(wiring.DefaultNamespace)
	}
}

func override(v *Value, p *pod.Pod, label string) {
	if text := p.Metadata.Labels[label]; text != "" {
		*v = Value{Text: text, How: Label, Sure: Proven, Field: LabelField(label), Name: label}
	}
}
