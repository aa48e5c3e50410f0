package admission_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dynawire/dynawire/internal/admission"
	"github.com/dynawire/dynawire/pkg/wiring"
)

func meta(apiVersion, kind string) (metav1.TypeMeta, metav1.ObjectMeta) {
	return metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}, metav1.ObjectMeta{Namespace: "llm", Name: "w"}
}

// templateOf is what a workload makes a pod from.
func templateOf(p *corev1.Pod) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: p.Labels, Annotations: p.Annotations}, Spec: p.Spec}
}

func deployment(p *corev1.Pod) *appsv1.Deployment {
	d := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: templateOf(p)}}
	d.TypeMeta, d.ObjectMeta = meta("apps/v1", "Deployment")
	return d
}

func replicaSet(p *corev1.Pod) *appsv1.ReplicaSet {
	s := &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Template: templateOf(p)}}
	s.TypeMeta, s.ObjectMeta = meta("apps/v1", "ReplicaSet")
	return s
}

func cronJob(p *corev1.Pod) *batchv1.CronJob {
	j := &batchv1.CronJob{}
	j.TypeMeta, j.ObjectMeta = meta("batch/v1", "CronJob")
	j.Spec.JobTemplate.Spec.Template = templateOf(p)
	return j
}

type object = map[string]any

func custom(apiVersion, kind string, spec object) object {
	return object{"apiVersion": apiVersion, "kind": kind, "metadata": object{"namespace": "llm", "name": "w"}, "spec": spec}
}

func leaderWorkerSet(leader, worker *corev1.Pod) object {
	templates := object{"size": 2, "workerTemplate": templateOf(worker)}
	if leader != nil {
		templates["leaderTemplate"] = templateOf(leader)
	}
	return custom("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", object{"leaderWorkerTemplate": templates})
}

func jobSet(pods ...*corev1.Pod) object {
	var jobs []object
	for _, p := range pods {
		jobs = append(jobs, object{"name": "j", "template": object{"spec": object{"template": templateOf(p)}}})
	}
	return custom("jobset.x-k8s.io/v1alpha2", "JobSet", object{"replicatedJobs": jobs})
}

func TestTemplatesOfEveryKindAreJudged(t *testing.T) {
	bad := mocker(mismatched)
	inSpec := object{"template": templateOf(bad)}
	for name, tc := range map[string]struct {
		object any
		at     string
	}{
		"Deployment":                   {deployment(bad), "spec.template."},
		"ReplicaSet":                   {replicaSet(bad), "spec.template."},
		"StatefulSet":                  {custom("apps/v1", "StatefulSet", inSpec), "spec.template."},
		"DaemonSet":                    {custom("apps/v1", "DaemonSet", inSpec), "spec.template."},
		"Job":                          {custom("batch/v1", "Job", inSpec), "spec.template."},
		"CronJob":                      {cronJob(bad), "spec.jobTemplate.spec.template."},
		"ReplicationController":        {custom("v1", "ReplicationController", inSpec), "spec.template."},
		"LeaderWorkerSet, the leader":  {leaderWorkerSet(bad, mocker()), "spec.leaderWorkerTemplate.leaderTemplate."},
		"LeaderWorkerSet, the workers": {leaderWorkerSet(nil, bad), "spec.leaderWorkerTemplate.workerTemplate."},
		"JobSet":                       {jobSet(mocker(), bad), "spec.replicatedJobs[1].template.spec.template."},
	} {
		t.Run(name, func(t *testing.T) {
			a, recorder := inMode(t, wiring.Enforce)
			r := ask(t, a.ValidateWorkloads(), requestAbout(tc.object))
			require.True(t, r.Allowed, "a template is never refused")
			require.Len(t, r.Warnings, 2)
			assert.Equal(t, "odd annotation", r.Warnings[0])
			assert.True(t, strings.HasPrefix(r.Warnings[1], "its pods will be refused: "+tc.at+"spec.containers[0].args"), r.Warnings[1])
			assert.True(t, strings.HasSuffix(r.Warnings[1], "[component-mismatch]"), r.Warnings[1])
			assert.Equal(t, "component-mismatch", r.AuditAnnotations["findings"])
			require.Len(t, recorder.verdicts, 1)
			v := recorder.verdicts[0]
			kind, _, _ := strings.Cut(name, ",")
			assert.Equal(t, kind, v.Object.Kind)
			assert.Equal(t, "w", v.Object.Name)
			assert.False(t, v.Refused)
		})
	}
}

func TestTemplatesByMode(t *testing.T) {
	for mode, want := range map[wiring.Mode]string{wiring.Enforce: "its pods will be refused: spec.template.", wiring.Warn: "spec.template.", wiring.Audit: ""} {
		a, recorder := inMode(t, mode)
		r := ask(t, a.ValidateWorkloads(), requestAbout(deployment(mocker(mismatched))))
		assert.True(t, r.Allowed)
		assert.Len(t, recorder.verdicts, 1, "it is recorded in all modes")
		if want == "" {
			assert.Empty(t, r.Warnings)
			continue
		}
		require.Len(t, r.Warnings, 2)
		assert.True(t, strings.HasPrefix(r.Warnings[1], want), r.Warnings[1])
	}
}

