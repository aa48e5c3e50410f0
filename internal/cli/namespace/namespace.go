// Package namespace knows what the Namespaces of pods say about them, without a cluster: from flags and from the Namespaces
// among the files.
package namespace

import (
	"fmt"
	"maps"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dynawire/dynawire/internal/cli/manifest"
	"github.com/dynawire/dynawire/internal/cli/workload"
	"github.com/dynawire/dynawire/pkg/validate"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// Namespace is what one Namespace says.
type Namespace struct {
	Settings wiring.Settings
	// Warnings are about annotations that cannot be read, and an opt-in that is missing.
	Warnings []string
}

// Refuses reports whether a finding has the webhook refuse the object; under warn and audit nothing does.
func (n Namespace) Refuses(f validate.Finding) bool {
	mode := n.Settings.Validation
	return f.Severity == validate.Deny && (mode == "" || mode == wiring.Enforce)
}

// Namespaces are the Namespaces that are known.
type Namespaces struct {
	fallback Namespace
	named    map[string]Namespace
}

// New knows nothing but the annotations of the Namespace that pods go to unless one of their own is known.
func New(annotations map[string]string) *Namespaces {
	settings, warnings := wiring.SettingsOf(annotations)
	return &Namespaces{fallback: Namespace{settings, warnings}, named: map[string]Namespace{}}
}

// Of is the Namespace of an object that says it is in name, which may be empty.
func (n *Namespaces) Of(name string) Namespace {
	if ns, ok := n.named[name]; ok {
		return ns
	}
	return n.fallback
}

// Add learns from the Namespaces among objects.
func (n *Namespaces) Add(objects []workload.Object) {
	for i := range objects {
		o := &objects[i]
		if o.Kind != "Namespace" || o.Name == "" {
			continue
		}
		settings, warnings := wiring.SettingsOf(texts(o.Node, "annotations"))
		if texts(o.Node, "labels")[wiring.LabelDiscoveryEnabled] != "true" {
			warnings = append(warnings, fmt.Sprintf("Namespace %s has no label %s=true: the webhook leaves its pods alone", o.Name, wiring.LabelDiscoveryEnabled))
		}
		n.named[o.Name] = Namespace{settings, warnings}
	}
}

// Annotations are those of the flags: the Namespace in a file, and single ones, which count more.
func Annotations(file string, single []string) (map[string]string, error) {
	all := map[string]string{}
	if file != "" {
		found, err := fromFile(file)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, found)
	}
	for _, pair := range single {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("annotation %q is not KEY=VALUE", pair)
		}
		all[key] = value
	}
	return all, nil
}

func fromFile(name string) (map[string]string, error) {
	input := manifest.Files{Names: []string{name}}
	files, err := input.Read()
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		for i := range file.Documents {
			_, objects, err := workload.Open(&file.Documents[i])
			if err != nil {
				return nil, err
			}
			for j := range objects {
				if objects[j].Kind == "Namespace" {
					return texts(objects[j].Node, "annotations"), nil
				}
			}
		}
	}
	return nil, fmt.Errorf("%s: no Namespace in this file", name)
}

// texts is a map of the object's metadata.
func texts(object *yaml.Node, key string) map[string]string {
	found := map[string]string{}
	if n := manifest.Get(object, "metadata", key); n != nil && n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			found[n.Content[i].Value] = manifest.Text(n.Content[i+1])
		}
	}
	return found
}
