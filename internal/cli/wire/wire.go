// Package wire puts dynawire's wiring into manifests, and takes it out, with the core that the webhook has.
package wire

import (
	"go.yaml.in/yaml/v3"

	"github.com/dynawire/dynawire/internal/cli/edit"
	"github.com/dynawire/dynawire/internal/cli/manifest"
	"github.com/dynawire/dynawire/internal/cli/namespace"
	"github.com/dynawire/dynawire/internal/cli/objects"
	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/mutate"
	"github.com/dynawire/dynawire/pkg/pod"
)

// Options are what the wiring depends on besides the manifests.
type Options struct {
	Namespaces *namespace.Namespaces
	// ServiceAccount is given to pods that have none of their own; empty leaves them as they are.
	ServiceAccount string
}

// mutation is what the wiring of one template depends on.
type mutation struct {
	mutate.Options
	// name and namespace are those of its pods, as far as they are known.
	name, namespace string
}

func (o *Options) mutation(p *pod.Pod, ns namespace.Namespace) mutation {
	return mutation{mutate.Options{Namespace: ns.Settings, ServiceAccount: o.ServiceAccount}, p.Metadata.Name, p.Metadata.Namespace}
}

// Result is a document afterwards.
type Result struct {
	// Text is the document's text; the very same where nothing was changed.
	Text []byte
	// Root is its tree afterwards; nil where the document has no content.
	Root    *yaml.Node
	Changed bool
	// Outcomes are what happened to each pod template, and to each object without one.
	Outcomes []Outcome
}

// Outcome is what happened to a pod template.
type Outcome struct {
	// Object is "Kind/name"; Prefix is the template's place in it.
	Object, Prefix string
	Reason         identity.Reason
	// Changes is how many things were put in or taken out.
	Changes int
	// Incomplete: it is not wired as inject would, so that nothing was taken out.
	Incomplete bool
	// Refusals are what the webhook would refuse, Warnings what it would remark.
	Refusals, Warnings []string
}

// transform changes one pod template in place.
type transform func(n *yaml.Node, p *pod.Pod, ns namespace.Namespace, out *Outcome) error

// each runs a transformation over all pod templates of a document. index counts them from 1.
func each(d *manifest.Document, o *Options, change func(index int) transform) (Result, error) {
	var snapshot *edit.Snapshot
	if d.Root != nil {
		snapshot = edit.Take(d)
	}
	root, objects, err := objects.Open(d)
	r := Result{Text: d.Text, Root: root}
	if err != nil || root == nil {
		return r, err
	}
	index := 0
	for i := range objects {
		object := &objects[i]
		if len(object.Templates) == 0 {
			r.Outcomes = append(r.Outcomes, Outcome{Object: object.String(), Reason: identity.NotDynamo})
		}
		for j := range object.Templates {
			t := &object.Templates[j]
			index++
			p, err := object.Decode(d, t)
			if err != nil {
				return r, err
			}
			out := Outcome{Object: object.String(), Prefix: t.Prefix}
			if err := change(index)(t.Node, p, o.Namespaces.Of(object.Namespace), &out); err != nil {
				return r, d.Errorf(t.Node, object.String(), "%w", err)
			}
			r.Changed = r.Changed || out.Changes > 0
			r.Outcomes = append(r.Outcomes, out)
		}
	}
	if r.Changed {
		r.Text, err = snapshot.Text(root)
	}
	if err != nil {
		err = d.Errorf(nil, "", "%w", err)
	}
	return r, err
}
