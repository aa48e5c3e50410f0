package wiring

import (
	"fmt"
	"strings"
)

// Action is what happens to the findings of a rule.
type Action string

const (
	// ActionDeny refuses the object. A rule that only warns is not raised to it.
	ActionDeny Action = "deny"
	// ActionWarn tells the client.
	ActionWarn Action = "warn"
	// ActionAudit tells the client nothing; the record is kept.
	ActionAudit Action = "audit"
	// ActionOff leaves the rule out: no record either.
	ActionOff Action = "off"
)

// rulesOf reads AnnotationRules: RULE=ACTION, with commas; of a rule named twice the last one counts. A part that cannot
// be read is named in warnings and left out.
func rulesOf(text string) (rules map[string]Action, warnings []string) {
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		id, action, _ := strings.Cut(part, "=")
		id, action = strings.TrimSpace(id), strings.TrimSpace(action)
		switch a := Action(action); a {
		case ActionDeny, ActionWarn, ActionAudit, ActionOff:
			if id != "" {
				if rules == nil {
					rules = map[string]Action{}
				}
				rules[id] = a
				continue
			}
		}
		warnings = append(warnings, fmt.Sprintf("annotation %s has %q, want RULE=deny, warn, audit or off; it is ignored", AnnotationRules, part))
	}
	return rules, warnings
}
