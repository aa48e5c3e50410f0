// Package drift looks for running pods that admission would not have let in as they are: created before their Namespace
// was opted in or while the webhook was away, in breach of a rule that came later, or of another model than their peers.
// What it finds goes into the Namespace's report and a gauge.
package drift

import (
	"github.com/dynawire/dynawire/internal/drift/lack"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/validate"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// Rules of this package, beside those of docs/rules.md.
const (
	RuleUnwired  = lack.Unwired
	RuleOutdated = lack.Outdated
	// RuleModels is pods of one endpoint that serve different models.
	RuleModels = "model-mismatch"
)

// Pod is a running pod.
type Pod struct {
	*pod.Pod
	Ready bool
	// Exits are the last ends of its containers that were started again, by name.
	Exits map[string]Exit
}

// Exit is how a container ended last, and how often it did.
type Exit struct{ Restarts, Code int }

// Finding is what is wrong with one running pod.
type Finding struct {
	Pod *pod.Pod
	validate.Finding
}

// judge is what is wrong with one pod, looked at by itself.
func judge(p *pod.Pod, ns wiring.Settings) []validate.Finding {
	out, ours := lack.Check(p, ns)
	if !ours {
		return nil
	}
	return append(out, validate.Pod(p, ns)...)
}
