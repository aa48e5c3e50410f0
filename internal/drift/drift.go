// Package drift looks for running pods that admission would not have let in as they are: created before their Namespace
// was opted in or while the webhook was away, in breach of a rule that came later, or of another model than their peers.
// What it finds goes into the Namespace's report and a gauge.
package drift

import (
	"slices"
	"strings"

	"gomodules.xyz/jsonpatch/v2"

	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/mutate"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/validate"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// Rules of this package, beside those of docs/rules.md.
const (
	// RuleUnwired is a Dynamo pod that never went through the webhook.
	RuleUnwired = "unwired"
	// RuleOutdated is a pod that was wired by other settings or an older release, and lacks what it would get today.
	RuleOutdated = "outdated-wiring"
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
	result := mutate.Pod(p, mutate.Options{Namespace: ns, ServiceAccount: wiring.ServiceAccount})
	if result.Reason != identity.Wired {
		return nil
	}
	var out []validate.Finding
	if missing := missing(p, result.Patch); len(missing) > 0 {
		out = append(out, wiringFinding(p, missing))
	}
	return append(out, validate.Pod(p, ns)...)
}

func wiringFinding(p *pod.Pod, missing []string) validate.Finding {
	lacks := strings.Join(missing, ", ")
	const remedy = "Restart its workload (kubectl rollout restart), or delete the pod where it has none."
	if p.Metadata.Labels[wiring.LabelDiscoveryBackend] == "" {
		return validate.Finding{
			Rule: RuleUnwired, Severity: validate.Deny, Field: "metadata.labels",
			Message: "the pod lacks " + lacks + ", but its namespace is opted in to discovery; it was created before that or while" +
				" the webhook was away, and its peers cannot find it. " + remedy,
		}
	}
	return validate.Finding{
		Rule: RuleOutdated, Severity: validate.Warning, Field: "spec",
		Message: "the pod lacks " + lacks + ", but a pod that is created today gets it; it was wired by other settings or an" +
			" older release of dynawire. " + remedy,
	}
}

// missing names what the mutation would add, in its order.
func missing(p *pod.Pod, patch []jsonpatch.Operation) []string {
	var names []string
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	_, keepsAccount := p.Metadata.Annotations[wiring.AnnotationServiceAccount]
	for i := range patch {
		path := patch[i].Path
		switch {
		case path == "/metadata", strings.HasPrefix(path, "/metadata/labels"):
			add("labels")
		case strings.HasPrefix(path, "/metadata/annotations"):
			// Notes for the reconciler, no part of what makes a pod discoverable.
		case strings.Contains(path, "/env"):
			for _, name := range variables(patch[i].Value) {
				add(name)
			}
		case strings.HasSuffix(path, "/readinessProbe"):
			add("readiness probe")
		case strings.Contains(path, "/ports"):
			add("named port")
		case !keepsAccount: // the account, which the reconciler binds where it was not there in time
			add("service account")
		}
	}
	return names
}

// variables are the names in the value of an operation on a container's env.
func variables(value any) []string {
	switch v := value.(type) {
	case *mutate.EnvVar:
		return []string{v.Name}
	case []*mutate.EnvVar:
		names := make([]string, len(v))
		for i := range v {
			names[i] = v[i].Name
		}
		return names
	}
	return []string{"env"}
}
