// Package identity tells who a pod is: Dynamo namespace, component, endpoint and role, read from labels, arguments and env.
//
// It reads a command as the kubelet, the shell and Python's argparse would, and knows Dynamo's modules from one table.
// What it cannot prove it calls unknown. It is pure: no I/O, no clock, no client.
package identity

// Reason says why a pod was wired or skipped. The ids are stable: log, metric label, Event and command line share them.
type Reason string

const (
	Wired         Reason = "wired"
	NotDynamo     Reason = "not-dynamo"
	OptedOut      Reason = "opted-out"
	OperatorOwned Reason = "operator-owned"
)

// How is the source that decides a value. The empty How means that nothing says.
type How string

const (
	Label               How = "label"
	Argument            How = "argument"
	Env                 How = "env"
	NamespaceAnnotation How = "namespace-annotation"
	// Annotation is the pod's own annotation; only the endpoint of a command that is no Dynamo module comes from there.
	Annotation How = "annotation"
	// ModuleDefault is also the word for the built-in namespace "dynamo" where nothing else names one.
	ModuleDefault How = "module-default"
)

// Certainty is how sure a value is.
type Certainty uint8

const (
	// Unknown: nothing says, or only the running pod knows.
	Unknown Certainty = iota
	// Default: the module's own choice; nothing in the pod says otherwise.
	Default
	// Proven: the pod says so.
	Proven
)

// String is the word for it.
func (c Certainty) String() string { return [...]string{"unknown", "default", "proven"}[c] }

// Value is one part of an identity, and why it is what it is.
type Value struct {
	// Text is the value. It is empty where the value is unknown, where there is none, and where the source says "".
	Text string
	How  How
	Sure Certainty
	// Field is where it was found.
	Field Field
	// Name is the flag or the variable that says it, as it was written.
	Name string

	// raw is what was said, with its hidden parts marked.
	raw string
}

// Unread is what was said, where that has a variable in it that nothing expands; else empty.
func (v Value) Unread() string {
	if v.Sure == Unknown && !isHidden(v.raw) && hasVariable(v.raw) {
		return v.raw
	}
	return ""
}

// Known reports whether there is a value to work with.
func (v Value) Known() bool { return v.Text != "" }

// Told reports whether something in the pod says the value, be it readable or not.
func (v Value) Told() bool { return v.How != "" && v.How != ModuleDefault }

// Identity is who a pod is.
type Identity struct {
	// Namespace is the Dynamo namespace as the label has it, without a worker suffix.
	Namespace Value
	Component Value
	// Endpoint is the main one. A frontend has none.
	Endpoint Value
	// Role is a component type of package wiring, or whatever the label says.
	Role Value
}
