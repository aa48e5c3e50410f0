package validate

import (
	"slices"

	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// no-api-access: the pod has no token for the API server, which discovery is made of.
//
// Restricted: spec.automountServiceAccountToken: false on a pod that runs a Dynamo module.
//
// Allowed: with a mount at /var/run/secrets/kubernetes.io/serviceaccount, or of a token without an audience; with
// KUBECONFIG; where the process does not discover, or perhaps by another backend.
func noAPIAccess(s *subject) {
	if mount := s.pod.Spec.AutomountServiceAccountToken; mount == nil || *mount {
		return
	}
	for i := range s.resolution.Processes {
		p := &s.resolution.Processes[i]
		if p.Module == nil || !p.Runtime {
			continue
		}
		if backend := p.Told(identity.FlagBackend); backend.Told() && backend.Sure == identity.Unknown {
			continue
		}
		if p.Variable("KUBECONFIG").Told() || mounts(p, tokenDirectory) || s.mountsToken(p) {
			continue
		}
		s.findIn("spec.automountServiceAccountToken", "automountServiceAccountToken is false and container "+quoted(p.Container.Name)+
			" mounts no token of its own, but "+module(p)+" registers and finds its peers at the API server (label "+wiring.LabelDiscoveryBackend+
			"); the process would exit. Remove the field or mount a projected serviceAccountToken at "+tokenDirectory+".")
		return
	}
}

// tokenDirectory is where clients look for their token.
const tokenDirectory = "/var/run/secrets/kubernetes.io/serviceaccount"

// mountsToken reports whether the container mounts a token that the API server takes.
func (s *subject) mountsToken(p *identity.Process) bool {
	for i := range s.pod.Spec.Volumes {
		v := &s.pod.Spec.Volumes[i]
		if v.Projected == nil || !slices.ContainsFunc(v.Projected.Sources, isToken) {
			continue
		}
		if slices.ContainsFunc(p.Container.VolumeMounts, func(m pod.VolumeMount) bool { return m.Name == v.Name }) {
			return true
		}
	}
	return false
}

func isToken(source pod.ProjectedSource) bool {
	return source.ServiceAccountToken != nil && source.ServiceAccountToken.Audience == ""
}
