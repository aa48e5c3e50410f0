package drift

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/runtime/wire"
	"github.com/dynawire/dynawire/pkg/validate"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// endpoint is namespace, component and endpoint as Dynamo writes them.
type endpoint string

func endpointOf(namespace, component, name string) endpoint {
	return endpoint(namespace + "." + component + "." + name)
}

// published are the models by pod UID and endpoint that the pods' own metadata names.
type published map[string]map[endpoint]string

// add reads a worker's document. What cannot be read names nothing.
func (p published) add(podUID string, data []byte) {
	document, err := wire.Parse(data)
	if err != nil {
		return
	}
	for _, card := range document.ModelCards() {
		var named struct {
			DisplayName string `json:"display_name"`
		}
		if card.Suffix != "" || json.Unmarshal(card.Card, &named) != nil || named.DisplayName == "" {
			continue // an adapter has a name of its own beside its base model's
		}
		if p[podUID] == nil {
			p[podUID] = map[endpoint]string{}
		}
		p[podUID][endpointOf(card.Namespace, card.Component, card.Endpoint)] = named.DisplayName
	}
}

// served is what a pod serves.
type served struct {
	pod   Pod
	at    string // the path of what names the model
	model string
	exit  Exit
}

// models collects who serves what, endpoint by endpoint.
type models map[endpoint][]served

// add notes the model of a worker, from what it published, else from its arguments.
func (m models) add(p Pod, ns wiring.Settings, known published) {
	r := identity.Resolve(p.Pod, ns)
	main := r.Process()
	if r.Reason != identity.Wired || main == nil || main.Module == nil || !main.Module.Worker() || !main.Registers {
		return
	}
	id := &r.Identity
	if !id.Namespace.Known() || !id.Component.Known() || !id.Endpoint.Known() {
		return
	}
	key := endpointOf(main.RegistersIn(id.Namespace.Text), id.Component.Text, id.Endpoint.Text)
	s := served{pod: p, at: main.At.Args().In(""), model: known[p.Metadata.UID][key], exit: p.Exits[main.Container.Name]}
	if s.model == "" {
		v := main.Model()
		if !v.Known() {
			return
		}
		s.model, s.at = v.Text, v.Field.In("")
	}
	m[key] = append(m[key], s)
}

// findings are about the pods whose model is not that of most of their peers.
func (m models) findings() []Finding {
	var out []Finding
	for _, key := range slices.Sorted(maps.Keys(m)) {
		model, pods, ok := majority(m[key])
		if !ok {
			continue
		}
		for _, s := range m[key] {
			if s.model != model {
				out = append(out, Finding{Pod: s.pod.Pod, Finding: s.finding(key, model, pods)})
			}
		}
	}
	return out
}

// majority is the model that most pods of an endpoint serve; of two that as many serve, the one whose pods stay up. It is
// not ok where all serve the same.
func majority(all []served) (model string, pods int, ok bool) {
	type tally struct{ pods, exits int }
	counts := map[string]tally{}
	for _, s := range all {
		t := counts[s.model]
		t.pods++
		t.exits += s.exit.Restarts
		counts[s.model] = t
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		t, best := counts[name], counts[model]
		if model == "" || t.pods > best.pods || t.pods == best.pods && t.exits < best.exits {
			model = name
		}
	}
	return model, counts[model].pods, len(counts) > 1
}

func (s served) finding(at endpoint, model string, pods int) validate.Finding {
	text := fmt.Sprintf("the pod serves model %q, but %s %q; one endpoint serves one model: a worker with another"+
		" name exits without an error and restarts for ever", s.model, peers(pods, at), model)
	if s.exit.Restarts > 0 && s.exit.Code == 0 {
		text += " (it did " + strconv.Itoa(s.exit.Restarts) + " times)"
	}
	return validate.Finding{
		Rule: RuleModels, Severity: validate.Deny, Field: s.at,
		Message: text + ". Give it the model name of its peers, or a component of its own.",
	}
}

func peers(n int, at endpoint) string {
	of := " of endpoint " + string(at)
	if n == 1 {
		return "a peer" + of + " serves"
	}
	return strconv.Itoa(n) + " peers" + of + " serve"
}
