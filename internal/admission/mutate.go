package admission

import (
	"context"
	"fmt"
	"slices"

	"gomodules.xyz/jsonpatch/v2"

	"github.com/dynawire/dynawire/internal/admission/review"
	"github.com/dynawire/dynawire/pkg/mutate"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// Reasons beside those of package identity.
const (
	reasonNotServed  = "not-served"
	reasonNotOptedIn = "namespace-not-opted-in"
	reasonNoAccount  = "account-missing"
	reasonNoFindings = "no-findings"
	reasonFindings   = "findings"
	reasonControlled = "controlled"
	reasonUnchanged  = "unchanged"
	reasonLabelled   = "labelled"
	reasonNotItsOwn  = "not-its-own"
	reasonPodUnknown = "pod-unknown"
)

// mutatePod wires a pod that is being created.
func (a *Admission) mutatePod(ctx context.Context, r *review.Request[pod.Pod]) (answer, error) {
	p := podOf(&r.Head, r.Object)
	if !isPod(&r.Head) || r.Operation != review.Create || p == nil {
		return allow(reasonNotServed), nil
	}
	ns, out, err := a.namespace(ctx, r.Namespace)
	if err != nil || !ns.OptedIn {
		return out, err
	}
	options := mutate.Options{Namespace: ns.Settings, ServiceAccount: wiring.ServiceAccount}
	result := mutate.Pod(p, options)
	out = answer{allowed: true, reason: string(result.Reason), patch: result.Patch, warnings: result.Warnings}
	if !wantsAccount(result.Patch) || a.Accounts.Exists(ctx, r.Namespace) {
		return out, nil
	}
	// An account that is not there would have the API server refuse the pod. With its own account the pod lives, and the
	// reconciler binds that account from the annotation which the mutation leaves.
	options.ServiceAccount = ""
	out.patch = mutate.Pod(p, options).Patch
	out.reason = reasonNoAccount
	out.warnings = append(slices.Clip(out.warnings), fmt.Sprintf("ServiceAccount %s does not exist in namespace %s yet: the pod keeps account %q until it is created anew",
		wiring.ServiceAccount, r.Namespace, p.Spec.ServiceAccountName))
	a.Log.Info("service account is missing", "namespace", r.Namespace, "name", r.Name, "generateName", p.Metadata.GenerateName, "dryRun", r.DryRun)
	return out, nil
}

// wantsAccount is whether a patch gives the pod another account.
func wantsAccount(patch []jsonpatch.Operation) bool {
	for i := range patch {
		if patch[i].Path == "/spec/serviceAccountName" {
			return true
		}
	}
	return false
}
