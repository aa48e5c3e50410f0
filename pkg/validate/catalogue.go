package validate

import (
	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// rule is a row of the catalogue.
type rule struct {
	id       string
	severity Severity
	// check is nil where the rule judges something else than a pod as it is.
	check func(*subject)
	// object is what it judges then.
	object string
}

// catalogue is all rules, in the order in which findings come.
var catalogue = []rule{
	{id: "namespace-mismatch", severity: Deny, check: namespaceMismatch},
	{id: "component-mismatch", severity: Deny, check: componentMismatch},
	{id: "role-mismatch", severity: Deny, check: roleMismatch},
	{id: "endpoint-malformed", severity: Deny, check: endpointMalformed},
	{id: "invalid-name", severity: Deny, check: invalidName},
	{id: "arguments-lost", severity: Deny, check: argumentsLost},
	{id: "discovery-backend-conflict", severity: Deny, check: discoveryBackendConflict},
	{id: "identity-env-overridden", severity: Deny, check: identityEnvOverridden},
	{id: "probe-port-mismatch", severity: Deny, check: probePortMismatch},
	{id: "health-endpoint-mismatch", severity: Deny, check: healthEndpointMismatch},
	{id: "container-mode-mismatch", severity: Deny, check: containerModeMismatch},
	{id: "no-api-access", severity: Deny, check: noAPIAccess},
	{id: "two-registrars-one-pod", severity: Deny, check: twoRegistrarsOnePod},
	{id: "frontend-scope-mismatch", severity: Deny, check: frontendScopeMismatch},
	identityChangedRule,
	{id: RulePublishNotReady, severity: Deny, object: "Service"},
	{id: RuleMetadataImpersonation, severity: Deny, object: "DynamoWorkerMetadata"},
	{id: "unprovable-command", severity: Warning, check: unprovableCommand},
	{id: "unresolved-variable", severity: Warning, check: unresolvedVariable},
	{id: "abbreviated-flag", severity: Warning, check: abbreviatedFlag},
	{id: "env-from-hidden", severity: Warning, check: envFromHidden},
	{id: "multi-worker-process", severity: Warning, check: multiWorkerProcess},
	{id: "liveness-before-ready", severity: Warning, check: livenessBeforeReady},
	{id: "stale-env", severity: Warning, check: staleEnv},
	{id: "not-ready-blind", severity: Warning, check: notReadyBlind},
}

var identityChangedRule = rule{id: "identity-changed", severity: Deny, object: "PodUpdate"}

// Rule is a row of the catalogue as others see it.
type Rule struct {
	ID       string
	Severity Severity
	// Objects are what it judges: Pod and PodTemplate, PodUpdate (the change of a pod), Service, DynamoWorkerMetadata.
	Objects []string
}

// Rules is the catalogue, in order.
func Rules() []Rule {
	rules := make([]Rule, len(catalogue))
	for i, r := range catalogue {
		rules[i] = Rule{r.id, r.severity, []string{"Pod", "PodTemplate"}}
		if r.object != "" {
			rules[i].Objects = []string{r.object}
		}
	}
	return rules
}

// subject is the pod that is being judged, and what was found so far.
type subject struct {
	pod        *pod.Pod
	settings   wiring.Settings
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

// findIn records a violation at a field of the pod as a whole.
func (s *subject) findIn(field, message string) {
	s.findings = append(s.findings, Finding{Rule: s.rule.id, Severity: s.rule.severity, Field: s.prefix + field, Message: message})
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
