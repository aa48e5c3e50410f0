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
	// AnyBareName is a name with whatever is in it.
	AnyBareName
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
	if s == SchemePath {
		parts := pathParts(path)
		if !schemed || len(parts) != 3 {
			return "", "", "", false
		}
		return parts[0], parts[1], parts[2], true
	}
	namespace, path, ok = strings.Cut(path, ".")
	if !ok {
		return "", "", "", false
	}
	component, endpoint, ok = strings.Cut(path, ".")
	if !ok || strings.Contains(endpoint, ".") {
		return "", "", "", false
	}
	return namespace, component, endpoint, true
}

// pathParts are the parts of a path as Rust's EndpointId has them: dots and slashes separate, and empty parts are none
// (ai-dynamo lib/runtime/src/protocols.rs; run with the mocker of 1.6.1).
func pathParts(path string) []string {
	return strings.FieldsFunc(strings.Trim(path, " /."), func(r rune) bool { return r == '.' || r == '/' })
}

// fold makes three names of any path as EndpointId does: NS, C and E stand for what is missing, and what is too much goes
// to the endpoint.
func fold(path string) (namespace, component, endpoint string) {
	parts := pathParts(path)
	namespace, component, endpoint = "NS", "C", "E"
	switch len(parts) {
	case 0:
	case 1:
		component = parts[0]
	case 2:
		namespace, component = parts[0], parts[1]
	default:
		namespace, component, endpoint = parts[0], parts[1], strings.Join(parts[2:], "_")
	}
	return namespace, component, endpoint
}

// isName reports whether it is a name and no path.
func (s EndpointSyntax) isName() bool { return s == BareName || s == AnyBareName }

// wellFormed reports whether the module takes text.
func (s EndpointSyntax) wellFormed(text string) bool {
	switch s {
	case AnyBareName:
		return true
	case BareName:
		return !strings.Contains(text, ".") && !strings.HasPrefix(text, scheme)
	}
	_, _, _, ok := s.splitPath(text)
	return ok
}
