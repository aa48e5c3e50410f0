// Package namespace knows what the Namespaces of pods say about them, without a cluster: from flags and from the Namespaces
// among the files.
package namespace

import (
	"fmt"
	"maps"
	"strings"

	"github.com/dynawire/dynawire/internal/cli/manifest"
	"github.com/dynawire/dynawire/internal/cli/objects"
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
	return validate.Action(f, n.Settings) == wiring.ActionDeny
}

// Namespaces are the Namespaces that are known.
type Namespaces struct {
	fallback Namespace
	named    map[string]Namespace
}

// Read reads the annotations of a Namespace.
func Read(annotations map[string]string) Namespace {
	settings, warnings := wiring.SettingsOf(annotations)
	return Namespace{settings, append(warnings, validate.CheckSettings(settings)...)}
}

// New knows nothing but the annotations of the Namespace that pods go to unless one of their own is known.
func New(annotations map[string]string) *Namespaces {
	return &Namespaces{fallback: Read(annotations), named: map[string]Namespace{}}
}

// Of is the Namespace of an object that says it is in name, which may be empty.
func (n *Namespaces) Of(name string) Namespace {
	if ns, ok := n.named[name]; ok {
		return ns
	}
	return n.fallback
}

// Add learns from the Namespaces among the objects of a document.
func (n *Namespaces) Add(d *manifest.Document, all []objects.Object) error {
	for i := range all {
		o := &all[i]
		if o.Kind != kind || o.Name == "" {
			continue
		}
		m, err := o.Metadata(d)
		if err != nil {
			return err
		}
		ns := Read(m.Annotations)
		if m.Labels[wiring.LabelDiscoveryEnabled] != "true" {
			ns.Warnings = append(ns.Warnings, fmt.Sprintf("Namespace %s has no label %s=true: the webhook leaves its pods alone", o.Name, wiring.LabelDiscoveryEnabled))
		}
		n.named[o.Name] = ns
	}
	return nil
}

const kind = "Namespace"

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
			d := &file.Documents[i]
			_, all, err := objects.Open(d)
			if err != nil {
				return nil, err
			}
			for j := range all {
				if all[j].Kind == kind {
					m, err := all[j].Metadata(d)
					return m.Annotations, err
				}
			}
		}
	}
	return nil, fmt.Errorf("%s: no Namespace in this file", name)
}
