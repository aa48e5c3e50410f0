package admission

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/dynawire/dynawire/internal/admission/review"
	"github.com/dynawire/dynawire/internal/workload"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/validate"
)

// objectOnly is an object of which only the metadata is read.
type objectOnly struct {
	Metadata pod.Metadata `json:"metadata"`
}

// validateWorkload tells whoever applies a workload what is wrong with its pods. It refuses nothing: a workload may come
// before what makes it right, and its pods are judged when they are made.
func (a *Admission) validateWorkload(ctx context.Context, r *review.Request[jsontext.Value]) (answer, error) {
	if !r.Writes() || r.Object == nil {
		return allow(reasonNotServed), nil
	}
	ns, out, err := a.namespace(ctx, r.Namespace)
	if err != nil || !ns.OptedIn {
		return out, err
	}
	var object objectOnly
	if err := json.Unmarshal(*r.Object, &object, pod.Options); err != nil {
		return answer{}, badObject(&r.Head, err)
	}
	if isControlled(&object.Metadata) {
		return allow(reasonControlled), nil
	}
	templates := newTemplates(r)
	if len(templates) == 0 {
		return allow(reasonUnchanged), nil
	}
	j := judged{Head: &r.Head, metadata: &object.Metadata, advisory: true}
	for _, t := range templates {
		p, err := pod.Decode(t.Node)
		if err != nil {
			return answer{}, badObject(&r.Head, fmt.Errorf("%s: %w", t.Prefix, err))
		}
		p.Metadata.Name = "" // a template's counts for nothing
		j.findings = append(j.findings, validate.Template(podOf(&r.Head, p), ns.Settings, t.Prefix)...)
	}
	return a.conclude(j, ns), nil
}

// isControlled is whether a controller made the object: nobody reads its warnings, and where its own workload is judged
// they would say everything twice.
func isControlled(m *pod.Metadata) bool {
	return slices.ContainsFunc(m.OwnerReferences, func(o pod.OwnerReference) bool { return o.Controller })
}

// template is a pod template in the JSON of a workload.
type template = workload.Template[jsontext.Value]

// newTemplates are the templates that a request brings. Scaling a workload says nothing new; whoever changes its template
// is told all that is wrong with it, since all of its pods are made anew. The API server writes both objects in the same
// way, so equal templates are equal bytes.
func newTemplates(r *review.Request[jsontext.Value]) []template {
	find := func(object jsontext.Value) []template {
		return workload.JSON.Find(r.Kind.APIVersion(), r.Kind.Kind, object)
	}
	templates := find(*r.Object)
	if r.Operation != review.Update || r.OldObject == nil {
		return templates
	}
	old := find(*r.OldObject)
	return slices.DeleteFunc(templates, func(t template) bool {
		return slices.ContainsFunc(old, func(o template) bool { return o.Prefix == t.Prefix && bytes.Equal(o.Node, t.Node) })
	})
}

// badObject is an object that is not what its kind says: whoever called is at fault, not this server.
func badObject(r *review.Head, err error) error {
	return &httpError{http.StatusBadRequest, fmt.Errorf("read %s %s: %w", r.Kind.Kind, r.Name, err)}
}
