package validate

import (
	"strings"

	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// stale-env: a variable of old releases that no supported one reads.
//
// Restricted: DYNAMO_NAMESPACE, DYN_STORE_KV and DYNAMO_PORT of every Dynamo container; DYN_VLLM_IS_PREFILL_WORKER and
// DYN_VLLM_IS_DECODE_WORKER of a vllm whose image's tag says 1.5 or later.
//
// Allowed: the last two where they are off, or with a tag that is no version.
func staleEnv(s *subject) {
	for i := range s.resolution.Processes {
		p := &s.resolution.Processes[i]
		for j := range p.Container.Env {
			name := p.Container.Env[j].Name
			if stale := staleVariable(p, name); stale.unread != "" && !named(p, name, j) {
				s.find(p.At.Env(name), "", name+" is set, but "+stale.unread+"; "+stale.consequence+". "+stale.remedy+".")
			}
		}
	}
}

// staleness is what to say of a variable.
type staleness struct{ unread, consequence, remedy string }

const noRelease = "no release since 1.3 reads it"

func staleVariable(p *identity.Process, name string) staleness {
	if !strings.HasPrefix(name, "DYN") {
		return staleness{}
	}
	switch name {
	case "DYNAMO_NAMESPACE":
		return staleness{noRelease, "the process would not be told its namespace", "Use " + wiring.EnvNamespace + " or the label " + wiring.LabelNamespace}
	case "DYN_STORE_KV":
		return staleness{noRelease, "the backend would be what " + wiring.EnvDiscoveryBackend + " says", "Remove it"}
	case "DYNAMO_PORT":
		return staleness{noRelease, "the process would listen on another port", "Use " + wiring.EnvHTTPPort + " for a frontend, " + wiring.EnvSystemPort + " for others"}
	case "DYN_VLLM_IS_PREFILL_WORKER", "DYN_VLLM_IS_DECODE_WORKER":
		if p.Module == nil || !strings.HasPrefix(p.Module.Name, "vllm") || !p.Release.From(1, 5) || off(p.Variable(name)) {
			return staleness{}
		}
		mode := "prefill"
		if name == "DYN_VLLM_IS_DECODE_WORKER" {
			mode = "decode"
		}
		return staleness{"vllm reads it only before 1.5, and the image's tag says a later release", `the worker would run as an aggregated one and register as "backend"`,
			"Use the arguments --disaggregation-mode " + mode}
	}
	return staleness{}
}

// off reports whether a switch is known to be off.
func off(v identity.Value) bool {
	switch strings.ToLower(v.Text) {
	case "1", "true", "yes", "on":
		return false
	}
	return v.Sure == identity.Proven
}

// named reports whether an entry of that name stands before entry j.
func named(p *identity.Process, name string, j int) bool {
	for i := range p.Container.Env[:j] {
		if p.Container.Env[i].Name == name {
			return true
		}
	}
	return false
}
