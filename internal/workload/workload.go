// Package workload knows where workloads keep their pod templates. It is pure, and needs none of the workloads' modules.
package workload

import (
	"strconv"
	"strings"
)

// place is where an object has a pod template: the members on the way down. A Pod's is empty: it is one itself.
type place []string

// each stands in a place for every element of a list.
const each = "*"

// kind is what is known of a kind. Where it has its templates is the same in all versions of its group.
type kind struct {
	group  string
	places []place
}

var inSpec = []place{{"spec", "template"}}

var kinds = map[string]kind{
	"Pod":                   {"", []place{{}}},
	"PodTemplate":           {"", []place{{"template"}}},
	"ReplicationController": {"", inSpec},
	"Deployment":            {"apps", inSpec},
	"StatefulSet":           {"apps", inSpec},
	"DaemonSet":             {"apps", inSpec},
	"ReplicaSet":            {"apps", inSpec},
	"Job":                   {"batch", inSpec},
	"CronJob":               {"batch", []place{{"spec", "jobTemplate", "spec", "template"}}},
	"LeaderWorkerSet": {"leaderworkerset.x-k8s.io", []place{
		{"spec", "leaderWorkerTemplate", "leaderTemplate"}, {"spec", "leaderWorkerTemplate", "workerTemplate"},
	}},
	"JobSet": {"jobset.x-k8s.io", []place{{"spec", "replicatedJobs", each, "template", "spec", "template"}}},
}

// known reports whether objects of a kind are pods or have pod templates. One without an apiVersion is taken for the one
// that is known; the same name in another group is another kind.
func known(apiVersion, name string) bool {
	k, ok := kinds[name]
	return ok && (apiVersion == "" || groupOf(apiVersion) == k.group)
}

// groupOf is "apps" of "apps/v1", and nothing of the core's "v1".
func groupOf(apiVersion string) string {
	group, _, ok := strings.Cut(apiVersion, "/")
	if !ok {
		return ""
	}
	return group
}

// Tree reads objects of a form: JSON, or the nodes of a YAML document. What is null, or of another type than asked for,
// counts as absent.
type Tree[N any] struct {
	// Member is a member of an object.
	Member func(n N, name string) (N, bool)
	// Items are the elements of a list.
	Items func(n N) []N
	// IsObject reports whether n is one.
	IsObject func(n N) bool
}

// Template is a pod template in an object.
type Template[N any] struct {
	Node N
	// Prefix before a field of the template makes it the object's: "spec.template."; nothing in a Pod.
	Prefix string
}

// Find finds the pod templates of an object in a fixed order; none where its kind is not known here. Those that are absent are
// passed over: a LeaderWorkerSet may do without a leader's.
func (t Tree[N]) Find(apiVersion, name string, object N) []Template[N] {
	if !known(apiVersion, name) {
		return nil
	}
	var all []Template[N]
	for _, p := range kinds[name].places {
		all = t.find(all, Template[N]{Node: object}, p)
	}
	return all
}

func (t Tree[N]) find(all []Template[N], at Template[N], rest place) []Template[N] {
	switch {
	case len(rest) == 0 && t.IsObject(at.Node):
		return append(all, at)
	case len(rest) == 0:
	case rest[0] == each:
		for i, item := range t.Items(at.Node) {
			prefix := strings.TrimSuffix(at.Prefix, ".") + "[" + strconv.Itoa(i) + "]."
			all = t.find(all, Template[N]{item, prefix}, rest[1:])
		}
	default:
		if member, ok := t.Member(at.Node, rest[0]); ok {
			all = t.find(all, Template[N]{member, at.Prefix + rest[0] + "."}, rest[1:])
		}
	}
	return all
}
