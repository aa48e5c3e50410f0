package validate_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"

	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/validate"
	"github.com/dynawire/dynawire/pkg/wiring"
)

func owner(name string) pod.OwnerReference {
	return pod.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: name, UID: "uid-" + name, Controller: true}
}

// workerMetadata is an object with owners; the first gives it its name.
func workerMetadata(owners ...pod.OwnerReference) *validate.WorkerMetadata {
	m := &validate.WorkerMetadata{Metadata: pod.Metadata{Name: "a", OwnerReferences: owners}, Spec: jsontext.Value(`{"data":{}}`)}
	if len(owners) > 0 {
		m.Metadata.Name = owners[0].Name
	}
	return m
}

// says is an object with another spec.
func says(spec string, m *validate.WorkerMetadata) *validate.WorkerMetadata {
	m.Spec = jsontext.Value(spec)
	return m
}

func nameIs(name string, m *validate.WorkerMetadata) *validate.WorkerMetadata {
	m.Metadata.Name = name
	return m
}

func labelsAre(labels map[string]string, m *validate.WorkerMetadata) *validate.WorkerMetadata {
	m.Metadata.Labels = labels
	return m
}

func TestMetadataImpersonation(t *testing.T) {
	const account = "system:serviceaccount:llm:dynamo-discovery"
	byPod := func(name string, object, old *validate.WorkerMetadata) validate.MetadataWrite {
		return validate.MetadataWrite{Namespace: "llm", User: account, PodName: name, PodUID: "uid-" + name, Object: object, Old: old}
	}
	by := func(user string, object, old *validate.WorkerMetadata) validate.MetadataWrite {
		return validate.MetadataWrite{Namespace: "llm", User: user, Object: object, Old: old}
	}
	with := func(w validate.MetadataWrite, change func(*validate.MetadataWrite)) validate.MetadataWrite {
		change(&w)
		return w
	}
	engine := func(w *validate.MetadataWrite) { w.Containers = []string{"main", "engine-0"} }
	gone := func(w *validate.MetadataWrite) { w.Gone = true }
	recreated := pod.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "a", UID: "uid-of-before"}
	deployment := pod.OwnerReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "a", UID: "uid-a"}
	changed := `{"data":{"endpoints":{}}}`
	var all strings.Builder
	for _, tc := range []struct {
		name  string
		write validate.MetadataWrite
		// want is severity and field of each finding.
		want string
	}{
		{"another pod's", byPod("a", workerMetadata(owner("b")), nil), "deny metadata.ownerReferences[0] deny metadata.name"},
		{"another pod's, by its name", byPod("a", nameIs("b", workerMetadata(owner("a"))), nil), "deny metadata.name"},
		{"another pod's, by its owner", byPod("a", nameIs("a", workerMetadata(owner("b"))), nil), "deny metadata.ownerReferences[0]"},
		{"a pod of another time", byPod("a", workerMetadata(recreated), nil), "deny metadata.ownerReferences[0]"},
		{"no pod at all", byPod("a", workerMetadata(deployment), nil), "deny metadata.ownerReferences[0]"},
		{"nobody", byPod("a", workerMetadata(), nil), "deny metadata.ownerReferences"},
		{"two pods", byPod("a", workerMetadata(owner("a"), owner("b")), nil), "deny metadata.ownerReferences"},
		{"a pod that is gone creates it anew", with(byPod("a", workerMetadata(owner("a")), nil), gone), "deny metadata.ownerReferences"},
		{"a pod that is gone takes it from its successor", with(byPod("a", workerMetadata(owner("a")), workerMetadata(recreated)), gone), "deny metadata.ownerReferences"},
		{"no such container", with(byPod("a", nameIs("a-1", workerMetadata(owner("a"))), nil), engine), "deny metadata.name"},
		{"in another namespace", with(byPod("a", workerMetadata(owner("a")), nil), func(w *validate.MetadataWrite) { w.Namespace = "other" }), "deny metadata.namespace"},
		{"taken over", byPod("a", nameIs("a", workerMetadata(owner("a"))), nameIs("a", workerMetadata(owner("b")))), "deny metadata.ownerReferences[0]"},
		{"relabelled", byPod("a", labelsAre(map[string]string{wiring.LabelComponent: "x"}, workerMetadata(owner("b"))), workerMetadata(owner("b"))), "deny metadata.ownerReferences[0] deny metadata.name"},
		{"no bound token", by(account, workerMetadata(owner("b")), nil), "deny metadata.ownerReferences"},
		{"no bound token, no owner", by(account, workerMetadata(), nil), "deny metadata.ownerReferences"},
		{"half a bound token", with(byPod("a", workerMetadata(owner("a")), nil), func(w *validate.MetadataWrite) { w.PodUID = "" }), "deny metadata.ownerReferences"},
		{"a controller of another namespace", by("system:serviceaccount:kube-systems:x", workerMetadata(owner("b")), nil), "deny metadata.ownerReferences"},
		{"a person", by("alice", workerMetadata(owner("b")), nil), "warn metadata.ownerReferences"},
		{"a person changes it", by("alice", says(changed, workerMetadata(owner("b"))), workerMetadata(owner("b"))), "warn metadata.ownerReferences"},

		{"itself", byPod("a", workerMetadata(owner("a")), nil), ""},
		{"itself again", byPod("a", says(changed, workerMetadata(owner("a"))), workerMetadata(owner("a"))), ""},
		{"itself, recreated under its name", byPod("a", workerMetadata(owner("a")), workerMetadata(recreated)), ""},
		{"what a person made for it", byPod("a", workerMetadata(owner("a")), workerMetadata()), ""},
		{"one of its containers", with(byPod("a", nameIs("a-engine-0", workerMetadata(owner("a"))), nil), engine), ""},
		{"one of its containers, as far as is known", byPod("a", nameIs("a-engine-0", workerMetadata(owner("a"))), nil), ""},
		{"the garbage collector", by("system:serviceaccount:kube-system:generic-garbage-collector", workerMetadata(), workerMetadata(owner("b"))), ""},
		{"a controller manager without accounts", by("system:kube-controller-manager", workerMetadata(), workerMetadata(owner("b"))), ""},
		{"a label of one's own", by(account, labelsAre(map[string]string{"argocd": "x"}, workerMetadata(owner("b"))), workerMetadata(owner("b"))), ""},
		{"nothing new about a wrong one", byPod("a", workerMetadata(owner("b"), owner("c")), workerMetadata(owner("b"), owner("c"))), ""},
	} {
		var got []string
		for _, f := range tc.write.Findings() {
			assert.Equal(t, validate.RuleMetadataImpersonation, f.Rule)
			got = append(got, string(f.Severity), f.Field)
			all.WriteString(tc.name + "\n  " + f.String() + "\n")
		}
		assert.Equal(t, tc.want, strings.Join(got, " "), tc.name)
	}
	golden(t, "metadata-impersonation.txt", all.String())
}
