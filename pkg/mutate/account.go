package mutate

import (
	"cmp"
	"strings"

	"gomodules.xyz/jsonpatch/v2"
)

// defaultAccount is what the API server has written by the time it asks, where the user wrote nothing.
const defaultAccount = "default"

// tokenVolume is the prefix of the volume that the API server's ServiceAccount plugin adds
// (kubernetes plugin/pkg/admission/serviceaccount/admission.go, v1.36).
const tokenVolume = "kube-api-access-"

// account gives the pod the discovery account where it has none of its own, and a token where it has none and does not
// refuse one. Both fields: hooks after this one may read the deprecated one, and the API server does not follow it up.
func (m *mutation) account() {
	spec := &m.pod.Spec
	if m.resolution.Tuning.SkipServiceAccount {
		return
	}
	own := m.ownAccount()
	if m.options.ServiceAccount != "" && (own == "" || own == m.options.ServiceAccount && spec.ServiceAccountName == "") {
		var account any = m.options.ServiceAccount
		m.put(accountPath, spec.ServiceAccountName, account)
		m.put(deprecatedAccountPath, spec.ServiceAccount, account)
	}
	if spec.AutomountServiceAccountToken == nil && !m.hasToken() {
		m.add(automountPath, true)
	}
}

// put gives a field its value, whether it has one or not.
func (m *mutation) put(path, old string, value any) {
	switch old {
	case "":
		m.add(path, value)
	case value:
	default:
		m.patch = append(m.patch, jsonpatch.Operation{Operation: "replace", Path: path, Value: value})
	}
}

// ownAccount is the account that the user chose; empty where that is nobody's choice. In a manifest the deprecated field
// counts where the other one is empty (kubernetes pkg/apis/core/v1/conversion.go, v1.36); the API server sends both.
func (m *mutation) ownAccount() string {
	name := cmp.Or(m.pod.Spec.ServiceAccountName, m.pod.Spec.ServiceAccount)
	if name == defaultAccount {
		return ""
	}
	return name
}

// finalAccount is the account that the pod runs under after the mutation.
func (m *mutation) finalAccount() string {
	own := m.ownAccount()
	switch {
	case own != "":
		return own
	case m.options.ServiceAccount != "" && !m.resolution.Tuning.SkipServiceAccount:
		return m.options.ServiceAccount
	default:
		return defaultAccount
	}
}

// hasToken reports whether the pod mounts a token already, the API server's or one of its own.
func (m *mutation) hasToken() bool {
	for i := range m.pod.Spec.Volumes {
		v := &m.pod.Spec.Volumes[i]
		if strings.HasPrefix(v.Name, tokenVolume) {
			return true
		}
		if v.Projected == nil {
			continue
		}
		for j := range v.Projected.Sources {
			if t := v.Projected.Sources[j].ServiceAccountToken; t != nil && t.Audience == "" {
				return true
			}
		}
	}
	return false
}
