package wiring

import (
	"fmt"
)

// Mode is what happens to a finding: AnnotationValidation of the Namespace.
type Mode string

const (
	// Enforce refuses what a rule of severity deny finds; it is the default.
	Enforce Mode = "enforce"
	// Warn lets everything in and tells the client.
	Warn Mode = "warn"
	// Audit lets everything in and tells the client nothing; the record is kept all the same.
	Audit Mode = "audit"
)

// Scope is how much a frontend sees: AnnotationFrontendScope.
type Scope string

const (
	// ScopeExact sets DYN_NAMESPACE; it is the default.
	ScopeExact Scope = "exact"
	// ScopePrefix sets DYN_NAMESPACE_PREFIX, which is needed to see workers with a suffix.
	ScopePrefix Scope = "prefix"
	// ScopeAll sets neither: the frontend sees every Dynamo namespace of its Kubernetes namespace.
	ScopeAll Scope = "all"
)

// Settings are what a Namespace says about its pods. The zero value is that of a Namespace without annotations.
type Settings struct {
	// DynamoNamespace is the default Dynamo namespace; empty where the Namespace declares none.
	DynamoNamespace string
	// FrontendScope is empty where the Namespace declares none, which means ScopeExact.
	FrontendScope Scope
	// Validation is empty where the Namespace declares none, which means Enforce.
	Validation Mode
	// Rules are what happens to findings of single rules, by id, whatever Validation says. The ids are not checked here.
	Rules map[string]Action
	// Tuning is what the Namespace asks for where a pod asks for nothing else.
	Tuning Tuning
}

// SettingsOf reads a Namespace's annotations. A value that it does not know counts as not given and is named in warnings:
// a typo must not stop a rollout.
func SettingsOf(annotations map[string]string) (s Settings, warnings []string) {
	s.DynamoNamespace = annotations[AnnotationDynamoNamespace]
	if s.DynamoNamespace != "" && s.Namespace() == "" {
		warnings = append(warnings, unknownValue(AnnotationDynamoNamespace, s.DynamoNamespace, "letters, digits, '-' and '_', at most 63", DefaultNamespace))
	}
	switch m := Mode(annotations[AnnotationValidation]); m {
	case "", Enforce, Warn, Audit:
		s.Validation = m
	default:
		warnings = append(warnings, unknownValue(AnnotationValidation, string(m), "enforce, warn or audit", "enforce"))
	}
	switch sc := Scope(annotations[AnnotationFrontendScope]); sc {
	case "", ScopeExact, ScopePrefix, ScopeAll:
		s.FrontendScope = sc
	default:
		warnings = append(warnings, unknownValue(AnnotationFrontendScope, string(sc), "exact, prefix or all", "exact"))
	}
	rules, bad := rulesOf(annotations[AnnotationRules])
	s.Rules, warnings = rules, append(warnings, bad...)
	tuning, bad := Tuning{}.over(annotations)
	s.Tuning = tuning
	return s, append(warnings, bad...)
}

func unknownValue(key, got, want, used string) string {
	return fmt.Sprintf("annotation %s is %q, want %s; %q is used", key, got, want, used)
}
