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
	if proc.Malformed {
		id.forget(proc.Path.Name)
	}
	override(&id.Namespace, p, wiring.LabelNamespace)
	override(&id.Component, p, wiring.LabelComponent)
	override(&id.Role, p, wiring.LabelComponentType)
	return id
}

// forget drops what a path says that is not what the module takes: it decides nothing, whatever the process makes of it.
func (id *Identity) forget(name string) {
	for _, v := range [...]*Value{&id.Namespace, &id.Component, &id.Endpoint} {
		if v.Name == name {
			*v = Value{}
		}
	}
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
	case proc.Malformed && !proc.Module.Syntax.isName() && proc.GivenNamespace("") == "":
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
