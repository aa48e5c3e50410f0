package wire

import (
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/dynawire/dynawire/internal/cli/manifest"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// element is a part of a pod template that may have been injected.
type element struct {
	// id names it in a note: "labels/…", "annotations/…", a field of the spec, or one of a container.
	id string
	// container is empty for what the pod as a whole has.
	container string
	// parent holds node: a key, or an item of a list.
	parent, node *yaml.Node
	value        *yaml.Node
}

// elements are those that a template has, in a fixed order.
func elements(template *yaml.Node) []element {
	var all []element
	add := func(container, prefix string, parent *yaml.Node, keys ...string) {
		for _, key := range keys {
			if node, value := member(parent, key); node != nil {
				all = append(all, element{prefix + key, container, parent, node, value})
			}
		}
	}
	add("", "labels/", manifest.Get(template, "metadata", "labels"), wiring.LabelNamespace, wiring.LabelComponent,
		wiring.LabelComponentType, wiring.LabelDiscoveryEnabled, wiring.LabelDiscoveryBackend)
	add("", "annotations/", manifest.Get(template, "metadata", "annotations"), wiring.AnnotationFrontendScope, wiring.AnnotationServiceAccount, wiring.AnnotationNamespaceAssumed)
	spec := manifest.Get(template, "spec")
	add("", "", spec, "serviceAccountName", "serviceAccount", "automountServiceAccountToken")
	names := map[string]int{}
	for _, list := range []string{"containers", "initContainers"} {
		containers := manifest.Get(spec, list)
		if containers == nil || containers.Kind != yaml.SequenceNode {
			continue
		}
		for _, c := range containers.Content {
			name := manifest.Text(manifest.Get(c, "name"))
			if names[name]++; name == "" || names[name] > 1 {
				name += "#" + strconv.Itoa(names[name]) // no valid pod, but told apart all the same
			}
			add(name, name+"/env/", manifest.Get(c, "env"), wiring.EnvPodName, wiring.EnvPodNamespace, wiring.EnvPodUID,
				wiring.EnvDiscoveryBackend, wiring.EnvNamespace, wiring.EnvNamespacePrefix, wiring.EnvComponent, wiring.EnvEndpoint,
				wiring.EnvSystemPort, wiring.EnvEndpointHealthStatus)
			add(name, name+"/ports/", manifest.Get(c, "ports"), wiring.SystemPortName, wiring.HTTPPortName)
			add(name, name+"/", c, "readinessProbe")
		}
	}
	return all
}

// member is a mapping's key and its value, or the item of a list that has the name, twice.
func member(n *yaml.Node, key string) (node, value *yaml.Node) {
	switch {
	case n == nil:
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				return n.Content[i], n.Content[i+1]
			}
		}
	case n.Kind == yaml.SequenceNode:
		for _, item := range n.Content {
			if manifest.Text(manifest.Get(item, "name")) != key {
				continue
			}
			if node != nil {
				return nil, nil // twice: the user's, for what has the name already gets no other
			}
			node = item
		}
		return node, node
	}
	return nil, nil
}

// strip takes elements out of a template, and the lists and mappings that have nothing left then.
func strip(template *yaml.Node, gone map[string]bool) {
	emptied := map[*yaml.Node]bool{}
	for _, e := range elements(template) {
		if gone[e.id] {
			remove(e.parent, e.node)
			emptied[e.parent] = len(e.parent.Content) == 0
		}
	}
	prune := func(parent *yaml.Node, key string) {
		if node, value := member(parent, key); value != nil && emptied[value] {
			remove(parent, node)
			emptied[parent] = len(parent.Content) == 0
		}
	}
	metadata, spec := manifest.Get(template, "metadata"), manifest.Get(template, "spec")
	prune(metadata, "labels")
	prune(metadata, "annotations")
	prune(template, "metadata")
	for _, list := range []string{"containers", "initContainers"} {
		if containers := manifest.Get(spec, list); containers != nil {
			for _, c := range containers.Content {
				prune(c, "env")
				prune(c, "ports")
			}
		}
	}
}

func remove(parent, node *yaml.Node) {
	i := slices.Index(parent.Content, node)
	switch {
	case i < 0:
	case parent.Kind == yaml.MappingNode:
		parent.Content = slices.Delete(parent.Content, i, i+2)
	default:
		parent.Content = slices.Delete(parent.Content, i, i+1)
	}
}

// same reports whether an element is as it is injected. The API server fills in defaults.
func same(injected, present *yaml.Node) bool {
	if injected.Kind != present.Kind {
		return false
	}
	switch injected.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(injected.Content); i += 2 {
			if value := manifest.Get(present, injected.Content[i].Value); value == nil || !same(injected.Content[i+1], value) {
				return false
			}
		}
		for i := 0; i+1 < len(present.Content); i += 2 {
			key, value := present.Content[i].Value, present.Content[i+1]
			if manifest.Get(injected, key) == nil && !isDefault(key, manifest.Text(value)) {
				return false
			}
		}
		return true
	case yaml.SequenceNode:
		return slices.EqualFunc(injected.Content, present.Content, same)
	case yaml.ScalarNode:
		return injected.Value == present.Value && injected.ShortTag() == present.ShortTag()
	}
	return false
}

func isDefault(key, value string) bool {
	switch key {
	case "apiVersion":
		return value == "v1"
	case "scheme":
		return value == "HTTP"
	case "protocol":
		return value == "TCP"
	case "successThreshold":
		return value == "1"
	}
	return false
}
