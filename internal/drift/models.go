package drift

import (
	"cmp"
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

// model is what a worker serves: a name, and the path that it has the model from where the name is another.
type model struct{ name, path string }

// conflicts reports whether a worker with one model ends where a peer of its endpoint has the other (1.6.1): neither the
// name nor the path is the same.
func (m model) conflicts(other model) bool {
	return m.name != other.name && (m.path == "" || m.path != other.path)
}

// key is the same for all names of one path.
func (m model) key() model {
	if m.path != "" {
		return model{path: m.path}
	}
	return m
}

// published are the models by pod UID and endpoint that the pods' own metadata names.
type published map[string]map[endpoint]model

// add reads a worker's document. What cannot be read names nothing.
func (p published) add(podUID string, data []byte) {
	document, err := wire.Parse(data)
	if err != nil {
		return
	}
	for _, card := range document.ModelCards() {
		var named struct {
			DisplayName string `json:"display_name"`
			SourcePath  string `json:"source_path"`
		}
		if card.Suffix != "" || json.Unmarshal(card.Card, &named) != nil || named.DisplayName == "" {
			continue // an adapter has a name of its own beside its base model's
		}
		if p[podUID] == nil {
			p[podUID] = map[endpoint]model{}
		}
		p[podUID][endpointOf(card.Namespace, card.Component, card.Endpoint)] = model{named.DisplayName, named.SourcePath}
	}
}

// served is what a pod serves.
type served struct {
	pod   Pod
	at    string // the path of what names the model
	model model
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
	if s.model == (model{}) {
		v := main.Model()
		if !v.Known() {
			return
		}
		s.model.name, s.at = v.Text, v.Field.In("")
		if path := main.Told(identity.FlagModel); main.Told(identity.FlagModelName).Told() && path.Told() {
			if !path.Known() {
				return // it may be that of its peers
			}
			s.model.path = path.Text
		}
	}
	m[key] = append(m[key], s)
}

// findings are about the pods whose model cannot be beside that of most of their peers.
func (m models) findings() []Finding {
	var out []Finding
	for _, key := range slices.Sorted(maps.Keys(m)) {
		most, pods := majority(m[key])
		for _, s := range m[key] {
			if s.model.conflicts(most) {
				out = append(out, Finding{Pod: s.pod.Pod, Finding: s.finding(key, most.name, pods)})
			}
		}
	}
	return out
}

// majority is the model that most pods of an endpoint serve; of two that as many serve, the one whose pods stay up.
func majority(all []served) (most model, pods int) {
	type tally struct {
		first       model
		pods, exits int
	}
	counts := map[model]tally{}
	for _, s := range all {
		t := counts[s.model.key()]
		if t.pods == 0 || s.model.name < t.first.name {
			t.first = s.model
		}
		t.pods++
		t.exits += s.exit.Restarts
		counts[s.model.key()] = t
	}
	var best tally
	for _, t := range counts {
		order := cmp.Or(cmp.Compare(t.pods, best.pods), cmp.Compare(best.exits, t.exits), cmp.Compare(best.first.name, t.first.name))
		if best.pods == 0 || order > 0 {
			best = t
		}
	}
	return best.first, best.pods
}

func (s served) finding(at endpoint, most string, pods int) validate.Finding {
	text := fmt.Sprintf("the pod serves model %q, but %s %q; one endpoint serves one model: a worker with another"+
		" exits without an error and restarts for ever", s.model.name, peers(pods, at), most)
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
