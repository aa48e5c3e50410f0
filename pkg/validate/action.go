package validate

import (
	"fmt"
	"maps"
	"slices"

	"github.com/dynawire/dynawire/pkg/wiring"
)

// Action is what happens to a finding in a Namespace: what its annotation says of the rule, else what the mode says. A rule
// that warns is never raised to one that refuses.
func Action(f Finding, ns wiring.Settings) wiring.Action {
	if action, ok := ns.Rules[f.Rule]; ok {
		if action == wiring.ActionDeny && f.Severity != Deny {
			return wiring.ActionWarn
		}
		return action
	}
	switch {
	case ns.Validation == wiring.Audit:
		return wiring.ActionAudit
	case ns.Validation == wiring.Warn || f.Severity != Deny:
		return wiring.ActionWarn
	default:
		return wiring.ActionDeny
	}
}

// CheckSettings names the rules in a Namespace's annotation that do not exist, or cannot be what it says; wiring does not
// know them. Their parts have no effect.
func CheckSettings(ns wiring.Settings) (warnings []string) {
	for _, id := range slices.Sorted(maps.Keys(ns.Rules)) {
		switch i := slices.IndexFunc(catalogue, func(r rule) bool { return r.id == id }); {
		case i < 0:
			warnings = append(warnings, fmt.Sprintf("annotation %s names rule %q, which does not exist; it is ignored", wiring.AnnotationRules, id))
		case ns.Rules[id] == wiring.ActionDeny && catalogue[i].severity != Deny:
			warnings = append(warnings, fmt.Sprintf("annotation %s has \"%s=deny\", but that rule never refuses; \"warn\" is used", wiring.AnnotationRules, id))
		}
	}
	return warnings
}

func isOff(ns wiring.Settings, id string) bool { return ns.Rules[id] == wiring.ActionOff }
