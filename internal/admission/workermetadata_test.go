package admission_test

import (
	"encoding/json"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/dynawire/dynawire/pkg/wiring"
)

// workerMetadata is what the pod of that name, with UID uid-NAME, writes about itself.
func workerMetadata(name string, change ...func(object)) object {
	o := object{
		"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoWorkerMetadata",
		"metadata": object{"namespace": "llm", "name": name, "ownerReferences": []object{
			{"apiVersion": "v1", "kind": "Pod", "name": name, "uid": "uid-" + name, "controller": true, "blockOwnerDeletion": false},
		}},
		"spec": object{"data": object{"endpoints": object{}, "model_cards": object{}}},
	}
	for _, f := range change {
		f(o)
	}
	return o
}

// named is the object of a container.
func named(name string) func(object) {
	return func(o object) { o["metadata"].(object)["name"] = name }
}

func labelled(labels object) func(object) {
	return func(o object) { o["metadata"].(object)["labels"] = labels }
}

func TestPodWritesAboutItself(t *testing.T) {
	for name, r := range map[string]*admissionv1.AdmissionRequest{
		"created":         requestAbout(workerMetadata("w"), asPod("w")),
		"updated":         requestAbout(workerMetadata("w"), asPod("w"), updateFrom(workerMetadata("w"))),
		"container mode":  requestAbout(workerMetadata("w", named("w-engine")), asPod("w")),
		"deleted":         requestAbout(workerMetadata("w"), asPod("v"), func(r *admissionv1.AdmissionRequest) { r.Operation = admissionv1.Delete }),
		"of another kind": requestAbout(service(), asPod("v")),
	} {
		t.Run(name, func(t *testing.T) {
			a, recorder := inMode(t, wiring.Enforce)
			a.Pods = fakePods{"llm/w/uid-w": {Containers: []string{"main", "engine"}}}
			a.Namespaces = unexpectedNamespaces{t}
			assert.Equal(t, &admissionv1.AdmissionResponse{UID: r.UID, Allowed: true}, ask(t, a.ValidateMetadata(), r))
			assert.Empty(t, recorder.verdicts)
		})
	}
}

// A pod that was deleted by force runs on for a while, and writes again what its successor of that name has replaced.
func TestPodThatIsGoneWrites(t *testing.T) {
	a, recorder := inMode(t, wiring.Enforce)
	a.Pods = fakePods{"llm/w/another": {}}
	for name, r := range map[string]*admissionv1.AdmissionRequest{
		"anew":           requestAbout(workerMetadata("w"), asPod("w")),
		"over another's": requestAbout(workerMetadata("w"), asPod("w"), updateFrom(workerMetadata("w", ownedBy("another")))),
	} {
		got := ask(t, a.ValidateMetadata(), r)
		require.False(t, got.Allowed, name)
		assert.Contains(t, got.Result.Message, "that pod is gone")
	}
	got := ask(t, a.ValidateMetadata(), requestAbout(workerMetadata("w"), asPod("w"), updateFrom(workerMetadata("w", ownedBy("uid-w")))))
	assert.True(t, got.Allowed, "what is its own already goes with it")
	assert.Len(t, recorder.verdicts, 2)
}

// ownedBy is the object with another UID in its owner reference.
func ownedBy(uid string) func(object) {
	return func(o object) { o["metadata"].(object)["ownerReferences"].([]object)[0]["uid"] = uid }
}

func TestPodWritesAboutAnother(t *testing.T) {
	for name, tc := range map[string]struct {
		r      *admissionv1.AdmissionRequest
		fields []string
	}{
		"its object":      {requestAbout(workerMetadata("w"), asPod("v")), []string{"metadata.ownerReferences[0]", "metadata.name"}},
		"its name":        {requestAbout(workerMetadata("w", named("v")), asPod("w")), []string{"metadata.name"}},
		"a name like its": {requestAbout(workerMetadata("w", named("w-0")), asPod("w")), []string{"metadata.name"}},
		"no pod":          {requestAbout(workerMetadata("w"), asAccount), []string{"metadata.ownerReferences"}},
	} {
		t.Run(name, func(t *testing.T) {
			a, recorder := inMode(t, wiring.Enforce)
			a.Pods = fakePods{"llm/w/uid-w": {Containers: []string{"main", "engine"}}}
			r := ask(t, a.ValidateMetadata(), tc.r)
			require.False(t, r.Allowed)
			assert.EqualValues(t, 422, r.Result.Code)
			assert.Equal(t, "nvidia.com", r.Result.Details.Group)
			assert.Equal(t, "DynamoWorkerMetadata", r.Result.Details.Kind)
			var fields []string
			for _, c := range r.Result.Details.Causes {
				assert.Contains(t, c.Message, "[metadata-impersonation]")
				fields = append(fields, c.Field)
			}
			assert.Equal(t, tc.fields, fields)
			require.Len(t, recorder.verdicts, 1)
			assert.True(t, recorder.verdicts[0].Refused)
			assert.Equal(t, "nvidia.com/v1alpha1", recorder.verdicts[0].Object.APIVersion)
		})
	}
}

