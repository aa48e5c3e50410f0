package identity

import "strconv"

type fieldKind uint8

const (
	noField fieldKind = iota
	labelField
	annotationField
	namespaceAnnotationField
	containerField
	commandField
	argsField
	envField
)

// Field is a place in a pod. It is kept apart from its text because the text is wanted only when something is wrong.
type Field struct {
	key   string
	index int32
	kind  fieldKind
	init  bool
}

// LabelField is a label of the pod.
func LabelField(key string) Field { return Field{kind: labelField, key: key} }

// ContainerField is a container of the pod.
func ContainerField(init bool, index int) Field {
	return Field{kind: containerField, init: init, index: int32(index)}
}

// Container is the container that f lies in: a native sidecar among the init containers or not, and its index.
func (f Field) Container() (sidecar bool, index int) { return f.init, int(f.index) }

// Env is a variable of the container that f lies in. It goes by name: an index would change with the mutation.
func (f Field) Env(name string) Field {
	f.kind, f.key = envField, name
	return f
}

// Command is the command of the container that f lies in.
func (f Field) Command() Field {
	f.kind, f.key = commandField, ""
	return f
}

// Args are the arguments of the container that f lies in.
func (f Field) Args() Field {
	f.kind, f.key = argsField, ""
	return f
}

// String is the path, as spec.containers[0].args.
func (f Field) String() string { return f.In("") }

// In is the path in an object that has the pod at prefix, as "spec.template.".
func (f Field) In(prefix string) string {
	switch f.kind {
	case labelField:
		return prefix + "metadata.labels[" + f.key + "]"
	case annotationField:
		return prefix + "metadata.annotations[" + f.key + "]"
	case namespaceAnnotationField:
		return "annotation " + f.key + " of the Namespace"
	case noField:
		return ""
	}
	list := "spec.containers["
	if f.init {
		list = "spec.initContainers["
	}
	path := prefix + list + strconv.Itoa(int(f.index)) + "]"
	switch f.kind {
	case commandField:
		path += ".command"
	case argsField:
		path += ".args"
	case envField:
		path += ".env[" + f.key + "]"
	}
	return path
}
