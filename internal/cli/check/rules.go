package check

import (
	"strings"

	"github.com/dynawire/dynawire/docs"
	"github.com/dynawire/dynawire/internal/drift/lack"
	"github.com/dynawire/dynawire/pkg/validate"
)

// rule is what there is to know about a rule.
type rule struct {
	id       string
	severity validate.Severity
	// summary is one sentence, help the rule's section in the documents, uri where that is.
	summary, help, uri string
}

const homepage = "https://github.com/dynawire/dynawire"

// rules are those of admission in their order, and those of running pods.
func rules() []rule {
	sections := map[string]string{}
	for _, section := range strings.Split(docs.Rules, "\n### ")[1:] {
		id, text, _ := strings.Cut(section, "\n")
		text, _, _ = strings.Cut(text, "\n## ")
		sections[id] = strings.TrimSpace(text)
	}
	catalogue := validate.Rules()
	all := make([]rule, 0, len(catalogue)+1)
	for _, r := range catalogue {
		all = append(all, rule{r.ID, r.Severity, sentence(sections[r.ID]), sections[r.ID], homepage + "/blob/main/docs/rules.md#" + r.ID})
	}
	const unwired = "A running pod that never went through the webhook: created before its namespace was opted in, or while the webhook was away."
	const help = unwired + " Its peers cannot find it. " + lack.Remedy
	return append(all, rule{lack.Unwired, validate.Deny, unwired, help, homepage + "/blob/main/docs/audit.md"})
}

// sentence is the first one of a text, on one line.
func sentence(text string) string {
	paragraph, _, _ := strings.Cut(text, "\n\n")
	line := strings.Join(strings.Fields(paragraph), " ")
	first, _, more := strings.Cut(line, ". ")
	if more {
		return first + "."
	}
	return line
}

// RuleIDs are the ids of all rules.
func RuleIDs() []string {
	all := rules()
	ids := make([]string, len(all))
	for i := range all {
		ids[i] = all[i].id
	}
	return ids
}