func TestAdministratorIsLetInAndRecorded(t *testing.T) {
	a, recorder := inMode(t, wiring.Enforce)
	r := ask(t, a.ValidateMetadata(), requestAbout(workerMetadata("w")))
	assert.True(t, r.Allowed)
	require.Len(t, r.Warnings, 2)
	assert.Contains(t, r.Warnings[1], `user "alice" writes it`)
	require.Len(t, recorder.verdicts, 1)
	assert.False(t, recorder.verdicts[0].Refused)
	assert.Equal(t, "metadata-impersonation", r.AuditAnnotations["findings"])
}

func TestMetadataByMode(t *testing.T) {
	for mode, warnings := range map[wiring.Mode]int{wiring.Warn: 3, wiring.Audit: 0} {
		a, recorder := inMode(t, mode)
		r := ask(t, a.ValidateMetadata(), requestAbout(workerMetadata("w"), asPod("v")))
		assert.True(t, r.Allowed)
		assert.Len(t, r.Warnings, warnings)
		assert.Len(t, recorder.verdicts, 1)
	}
}

// What the API server does not say in its own words is not a pod.
func TestOddUserInfo(t *testing.T) {
	for name, extra := range map[string]string{
		"two names": `{"authentication.kubernetes.io/pod-name":["w","v"],"authentication.kubernetes.io/pod-uid":["uid-w"]}`,
		"no uid":    `{"authentication.kubernetes.io/pod-name":["w"]}`,
		"null":      `null`,
		"empty":     `{}`,
		"escaped":   `{"authentication.kubernetes.io\/pod-name":["w"],"authentication.kubernetes.io\/pod-uid":["uid-w"]}`,
	} {
		t.Run(name, func(t *testing.T) {
			raw, err := json.Marshal(workerMetadata("w"))
			require.NoError(t, err)
			a := newAdmission(t)
			w := post(a.ValidateMetadata(), "application/json", `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1",
				"kind":{"group":"nvidia.com","version":"v1alpha1","kind":"DynamoWorkerMetadata"},"operation":"CREATE","namespace":"llm",
				"userInfo":{"username":"system:serviceaccount:llm:a","extra":`+extra+`},"object":`+string(raw)+`}}`)
			require.Equal(t, 200, w.Code, w.Body.String())
			assert.Contains(t, w.Body.String(), "bound to no pod")
		})
	}
}

var decodeLabels = map[string]string{wiring.LabelNamespace: "team-a", wiring.LabelComponent: "decode", wiring.LabelComponentType: "worker"}

func TestMetadataIsLabelledAsItsPod(t *testing.T) {
	for name, tc := range map[string]struct {
		object, want object
	}{
		"no labels":    {workerMetadata("w"), object{wiring.LabelNamespace: "team-a", wiring.LabelComponent: "decode", wiring.LabelComponentType: "worker"}},
		"other labels": {workerMetadata("w", labelled(object{"a": "b", wiring.LabelComponent: "prefill"})), object{"a": "b", wiring.LabelNamespace: "team-a", wiring.LabelComponent: "decode", wiring.LabelComponentType: "worker"}},
		"container":    {workerMetadata("w", named("w-engine")), object{wiring.LabelNamespace: "team-a", wiring.LabelComponent: "decode", wiring.LabelComponentType: "worker"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAdmission(t)
			a.Pods = fakePods{"llm/w/uid-w": {Labels: decodeLabels, Containers: []string{"engine"}}}
			req := requestAbout(tc.object, asPod("w"))
			r := ask(t, a.MutateMetadata(), req)
			require.True(t, r.Allowed)
			patch, err := jsonpatch.DecodePatch(r.Patch)
			require.NoError(t, err)
			raw, err := patch.Apply(req.Object.Raw)
			require.NoError(t, err)
			var got object
			require.NoError(t, json.Unmarshal(raw, &got))
			assert.Equal(t, tc.want, got["metadata"].(object)["labels"])

			// Twice is once.
			again := ask(t, a.MutateMetadata(), requestAbout(got, asPod("w"), updateFrom(got)))
			assert.Empty(t, again.Patch)
		})
	}
}

func TestMetadataThatIsNotLabelled(t *testing.T) {
	for name, r := range map[string]*admissionv1.AdmissionRequest{
		"of another pod":        requestAbout(workerMetadata("w"), asPod("v")),
		"written by no pod":     requestAbout(workerMetadata("w"), asAccount),
		"by a person":           requestAbout(workerMetadata("w")),
		"of a pod that is gone": requestAbout(workerMetadata("x"), asPod("x")),
	} {
		t.Run(name, func(t *testing.T) {
			a := newAdmission(t)
			a.Pods = fakePods{"llm/w/uid-w": {Labels: decodeLabels}, "llm/v/uid-v": {Labels: decodeLabels}}
			assert.Equal(t, &admissionv1.AdmissionResponse{UID: r.UID, Allowed: true}, ask(t, a.MutateMetadata(), r))
		})
	}
	t.Run("namespace without label", func(t *testing.T) {
		a := newAdmission(t)
		a.Namespaces, a.Pods = fakeNamespaces{}, fakePods{"llm/w/uid-w": {Labels: decodeLabels}}
		assert.Empty(t, ask(t, a.MutateMetadata(), requestAbout(workerMetadata("w"), asPod("w"))).Patch)
	})
}
