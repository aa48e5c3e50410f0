// Package explain tells what is known about pods, what they would be given and what would be refused.
package explain

import (
	"gomodules.xyz/jsonpatch/v2"

	"github.com/dynawire/dynawire/internal/cli/manifest"
	"github.com/dynawire/dynawire/internal/cli/namespace"
	"github.com/dynawire/dynawire/internal/cli/objects"
	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/mutate"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/validate"
)

// Whether a pod is touched.
const (
	Touched = "touched"
	Skipped = "skipped"
)

// Entry is what is known about one object. Its JSON is the command line's contract.
type Entry struct {
	// Object is "Kind/name".
	Object string `json:"object"`
	// Template is where the pod template lies; only in objects that have several, which have an entry for each.
	Template string `json:"template,omitempty"`
	// Pod is Touched or Skipped.
	Pod string `json:"pod"`
	// Reason is why it is skipped.
	Reason string `json:"reason,omitempty"`
	// Identity is null where it is skipped.
	Identity *Identity `json:"identity"`
	// Deny and Warn are the ids of the rules, each once.
	Deny []string `json:"deny"`
	Warn []string `json:"warn"`
	// Messages are those of the rules, in their order, and what else there is to say.
	Messages []string `json:"messages"`
	// Patch is relative to the pod template.
	Patch []jsonpatch.Operation `json:"patch"`

	// sources are the identity with all that is known about it; prefix is where the template lies.
	sources  identity.Identity
	prefix   string
	findings []validate.Finding
	remarks  []string
}

// Identity is who the pods are; null is what the object does not say.
type Identity struct {
	Namespace *string `json:"namespace"`
	Component *string `json:"component"`
	Endpoint  *string `json:"endpoint"`
	Role      *string `json:"role"`
	How       How     `json:"how"`
}

// How is the source of each part.
type How struct {
	Namespace *string `json:"namespace"`
	Component *string `json:"component"`
	Endpoint  *string `json:"endpoint"`
	Role      *string `json:"role"`
}

// Document explains every object of a document, in order. account is what pods without one of their own are given.
func Document(d *manifest.Document, namespaces *namespace.Namespaces, account string) ([]Entry, error) {
	_, objects, err := objects.Open(d)
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for i := range objects {
		o := &objects[i]
		if len(o.Templates) == 0 {
			entries = append(entries, skipped(o, identity.NotDynamo))
		}
		for j := range o.Templates {
			t := &o.Templates[j]
			p, err := o.Decode(d, t)
			if err != nil {
				return nil, err
			}
			e := template(o, t, p, namespaces.Of(o.Namespace), account)
			if len(o.Templates) > 1 {
				e.Template = t.Prefix[:len(t.Prefix)-1]
			}
			entries = append(entries, e)
		}
	}
	return entries, nil
}

func skipped(o *objects.Object, why identity.Reason) Entry {
	return Entry{
		Object: o.String(), Pod: Skipped, Reason: string(why),
		Deny: []string{}, Warn: []string{}, Messages: []string{}, Patch: []jsonpatch.Operation{},
	}
}

func template(o *objects.Object, t *objects.Template, p *pod.Pod, ns namespace.Namespace, account string) Entry {
	result := mutate.Pod(p, mutate.Options{Namespace: ns.Settings, ServiceAccount: account})
	e := skipped(o, result.Reason)
	if result.Reason != identity.Wired {
		return e
	}
	id := &result.Identity
	e.Pod, e.Reason, e.sources, e.prefix = Touched, "", *id, t.Prefix
	e.Identity = &Identity{
		text(id.Namespace), text(id.Component), text(id.Endpoint), text(id.Role),
		How{how(id.Namespace), how(id.Component), how(id.Endpoint), how(id.Role)},
	}
	e.Patch = append(e.Patch, result.Patch...)
	e.judge(validate.Template(p, ns.Settings, t.Prefix), ns)
	e.remarks = append(append(e.remarks, result.Warnings...), ns.Warnings...)
	e.Messages = append(e.Messages, e.remarks...)
	return e
}

// judge sorts the findings.
func (e *Entry) judge(findings []validate.Finding, ns namespace.Namespace) {
	e.findings = findings
	seen := map[string]bool{}
	for _, f := range findings {
		e.Messages = append(e.Messages, f.String())
		switch {
		case seen[f.Rule]:
		case ns.Refuses(f):
			e.Deny = append(e.Deny, f.Rule)
		default:
			e.Warn = append(e.Warn, f.Rule)
		}
		seen[f.Rule] = true
	}
}

func text(v identity.Value) *string {
	if !v.Known() {
		return nil
	}
	return &v.Text
}

func how(v identity.Value) *string {
	if !v.Known() || v.How == "" {
		return nil
	}
	source := string(v.How)
	return &source
}
