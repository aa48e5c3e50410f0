// Package workload finds the objects of a document and the pod templates in them.
package workload

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dynawire/dynawire/internal/cli/manifest"
)

// Object is one Kubernetes object; a list is the objects in it.
type Object struct {
	Kind, Name, Namespace string
	// Node is the object's mapping.
	Node *yaml.Node
	// Templates are its pod templates, a Pod itself among them; none in an object that makes no pods.
	Templates []Template
}

// String is "Kind/name".
func (o *Object) String() string { return o.Kind + "/" + o.Name }

// Template is a pod template.
type Template struct {
	Node *yaml.Node
	// Prefix is where it lies in the object, as "spec.template."; empty for a Pod.
	Prefix string
}

// templates is where the kinds keep their pod templates. "*" stands for every element of a list.
func templates(kind string) []string {
	switch kind {
	case "Pod":
		return []string{""}
	case "PodTemplate":
		return []string{"template"}
	case "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job":
		return []string{"spec.template"}
	case "CronJob":
		return []string{"spec.jobTemplate.spec.template"}
	case "LeaderWorkerSet":
		return []string{"spec.leaderWorkerTemplate.leaderTemplate", "spec.leaderWorkerTemplate.workerTemplate"}
	case "JobSet":
		return []string{"spec.replicatedJobs.*.template.spec.template"}
	}
	return nil
}

// Objects are the objects below root, which is a document's mapping; lists are opened. What is no object is an error that
// names the place in d.
func Objects(d *manifest.Document, root *yaml.Node) ([]Object, error) {
	return objects(nil, d, root, "")
}

func objects(all []Object, d *manifest.Document, n *yaml.Node, kindOfList string) ([]Object, error) {
	if n.Kind != yaml.MappingNode {
		return nil, d.Errorf(n, "", "an item of a list is no object")
	}
	kind := manifest.Text(manifest.Get(n, "kind"))
	if kind == "" {
		kind = kindOfList // the API leaves it out in a PodList
	}
	if kind == "" {
		return nil, d.Errorf(n, "", "kind is missing: this is no Kubernetes object")
	}
	if items := manifest.Get(n, "items"); strings.HasSuffix(kind, "List") && items != nil {
		if items.Kind != yaml.SequenceNode {
			if items.Kind == yaml.ScalarNode && manifest.Text(items) == "" {
				return all, nil
			}
			return nil, d.Errorf(items, kind, "items is no list")
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
	for _, path := range templates(kind) {
		o.Templates = find(o.Templates, n, "", path)
	}
	return append(all, o), nil
}

// nameOf is the object's name, or the beginning of one.
func nameOf(n *yaml.Node) string {
	if name := manifest.Text(manifest.Get(n, "metadata", "name")); name != "" {
		return name
	}
	return manifest.Text(manifest.Get(n, "metadata", "generateName"))
}

// find appends the templates at a path below n, which lies at prefix.
func find(all []Template, n *yaml.Node, prefix, path string) []Template {
	if path == "" {
		if n != nil && n.Kind == yaml.MappingNode {
			all = append(all, Template{Node: n, Prefix: prefix})
		}
		return all
	}
	part, rest, _ := strings.Cut(path, ".")
	if part != "*" {
		return find(all, manifest.Get(n, part), prefix+part+".", rest)
	}
	if n == nil || n.Kind != yaml.SequenceNode {
		return all
	}
	for i, item := range n.Content {
		all = find(all, item, strings.TrimSuffix(prefix, ".")+"["+strconv.Itoa(i)+"].", rest)
	}
	return all
}
