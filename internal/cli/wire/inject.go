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
	"github.com/dynawire/dynawire/pkg/validate"
)

// Inject wires the pod templates of a document.
func Inject(d *manifest.Document, o *Options) (Result, error) {
	known := notesOf(d)
	added := notes{}
	r, err := each(d, o, func(index int) transform {
		return func(n *yaml.Node, p *pod.Pod, ns namespace.Namespace, out *Outcome) error {
			result := mutate.Pod(p, o.mutation(p, ns).Options)
			out.Reason, out.Changes = result.Reason, len(result.Patch)
			out.judge(p, ns, result.Warnings)
			if out.Changes == 0 {
				return nil
			}
			before := elements(clone(n))
			if err := edit.Apply(n, result.Patch); err != nil {
				return err
			}
			if _, ok := known[index]; ok {
				return nil
			}
			own, err := ambiguous(n, before, o.mutation(p, ns))
			if len(own) > 0 {
				added[index] = own
			}
			return err
		}
	})
	if r.Changed && err == nil {
		r.Text = added.write(d, r.Text)
	}
	return r, err
}

// judge tells what the webhook would say about the pod.
func (o *Outcome) judge(p *pod.Pod, ns namespace.Namespace, warnings []string) {
	for _, f := range validate.Template(p, ns.Settings, o.Prefix) {
		if ns.Refuses(f) {
			o.Refusals = append(o.Refusals, f.String())
		} else {
			o.Warnings = append(o.Warnings, f.String())
		}
	}
	if o.Reason == identity.Wired {
		o.Warnings = append(append(o.Warnings, warnings...), ns.Warnings...)
	}
}

// ambiguous are the elements that Uninject would take for injected ones though the user had them. Of two
// that follow from each other, knowing one to be the user's makes the other one ambiguous.
func ambiguous(wired *yaml.Node, before []element, o mutation) ([]string, error) {
	after := map[string]*yaml.Node{}
	for _, e := range elements(wired) {
		after[e.id] = e.value
	}
	before = slices.DeleteFunc(before, func(e element) bool { return !same(e.value, after[e.id]) })
	var own []string
	for len(own) < len(before) {
		gone, err := injected(wired, own, o)
		if err != nil {
			return nil, err
		}
		known := len(own)
		for _, e := range before {
			if gone[e.id] {
				own = append(own, e.id)
			}
		}
		if len(own) == known {
			break
		}
	}
	return own, nil
}
