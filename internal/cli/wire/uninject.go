package wire

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/dynawire/dynawire/internal/cli/edit"
	"github.com/dynawire/dynawire/internal/cli/manifest"
	"github.com/dynawire/dynawire/internal/cli/namespace"
	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/mutate"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// Uninject takes out of the pod templates what Inject puts in. What the pod would not get again in the same form is the
// user's, and stays; so does what Inject noted to have been there before, and a template that is not wired completely.
func Uninject(d *manifest.Document, o *Options) (Result, error) {
	known := notesOf(d)
	r, err := each(d, o, func(index int) transform {
		return func(n *yaml.Node, p *pod.Pod, ns namespace.Namespace, out *Outcome) error {
			now := mutate.Pod(p, o.mutation(p, ns).Options)
			out.Reason = now.Reason
			own, noted := known[index]
			if now.Reason != identity.Wired {
				return nil
			}
			if len(now.Patch) > 0 && !noted {
				out.Incomplete = true
				return nil
			}
			gone, err := injected(n, own, o.mutation(p, ns))
			if err != nil {
				return err
			}
			strip(n, gone)
			out.Changes = len(gone)
			return nil
		}
	})
	if r.Changed && err == nil {
		r.Text = known.erase(r.Text)
	}
	return r, err
}

// injected are the elements of a template without which Inject would make the same of it. own are left out. What
// containers have goes first, for it follows from what the pod as a whole has.
func injected(template *yaml.Node, own []string, o mutation) (map[string]bool, error) {
	whole, err := without(template, nil, o)
	if err != nil {
		return nil, err
	}
	want := elements(whole)
	gone, err := together(template, want, own, o, false)
	if err != nil {
		return nil, err
	}
	present := elements(template)
	if len(gone)+len(own) < len(present) {
		other, err := together(template, want, own, o, true)
		if err != nil {
			return nil, err
		}
		if len(other) > len(gone) {
			gone = other
		}
	}
	for _, unit := range units(present) {
		if slices.ContainsFunc(unit, func(id string) bool { return gone[id] || slices.Contains(own, id) }) {
			continue
		}
		for _, id := range unit {
			gone[id] = true
		}
		again, err := without(template, gone, o)
		if err != nil {
			return nil, err
		}
		if !sameElements(elements(again), want) {
			for _, id := range unit {
				delete(gone, id)
			}
		}
	}
	return gone, nil
}

// units are the elements one by one, and then an assumed namespace with the annotation that tells of it: each makes the other.
func units(all []element) [][]string {
	var out [][]string
	for _, e := range inOrder(all) {
		out = append(out, []string{e.id})
	}
	for _, e := range all {
		if e.id == "annotations/"+wiring.AnnotationNamespaceAssumed {
			out = append(out, []string{e.id, manifest.Text(e.value) + "/env/" + wiring.EnvNamespace})
		}
	}
	return out
}

// together are elements that Inject makes only of one another, so that none could go alone: it begins with all, and leaves
// those that do not come again: the pod's before the containers', or the other way round, for either may bring the other.
func together(template *yaml.Node, want []element, own []string, o mutation, containersFirst bool) (map[string]bool, error) {
	gone := map[string]bool{}
	for _, e := range elements(template) {
		if !slices.Contains(own, e.id) {
			gone[e.id] = true
		}
	}
	for {
		again, err := without(template, gone, o)
		if err != nil {
			return nil, err
		}
		made := map[string]*yaml.Node{}
		for _, e := range elements(again) {
			made[e.id] = e.value
		}
		var first, second []string
		for _, e := range want {
			switch value := made[e.id]; {
			case !gone[e.id] || value != nil && same(e.value, value):
			case (e.container != "") == containersFirst:
				first = append(first, e.id)
			default:
				second = append(second, e.id)
			}
		}
		if len(first) == 0 {
			first = second
		}
		if len(first) == 0 && !sameElements(elements(again), want) {
			if !gone["serviceAccountName"] {
				return map[string]bool{}, nil // something else comes instead
			}
			first = []string{"serviceAccountName"} // without it, the deprecated field comes too
		}
		if len(first) == 0 {
			return gone, nil
		}
		for _, id := range first {
			delete(gone, id)
		}
	}
}

// without is what Inject makes of a template that lacks some elements.
func without(template *yaml.Node, gone map[string]bool, o mutation) (*yaml.Node, error) {
	bare := clone(template)
	strip(bare, gone)
	return bare, inject(bare, o)
}

func inOrder(all []element) []element {
	slices.SortStableFunc(all, func(a, b element) int {
		switch {
		case a.container != "" && b.container == "":
			return -1
		case a.container == "" && b.container != "":
			return 1
		}
		return 0
	})
	return all
}

// sameElements reports whether two templates have the same elements.
func sameElements(got, want []element) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		if got[i].id != want[i].id || !same(got[i].value, want[i].value) {
			return false
		}
	}
	return true
}

// inject wires a template.
func inject(n *yaml.Node, o mutation) error {
	data, err := manifest.ToJSON(n, "")
	if err != nil {
		return err
	}
	p, err := pod.Decode(data)
	if err != nil {
		return err
	}
	p.Metadata.Name, p.Metadata.Namespace = o.name, o.namespace
	return edit.Apply(n, mutate.Pod(p, o.Options).Patch)
}

func clone(n *yaml.Node) *yaml.Node {
	c := *n
	c.Content = make([]*yaml.Node, len(n.Content))
	for i := range n.Content {
		c.Content[i] = clone(n.Content[i])
	}
	return &c
}
