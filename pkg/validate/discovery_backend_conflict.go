package validate

import (
	"strings"

	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// discovery-backend-conflict: a flag or a variable picks another backend than the pod's wiring.
//
// Restricted: --discovery-backend where the module has it, else DYN_DISCOVERY_BACKEND, of every process that starts a
// Dynamo runtime. An empty value and one in another case stop the process.
//
// Allowed: "kubernetes"; nothing, for the mutation sets it (not so for the sample backend, which reads no variable and
// takes etcd); anything that only the running pod knows.
func discoveryBackendConflict(s *subject) {
	for i := range s.resolution.Processes {
		p := &s.resolution.Processes[i]
		if p.Module != nil && !p.Runtime {
			continue
		}
		v := p.Variable(wiring.EnvDiscoveryBackend)
		if p.Module != nil {
			v = p.Told(identity.FlagBackend)
		}
		const wired = `, but the pod is wired for "` + wiring.BackendKubernetes + `" (label ` + wiring.LabelDiscoveryBackend + ")"
		switch {
		case !v.Told() && p.Module != nil && p.Module.NoBackendEnv:
			s.find(p.At.Args(), "", module(p)+` reads no variable and takes "etcd"`+wired+
				"; nobody in this namespace would find it. Add the arguments --discovery-backend "+wiring.BackendKubernetes+".")
		case v.Told() && v.Sure == identity.Proven && v.Text != wiring.BackendKubernetes:
			s.find(v.Field, "", v.Name+" is "+quoted(v.Text)+wired+"; "+backendConsequence(v.Text)+
				". Set "+place(v)+" to "+quoted(wiring.BackendKubernetes)+" or remove it.")
		}
	}
}

func backendConsequence(backend string) string {
	switch {
	case backend == "":
		return "the process would not start with an empty value"
	case strings.EqualFold(backend, wiring.BackendKubernetes):
		return "the process would not start, for the value is case-sensitive"
	case backend == "etcd": // with none to be reached it gives up after 120 s (1.6.1)
		return "it would register and look for peers in etcd, where nobody in this namespace does, or exit where none answers"
	default:
		return "it would register and look for peers where nobody in this namespace does"
	}
}
