// Package lack compares a running pod with what the webhook would make of it today.
package lack

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
	// Unwired is a Dynamo pod that never went through the webhook.
	Unwired = "unwired"
	// Outdated is a pod that was wired by other settings or an older release, and lacks what it would get today.
	Outdated = "outdated-wiring"
)

// Remedy is what to do about either.
const Remedy = "Restart its workload (kubectl rollout restart), or delete the pod where it has none."

// Check is what a pod lacks: one finding, or none. It is not ours where the webhook would leave the pod alone.
func Check(p *pod.Pod, ns wiring.Settings) (findings []validate.Finding, ours bool) {
	result := mutate.Pod(p, mutate.Options{Namespace: ns, ServiceAccount: wiring.ServiceAccount})
	if result.Reason != identity.Wired {
		return nil, false
	}
	missing := missing(p, result.Patch)
	if len(missing) == 0 {
		return nil, true
	}
	lacks := strings.Join(missing, ", ")
	if p.Metadata.Labels[wiring.LabelDiscoveryBackend] == "" {
		return []validate.Finding{{
			Rule: Unwired, Severity: validate.Deny, Field: "metadata.labels",
			Message: "the pod lacks " + lacks + ", but its namespace is opted in to discovery; it was created before that or while" +
				" the webhook was away, and its peers cannot find it. " + Remedy,
		}}, true
	}
	return []validate.Finding{{
		Rule: Outdated, Severity: validate.Warning, Field: "spec",
		Message: "the pod lacks " + lacks + ", but a pod that is created today gets it; it was wired by other settings or an" +
			" older release of dynawire. " + Remedy,
	}}, true
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
