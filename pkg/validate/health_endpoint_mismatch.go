package validate

import (
	"encoding/json"
	"strings"

	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// health-endpoint-mismatch: the health of the process waits for an endpoint that it does not serve.
//
// Restricted: DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS of every process that registers.
//
// Allowed: a JSON list of the process's own endpoint and of those that its module is known to serve beside it; any name
// where the own one is not known, or where DYN_SYSTEM_STARTING_HEALTH_STATUS has all of them ready from the start.
func healthEndpointMismatch(s *subject) {
	for i := range s.resolution.Processes {
		p := &s.resolution.Processes[i]
		if p.Module == nil || !p.Runtime {
			continue
		}
		v := p.Variable(wiring.EnvEndpointHealthStatus)
		if !v.Told() || v.Sure == identity.Unknown || isListOf(v.Text, p.Endpoint.Text) {
			continue
		}
		names, ok := listOfStrings(v.Text)
		if !ok {
			s.find(v.Field, "", v.Name+" is "+quoted(v.Text)+", but the runtime takes a JSON list of strings; the process would not start"+
				healthRemedy(p)+".")
			continue
		}
		if start := p.Variable(startingHealth); !p.Registers || start.Text == "ready" || start.Told() && start.Sure == identity.Unknown {
			continue
		}
		var wrong []string
		for _, name := range names {
			if serves, known := p.Serves(name); known && !serves {
				wrong = append(wrong, quoted(name))
			}
		}
		if len(wrong) > 0 {
			s.find(v.Field, "", v.Name+" waits for endpoint "+strings.Join(wrong, " and ")+", but "+module(p)+serving(s, p)+
				"; the pod would never be ready"+healthRemedy(p)+".")
		}
	}
}

// startingHealth is what the listed endpoints count as before they are served (ai-dynamo lib/runtime/src/system_health.rs).
const startingHealth = "DYN_SYSTEM_STARTING_HEALTH_STATUS"

func serving(s *subject, p *identity.Process) string {
	switch {
	case !p.Endpoint.Known():
		return " serves none of that name"
	case p.Endpoint.How == identity.Argument:
		return " serves " + quoted(p.Endpoint.Text) + " (" + p.Endpoint.Name + ", " + s.path(p.Endpoint.Field) + ")"
	default:
		return " serves " + quoted(p.Endpoint.Text)
	}
}

func healthRemedy(p *identity.Process) string {
	if !p.Endpoint.Known() {
		return ". Remove it"
	}
	return `. Set it to ["` + p.Endpoint.Text + `"] or remove it`
}

// isListOf spares the common case its decoding.
func isListOf(text, name string) bool {
	text, opened := strings.CutPrefix(text, `["`)
	text, closed := strings.CutSuffix(text, `"]`)
	return opened && closed && text == name && strings.IndexByte(name, '\\') < 0
}

func listOfStrings(text string) (names []string, ok bool) {
	var list []any
	if json.Unmarshal([]byte(text), &list) != nil || list == nil {
		return nil, false
	}
	for _, element := range list {
		name, ok := element.(string)
		if !ok {
			return nil, false
		}
		names = append(names, name)
	}
	return names, true
}
