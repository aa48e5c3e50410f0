package identity

import "strings"

// EndpointSyntax is how a module reads its endpoint flag and variable.
type EndpointSyntax uint8

const (
	// NoEndpoint: the module has no such flag.
	NoEndpoint EndpointSyntax = iota
	// FullPath is [dyn://]namespace.component.endpoint, also from DYN_ENDPOINT (ai-dynamo components/src/dynamo/common/utils/runtime.py, 1.6.1).
	FullPath
	// SchemePath is dyn://namespace.component.endpoint with the scheme required; DYN_ENDPOINT is not read (the mocker).
	SchemePath
	// BareName is the endpoint's name alone.
	BareName
	// TargetPath is FullPath of somebody else: of the workers behind a router. Its namespace is the router's own.
	TargetPath
)

// Want is the form for a message.
func (s EndpointSyntax) Want() string {
	switch s {
	case SchemePath:
		return "dyn://namespace.component.endpoint"
	case BareName:
		return "a bare endpoint name"
	default:
		return "[dyn://]namespace.component.endpoint"
	}
}

const scheme = "dyn://"

// splitPath splits an endpoint path in its three parts.
func (s EndpointSyntax) splitPath(text string) (namespace, component, endpoint string, ok bool) {
	path, schemed := strings.CutPrefix(text, scheme)
	if s == SchemePath && !schemed {
		return "", "", "", false
	}
	sep := "."
	if s == SchemePath && strings.IndexByte(path, '.') < 0 {
		sep = "/" // Rust's EndpointId takes either (lib/runtime/src/protocols.rs)
	}
	namespace, path, ok = strings.Cut(path, sep)
	if !ok {
		return "", "", "", false
	}
	component, endpoint, ok = strings.Cut(path, sep)
	if !ok || strings.Contains(endpoint, sep) {
		return "", "", "", false
	}
	return namespace, component, endpoint, true
}

// wellFormed reports whether the module takes text.
func (s EndpointSyntax) wellFormed(text string) bool {
	if s == BareName {
		return !strings.Contains(text, ".") && !strings.HasPrefix(text, scheme)
	}
	_, _, _, ok := s.splitPath(text)
	return ok
}