func TestTemplatesThatAreNotJudged(t *testing.T) {
	bad := deployment(mocker(mismatched))
	controlled := replicaSet(mocker(mismatched))
	yes := true
	controlled.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "w", UID: "1", Controller: &yes}}
	scaled := deployment(mocker(mismatched))
	three := int32(3)
	scaled.Spec.Replicas = &three
	scale := func(r *admissionv1.AdmissionRequest) { r.SubResource, r.Operation = "scale", admissionv1.Update }
	for name, r := range map[string]*admissionv1.AdmissionRequest{
		"controlled":       requestAbout(controlled),
		"not Dynamo":       requestAbout(deployment(mocker(plain))),
		"opted out":        requestAbout(deployment(mocker(func(p *corev1.Pod) { p.Labels[wiring.LabelDiscoveryEnabled] = "false" }, mismatched))),
		"scaled":           requestAbout(scaled, updateFrom(bad)),
		"a subresource":    requestAbout(bad, scale),
		"deleted":          requestAbout(bad, func(r *admissionv1.AdmissionRequest) { r.Operation = admissionv1.Delete }),
		"another kind":     requestAbout(custom("v1", "Service", object{"template": templateOf(mocker(mismatched))})),
		"a kind of others": requestAbout(custom("example.com/v1", "Deployment", object{"template": templateOf(mocker(mismatched))})),
		"no template":      requestAbout(custom("apps/v1", "Deployment", nil)),
	} {
		t.Run(name, func(t *testing.T) {
			a, recorder := inMode(t, wiring.Enforce)
			a.Namespaces = fakeNamespaces{"llm": {OptedIn: true}}
			assert.Equal(t, &admissionv1.AdmissionResponse{UID: r.UID, Allowed: true}, ask(t, a.ValidateWorkloads(), r))
			assert.Empty(t, recorder.verdicts)
		})
	}
	t.Run("namespace without label", func(t *testing.T) {
		a := newAdmission(t)
		a.Namespaces = fakeNamespaces{}
		assert.Empty(t, ask(t, a.ValidateWorkloads(), requestAbout(bad)).Warnings)
	})
}

// A template that changes is judged as a whole: all of its pods are made anew, and refused for what was wrong before.
func TestChangedTemplateIsJudgedAsAWhole(t *testing.T) {
	a, _ := inMode(t, wiring.Enforce)
	next := deployment(mocker(mismatched, func(p *corev1.Pod) { p.Spec.Containers[0].Image = "dynamo:1.7.0" }))
	assert.Len(t, ask(t, a.ValidateWorkloads(), requestAbout(next, updateFrom(deployment(mocker(mismatched))))).Warnings, 2)
	// Of several templates only the one that changes.
	before, after := jobSet(mocker(mismatched), mocker()), jobSet(mocker(mismatched), mocker(mismatched))
	r := ask(t, a.ValidateWorkloads(), requestAbout(after, updateFrom(before)))
	require.Len(t, r.Warnings, 2)
	assert.Contains(t, r.Warnings[1], "spec.replicatedJobs[1].")
}

func TestTemplateInADryRunLeavesNoTrace(t *testing.T) {
	a, recorder := inMode(t, wiring.Enforce)
	r := ask(t, a.ValidateWorkloads(), requestAbout(deployment(mocker(mismatched)), dryRun))
	assert.Len(t, r.Warnings, 2)
	assert.Empty(t, r.AuditAnnotations)
	assert.Empty(t, recorder.verdicts)
}

func TestTemplateThatCannotBeReadIsTheCallersFault(t *testing.T) {
	odd := custom("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", object{"leaderWorkerTemplate": object{"workerTemplate": object{"spec": "none"}}})
	w := post(newAdmission(t).ValidateWorkloads(), "application/json", string(reviewOf(t, requestAbout(odd))))
	assert.Equal(t, http.StatusBadRequest, w.Code)
	assert.Contains(t, w.Body.String(), "LeaderWorkerSet w: spec.leaderWorkerTemplate.workerTemplate.")
}

// Pods are made in the namespace of their workload, under names of their own, whatever the template says.
func TestTemplateIsReadInItsWorkloadsNamespace(t *testing.T) {
	d := deployment(mocker(func(p *corev1.Pod) {
		p.Labels[wiring.LabelNamespace] = "llm"
		p.Spec.Containers[0].Env = []corev1.EnvVar{
			{Name: "K8S", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}}},
			{Name: "DYN_NAMESPACE", Value: "$(K8S)"},
		}
	}))
	d.Spec.Template.Namespace = "elsewhere"
	got := ask(t, newAdmission(t).Hooks()[admission.ValidateWorkloadsPath], requestAbout(d))
	assert.Empty(t, got.Warnings)
	d.Spec.Template.Labels[wiring.LabelNamespace] = "elsewhere"
	got = ask(t, newAdmission(t).Hooks()[admission.ValidateWorkloadsPath], requestAbout(d))
	require.Len(t, got.Warnings, 1)
	assert.Contains(t, got.Warnings[0], "[namespace-mismatch]")
}
