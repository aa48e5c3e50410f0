package identity

import (
	"strings"

	"github.com/dynawire/dynawire/pkg/wiring"
)

// Module is what is known about one of Dynamo's programs. A new one is a new row in modules.go.
type Module struct {
	// Name is the Python module without "dynamo.".
	Name string
	// Main: its part "main" is a program too, and the same.
	Main bool
	// Binary is the program's own name where it is not run by Python.
	Binary string
	// Role is the component type where no role flag says more. Empty: a tool, which has none.
	Role string
	// Component is the default where no role flag says more. Empty: there is none, or the configuration decides.
	Component string
	// Endpoint is the default of the main one. Empty: there is none, or the configuration decides.
	Endpoint string
	// Beside are endpoints that the process may serve beside the main one. A closing * stands for anything.
	Beside []string

	// Runtime: it starts a Dynamo runtime, so that it needs discovery, a pod identity and the API server.
	Runtime bool
	// Registers: it has an endpoint of its own under its component.
	Registers bool
	// Namespace is where its own namespace comes from.
	Namespace NamespaceSource
	// ConfigNamespace: the key "namespace" in FlagConfig comes before the variable.
	ConfigNamespace bool
	// NeedsNamespace: an empty namespace ends the process.
	NeedsNamespace bool
	// AnyName: a name with a dot in it is taken, or not known to end the process, as a path of other than three parts does.
	AnyName bool
	// Suffix is what becomes of DYN_NAMESPACE_WORKER_SUFFIX, unless an explicit endpoint replaces the namespace.
	Suffix SuffixRule
	// Syntax is how it reads FlagEndpoint and the variable behind it.
	Syntax EndpointSyntax
	// EmptyEndpoint: an empty endpoint counts as none; elsewhere it stops the process.
	EmptyEndpoint bool
	// NoBackendEnv: DYN_DISCOVERY_BACKEND is not read.
	NoBackendEnv bool
	// SystemPort: health is served on DYN_SYSTEM_PORT.
	SystemPort bool
	// HTTP: health is served on the HTTP port.
	HTTP bool
	// ReadyAlone: /health becomes 200 without DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS.
	ReadyAlone bool

	// Abbreviations: argparse takes unique prefixes of a flag.
	Abbreviations bool
	Flags         []FlagName
	// Roles are tried in order; the first that applies decides component and role.
	Roles []RoleRule
}

// NamespaceSource is where a module finds its own namespace.
type NamespaceSource uint8

const (
	// NoNamespace: it has none.
	NoNamespace NamespaceSource = iota
	// OwnNamespace is FlagNamespace, DYN_NAMESPACE, then "dynamo".
	OwnNamespace
	// FlagNamespaceOnly is FlagNamespace, then "dynamo"; DYN_NAMESPACE is not read.
	FlagNamespaceOnly
	// TargetNamespace is DYN_NAMESPACE since 1.5, else that of the target. DYN_NAMESPACE redirects the target too.
	TargetNamespace
	// Scope: FlagNamespace and FlagNamespacePrefix say what it sees; it has none of its own.
	Scope
)

// SuffixRule is what a module does with DYN_NAMESPACE_WORKER_SUFFIX.
type SuffixRule uint8

const (
	// NoSuffix: it does not read the variable.
	NoSuffix SuffixRule = iota
	// AppendSuffix: the namespace gets it, whatever it ends in.
	AppendSuffix
	// EnsureSuffix: the namespace gets it unless it ends in it.
	EnsureSuffix
)

// suffixed is a namespace with the worker suffix as the module appends it.
func (m *Module) suffixed(namespace, suffix string) string {
	switch {
	case suffix == "" || m == nil || m.Suffix == NoSuffix:
		return namespace
	case m.Suffix == EnsureSuffix && (namespace == "" || strings.HasSuffix(namespace, "-"+suffix)):
		return namespace // what becomes of an empty one is not known
	}
	return namespace + "-" + suffix
}

// RoleRule is a flag that decides the component and the role.
type RoleRule struct {
	Flag Flag
	// Value that the flag has; empty for a switch.
	Value string
	// EnvBefore: the variable counts in older releases only.
	EnvBefore Release
	// From: the rule holds from this release on.
	From Release
	// Component and Role are the module's own where empty.
	Component, Role string
	// Mute: in this role /health is never 200 by itself.
	Mute bool
}

// Spelling is the module's name for a flag; empty where it has none.
func (m *Module) Spelling(f Flag) string {
	for i := range m.Flags {
		if m.Flags[i].Flag == f && m.Flags[i].Name != "" {
			return m.Flags[i].Name
		}
	}
	return ""
}

// Serves reports whether the process may serve endpoint beside its main one.
func (m *Module) Serves(endpoint string) bool {
	for _, known := range m.Beside {
		prefix, open := strings.CutSuffix(known, "*")
		if known == endpoint || open && strings.HasPrefix(endpoint, prefix) {
			return true
		}
	}
	return false
}

// Worker reports whether its role is a worker's.
func (m *Module) Worker() bool { return m.Role == wiring.TypeWorker }

const modulePrefix = "dynamo."

// moduleByName finds the row of what stands after -m.
func moduleByName(name string) *Module {
	name, ok := strings.CutPrefix(name, modulePrefix)
	if !ok {
		return nil
	}
	name = strings.TrimSuffix(name, ".__main__") // which is what Python runs of a package
	main, isMain := strings.CutSuffix(name, ".main")
	for i := range modules {
		if modules[i].Name == name || isMain && modules[i].Main && modules[i].Name == main {
			return &modules[i]
		}
	}
	return nil
}

// moduleByBinary finds the row of a program that is not run by Python.
func moduleByBinary(name string) *Module {
	if !strings.HasPrefix(name, "dynamo-") {
		return nil
	}
	for i := range modules {
		if modules[i].Binary == name {
			return &modules[i]
		}
	}
	return nil
}
