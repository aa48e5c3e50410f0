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
)

// Uninject takes out of the pod templates what Inject puts in. What the pod would not get again in the same form is the
// user's, and stays; so does what Inject noted to have been there before, and a template that is not wired completely.
func Uninject(d *manifest.Document, o *Options) (Result, error) {
	known := notesOf(d)
	r, err := each(d, o, func(index int) transform {
		return func(n *yaml.Node, p *pod.Pod, ns namespace.Namespace, out *Outcome) error {
			now := mutate.Pod(p, o.mutation(ns))
			out.Reason = now.Reason
			own, noted := known[index]
			if now.Reason != identity.Wired {
				return nil
			}
			if len(now.Patch) > 0 && !noted {
				out.Incomplete = true
				return nil
			}
			gone, err := injected(n, own, o.mutation(ns))
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
func injected(template *yaml.Node, own []string, o mutate.Options) (map[string]bool, error) {
	whole := clone(template)
	if err := inject(whole, o); err != nil {
		return nil, err
	}
	want := elements(whole)
	gone := map[string]bool{}
	for _, e := range inOrder(elements(template)) {
		if gone[e.id] || slices.Contains(own, e.id) {
			continue
		}
		gone[e.id] = true
		bare := clone(template)
		strip(bare, gone)
		if err := inject(bare, o); err != nil {
			return nil, err
		}
		if !sameElements(elements(bare), want) {
			delete(gone, e.id)
		}
	}
	return gone, nil
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

func inject(n *yaml.Node, o mutate.Options) error {
	data, err := manifest.ToJSON(n, "")
	if err != nil {
		return err
	}
	p, err := pod.Decode(data)
	if err != nil {
		return err
	}
	return edit.Apply(n, mutate.Pod(p, o).Patch)
}

func clone(n *yaml.Node) *yaml.Node {
	c := *n
	c.Content = make([]*yaml.Node, len(n.Content))
	for i := range n.Content {
		c.Content[i] = clone(n.Content[i])
	}
	return &c
}
