// Package objects finds the Kubernetes objects of a document and the pod templates in them.
package objects

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dynawire/dynawire/internal/cli/manifest"
	"github.com/dynawire/dynawire/internal/workload"
)

// Object is one Kubernetes object; a list is the objects in it.
type Object struct {
	APIVersion, Kind, Name, Namespace string
	// Node is the object's mapping.
	Node *yaml.Node
	// Templates are its pod templates, a Pod itself among them; none in an object that makes no pods.
	Templates []Template
}

// String is "Kind/name".
func (o *Object) String() string { return o.Kind + "/" + o.Name }

// Template is a pod template.
type Template = workload.Template[*yaml.Node]

// nodes reads a document's tree.
var nodes = workload.Tree[*yaml.Node]{
	Member: func(n *yaml.Node, name string) (*yaml.Node, bool) {
		member := manifest.Get(n, name)
		return member, member != nil
	},
	Items: func(n *yaml.Node) []*yaml.Node {
		if n.Kind != yaml.SequenceNode {
			return nil
		}
		return n.Content
	},
	IsObject: func(n *yaml.Node) bool { return n.Kind == yaml.MappingNode },
}

// Objects are the objects below root, which is a document's mapping; lists are opened. What is no object is an error that
// names the place in d.
func Objects(d *manifest.Document, root *yaml.Node) ([]Object, error) {
	return objects(nil, d, root, "")
}

func objects(all []Object, d *manifest.Document, n *yaml.Node, kindOfList string) ([]Object, error) {
	if n.Kind != yaml.MappingNode {
		return nil, d.Errorf(n, "", "an item of the list is no object: want one with apiVersion and kind; remove what is no object")
	}
	kindNode := manifest.Get(n, "kind")
	kind := manifest.Text(kindNode)
	if kind != "" && kindNode.ShortTag() != "!!str" {
		return nil, d.Errorf(kindNode, "", "kind: %s is no string; put it in quotes", kind)
	}
	if kind == "" {
		kind = kindOfList // the API leaves it out in a PodList
	}
	if kind == "" {
		return nil, d.Errorf(n, "", "kind is missing: this is no Kubernetes object; leave the file out, or add kind and apiVersion")
	}
	if items := manifest.Get(n, "items"); strings.HasSuffix(kind, "List") && items != nil {
		if items.Kind != yaml.SequenceNode {
			if items.Kind == yaml.ScalarNode && manifest.Text(items) == "" {
				return all, nil
			}
			return nil, d.Errorf(items, kind, "items is no list, want one of objects; put a \"-\" in front of each")
		}
		var err error
		for _, item := range items.Content {
			if all, err = objects(all, d, item, strings.TrimSuffix(kind, "List")); err != nil {
				return nil, err
			}
		}
		return all, nil
	}
	o := Object{Kind: kind, Node: n, Name: nameOf(n), Namespace: manifest.Text(manifest.Get(n, "metadata", "namespace"))}
	o.APIVersion = manifest.Text(manifest.Get(n, "apiVersion"))
	o.Templates = nodes.Find(o.APIVersion, kind, n)
	return append(all, o), nil
}

// nameOf is the object's name, or the beginning of one.
func nameOf(n *yaml.Node) string {
	if name := manifest.Text(manifest.Get(n, "metadata", "name")); name != "" {
		return name
	}
	return manifest.Text(manifest.Get(n, "metadata", "generateName"))
}
