package validate

import (
	"strings"

	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// endpoint-malformed: the endpoint is not what the module takes.
//
// Restricted: --endpoint and DYN_ENDPOINT, for routers --endpoint and DYN_ROUTER_ENDPOINT.
//
// Allowed: [dyn://]namespace.component.endpoint (vllm, sglang, trtllm, tokenspeed, routers); the same with dyn:// required
// (mocker); a name without dots (vllm.omni, sidecars); nothing at all where the module takes "" for nothing (trtllm,
// tokenspeed); anything where a part of it is known to the running pod only.
func endpointMalformed(s *subject) {
	for i := range s.resolution.Processes {
		p := &s.resolution.Processes[i]
		if !p.Malformed || !p.Runtime {
			continue
		}
		v := p.Path
		s.find(v.Field, "", v.Name+" is "+quoted(v.Text)+", but "+module(p)+" takes "+p.Module.Syntax.Want()+
			"; the process would "+malformedConsequence(p)+". Set "+place(v)+" to "+wellFormed(s, p)+".")
	}
}

func malformedConsequence(p *identity.Process) string {
	if p.Module.Binary != "" {
		return "register an endpoint that nobody asks for"
	}
	return "exit"
}

// wellFormed is what the user most likely meant.
func wellFormed(s *subject, p *identity.Process) string {
	text := strings.ReplaceAll(strings.TrimPrefix(p.Path.Text, "dyn://"), "/", ".")
	endpoint := text[strings.LastIndexByte(text, '.')+1:]
	if endpoint == "" {
		endpoint = wiring.DefaultEndpoint
	}
	if p.Module.Syntax == identity.BareName {
		return endpoint
	}
	if strings.Count(text, ".") == 2 {
		return "dyn://" + text
	}
	namespace, component := s.resolution.Identity.Namespace.Text, s.resolution.Identity.Component.Text
	if namespace == "" {
		namespace = wiring.DefaultNamespace
	}
	if component == "" || p.Module.Syntax == identity.TargetPath {
		component = "backend"
	}
	return "dyn://" + namespace + "." + component + "." + endpoint
}
