package check

import (
	"github.com/go-json-experiment/json"

	"github.com/dynawire/dynawire/internal/cli/manifest"
	"github.com/dynawire/dynawire/internal/cli/namespace"
	"github.com/dynawire/dynawire/internal/cli/objects"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/validate"
)

// Document judges every object of a document, in order. warnings are about its Namespaces.
func Document(d *manifest.Document, namespaces *namespace.Namespaces) (found []Object, warnings []string, err error) {
	_, all, err := objects.Open(d)
	if err != nil {
		return nil, nil, err
	}
	for i := range all {
		o := &all[i]
		s, err := read(d, o)
		if err != nil {
			return nil, nil, err
		}
		ns := namespaces.Of(o.Namespace)
		judged := judge(s, ns)
		if judged.Skipped == "" {
			warnings = append(warnings, ns.Warnings...)
		}
		judged.File, judged.Line = d.File, d.LineOf(o.Node)
		for j := range judged.Findings {
			judged.Findings[j].Line = d.LineOf(objects.Locate(o.Node, judged.Findings[j].Field))
		}
		found = append(found, judged)
	}
	return found, warnings, nil
}

func read(d *manifest.Document, o *objects.Object) (*subject, error) {
	s := &subject{kind: o.Kind, name: o.Name, namespace: o.Namespace}
	for i := range o.Templates {
		p, err := o.Decode(d, &o.Templates[i])
		if err != nil {
			return nil, err
		}
		s.templates = append(s.templates, template{o.Templates[i].Prefix, p})
	}
	if isService(o.APIVersion, o.Kind) {
		s.service = new(validate.Service)
		return s, o.Read(d, s.service)
	}
	return s, nil
}

// isService leaves out those of other groups: Knative has some.
func isService(apiVersion, kind string) bool {
	return kind == "Service" && (apiVersion == "" || apiVersion == "v1")
}

// decode reads a Service as the API server sends it.
func decode(data []byte) (*validate.Service, error) {
	s := new(validate.Service)
	return s, json.Unmarshal(data, s, pod.Options)
}
