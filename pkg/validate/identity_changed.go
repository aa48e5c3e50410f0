package validate

import (
	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// identity-changed: identity labels changed on a pod that is already running.
//
// Restricted: labels nvidia.com/dynamo-namespace, nvidia.com/dynamo-component and nvidia.com/dynamo-component-type on UPDATE: a
// process registers once, with what its container was created with, which no update changes.
//
// Allowed: a label that says what the pod is anyhow; anything on a pod that has ended or is being deleted, that dynawire
// did not wire, or that opts out by the same update.
func changedIdentity(old, updated *pod.Pod, ns wiring.Settings) []Finding {
	if isOff(ns, identityChangedRule.id) || ended(updated) || updated.Metadata.Labels[wiring.LabelDiscoveryEnabled] == "false" {
		return nil
	}
	s := subject{pod: updated, rule: &identityChangedRule}
	var was identity.Resolution
	for _, key := range [...]string{wiring.LabelNamespace, wiring.LabelComponent, wiring.LabelComponentType} {
		before, had := old.Metadata.Labels[key]
		after, has := updated.Metadata.Labels[key]
		if before == after && had == has {
			continue
		}
		if was.Reason == "" {
			if was = identity.Resolve(old, ns); was.Reason != identity.Wired {
				return nil
			}
		}
		if had || after != identityLabel(&was.Identity, key) {
			s.labelChanged(key, before, after, had, has)
		}
	}
	return s.findings
}

func (s *subject) labelChanged(key, before, after string, had, has bool) {
	found, created := "the label becomes "+quoted(after), "with "+quoted(before)
	if !has {
		found = "the label is taken away"
	}
	if !had {
		created = "without it"
	}
	s.find(identity.LabelField(key), "", found+", but the pod was created "+created+
		" and its processes registered then; they would go on under what they are, and peers look in vain. "+
		"Leave the label, and change it in the workload's template, which makes new pods.")
}

// identityLabel is what an identity label is to be.
func identityLabel(id *identity.Identity, key string) string {
	switch key {
	case wiring.LabelNamespace:
		return id.Namespace.Text
	case wiring.LabelComponent:
		return id.Component.Text
	default:
		return id.Role.Text
	}
}

// ended reports whether a pod runs no more, or will not for long.
func ended(p *pod.Pod) bool {
	return p.Metadata.DeletionTimestamp != "" || p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed"
}
