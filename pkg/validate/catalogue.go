package validate

import (
	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/pod"
)

// rule is a row of the catalogue.
type rule struct {
	id       string
	severity Severity
	check    func(*subject)
}

// catalogue is the rules about pods, in the order in which findings come.
var catalogue = []rule{
	{"namespace-mismatch", Deny, namespaceMismatch},
	{"component-mismatch", Deny, componentMismatch},
	{"endpoint-malformed", Deny, endpointMalformed},
	{"discovery-backend-conflict", Deny, discoveryBackendConflict},
	{"probe-port-mismatch", Deny, probePortMismatch},
}

// subject is the pod that is being judged, and what was found so far.
type subject struct {
	pod        *pod.Pod
	resolution *identity.Resolution
	prefix     string
	rule       *rule
	findings   []Finding
}

// find records a violation of the rule that is running.
func (s *subject) find(at identity.Field, suffix, message string) {
	s.findings = append(s.findings, Finding{
		Rule: s.rule.id, Severity: s.rule.severity, Field: s.path(at) + suffix, Message: message,
	})
}

func (s *subject) path(at identity.Field) string { return at.In(s.prefix) }

// labels of the pod.
func (s *subject) label(key string) string { return s.pod.Metadata.Labels[key] }

// main is the process that is compared with the labels.
func (s *subject) main() *identity.Process { return s.resolution.Process() }

// module is the process as messages call it.
func module(p *identity.Process) string {
	switch {
	case p.Module == nil:
		return "the process"
	case p.Module.Binary != "":
		return p.Module.Binary
	default:
		return "dynamo." + p.Module.Name
	}
}

// quoted is a value in a message.
func quoted(text string) string { return `"` + text + `"` }
