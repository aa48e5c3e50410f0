//go:build integration

package integration_test

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// templateOf is what a workload makes a pod from.
func templateOf(p *corev1.Pod) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: p.Labels}, Spec: p.Spec}
}

func deploymentOf(p *corev1.Pod) *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name},
		Spec:       appsv1.DeploymentSpec{Selector: selectW, Template: templateOf(p)},
	}
}

var selectW = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "w"}}

// told is a client, and what it is warned of.
func told(t *testing.T) (client.Client, *warnings) {
	t.Helper()
	w := &warnings{}
	c, err := client.New(w.on(config), client.Options{Scheme: cluster.Scheme()})
	require.NoError(t, err)
	return c, w
}

const refusedLater = "its pods will be refused: "

func TestWorkloadsAreWarnedAbout(t *testing.T) {
	t.Parallel()
	namespace := optedIn(t, nil)
	bad := worker(namespace, "w", mismatched)
	once := templateOf(bad)
	once.Spec.RestartPolicy = corev1.RestartPolicyNever
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "w"}
	for at, o := range map[string]client.Object{
		"Deployment spec.template.":               deploymentOf(bad),
		"StatefulSet spec.template.":              &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Selector: selectW, Template: templateOf(bad)}},
		"DaemonSet spec.template.":                &appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Selector: selectW, Template: templateOf(bad)}},
		"ReplicaSet spec.template.":               &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Selector: selectW, Template: templateOf(bad)}},
		"Job spec.template.":                      &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Template: once}},
		"CronJob spec.jobTemplate.spec.template.": &batchv1.CronJob{ObjectMeta: meta, Spec: batchv1.CronJobSpec{Schedule: "0 0 * * *", JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: once}}}},
		"ReplicationController spec.template.":    &corev1.ReplicationController{ObjectMeta: meta, Spec: corev1.ReplicationControllerSpec{Selector: map[string]string{"app": "w"}, Template: ptr(templateOf(bad))}},
	} {
		kind, prefix, _ := strings.Cut(at, " ")
		t.Run(kind, func(t *testing.T) {
			c, w := told(t)
			require.NoError(t, c.Create(t.Context(), o.DeepCopyObject().(client.Object), client.DryRunAll))
			require.Len(t, w.text, 1, w)
			time.Sleep(settling)
			assert.Empty(t, eventsAbout(namespace, kind, "w", "DynamoPodFindings"), "a dry run leaves no trace")
			require.NoError(t, c.Create(t.Context(), o))
			require.Len(t, w.text, 2, w)
			assert.Contains(t, w.text[1], refusedLater+prefix+"spec.containers[0].args")
			assert.Contains(t, w.text[1], "[component-mismatch]")
			eventually(t, func(t require.TestingT) {
				require.Len(t, eventsAbout(namespace, kind, "w", "DynamoPodFindings"), 1)
			})
		})
	}
}

func ptr[T any](v T) *T { return &v }

func TestWorkloadIsWarnedAboutOnce(t *testing.T) {
	t.Parallel()
	namespace := optedIn(t, nil)
	c, w := told(t)
	d := deploymentOf(worker(namespace, "w", mismatched))
	require.NoError(t, c.Create(t.Context(), d))
	require.Len(t, w.text, 1, w)

	// Scaled, annotated, and its ReplicaSet made: nothing new.
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 3}}
	require.NoError(t, c.SubResource("scale").Update(t.Context(), d, client.WithSubResourceBody(scale)))
	require.NoError(t, c.Patch(t.Context(), d, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"a":"b"}},"spec":{"replicas":2}}`))))
	replicaSet := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "w-5f", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))},
		},
		Spec: appsv1.ReplicaSetSpec{Selector: selectW, Template: d.Spec.Template},
	}
	require.NoError(t, c.Create(t.Context(), replicaSet))
	assert.Len(t, w.text, 1, w)

	// A roll-out makes all pods anew.
	require.NoError(t, c.Patch(t.Context(), d, client.RawPatch(types.StrategicMergePatchType,
		[]byte(`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"now"}}}}}`))))
	assert.Len(t, w.text, 2, w)

	// Good ones are not talked about.
	good := deploymentOf(worker(namespace, "good"))
	require.NoError(t, c.Create(t.Context(), good))
	assert.Len(t, w.text, 2, w)
}

func TestWorkloadAsKubectlShowsIt(t *testing.T) {
	t.Parallel()
	namespace := optedIn(t, nil)
	manifest, err := yaml.Marshal(deploymentOf(worker(namespace, "w", mismatched)))
	require.NoError(t, err)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, plane.WriteKubeconfig(kubeconfig))
	c := exec.Command(plane.Kubectl(), "--kubeconfig", kubeconfig, "--as", "admin", "--as-group", "system:masters", "apply", "-f", "-")
	c.Stdin = strings.NewReader(string(manifest))
	out, err := c.CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Contains(t, string(out), "Warning: "+refusedLater+"spec.template.spec.containers[0].args")
	assert.Contains(t, string(out), "deployment.apps/w created")
}

// A workload that this program has no module of, by a CRD that says nothing about what is in it.
func TestLeaderWorkerSetIsWarnedAbout(t *testing.T) {
	t.Parallel()
	namespace := optedIn(t, nil)
	crd := map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{
			"name": "leaderworkersets.leaderworkerset.x-k8s.io", "annotations": map[string]any{"api-approved.kubernetes.io": "unapproved, for a test"},
		},
		"spec": map[string]any{
			"group": "leaderworkerset.x-k8s.io", "scope": "Namespaced",
			"names": map[string]any{"plural": "leaderworkersets", "singular": "leaderworkerset", "kind": "LeaderWorkerSet", "listKind": "LeaderWorkerSetList"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{
				"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
			}}},
		},
	}
	create(t, &unstructured.Unstructured{Object: crd})
	set := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": map[string]any{"namespace": namespace, "name": "w"},
		"spec": map[string]any{"leaderWorkerTemplate": map[string]any{
			"leaderTemplate": asMap(t, templateOf(worker(namespace, "w"))),
			"workerTemplate": asMap(t, templateOf(worker(namespace, "w", mismatched))),
		}},
	}}
	var w *warnings
	eventually(t, func(et require.TestingT) {
		var c client.Client
		c, w = told(t)
		require.NoError(et, client.IgnoreAlreadyExists(c.Create(context.Background(), set.DeepCopy())))
		require.Len(et, w.text, 1)
	})
	assert.Contains(t, w.text[0], refusedLater+"spec.leaderWorkerTemplate.workerTemplate.spec.containers[0].args")
}

func asMap(t *testing.T, o any) (out map[string]any) {
	t.Helper()
	raw, err := json.Marshal(o)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &out))
	return out
}
