//go:build integration

package integration_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/dynawire/dynawire/pkg/wiring"
)

func TestRefusalAsAClientSeesIt(t *testing.T) {
	t.Parallel()
	namespace := optedIn(t, nil)
	for _, options := range [][]client.CreateOption{nil, {client.DryRunAll}} {
		err := cluster.Create(t.Context(), worker(namespace, "w", mismatched), options...)
		require.True(t, apierrors.IsInvalid(err), "%v", err)
		status := err.(apierrors.APIStatus).Status()
		assert.EqualValues(t, 422, status.Code)
		assert.True(t, strings.HasPrefix(status.Message, `admission webhook "pods.validate.dynawire.io" denied the request: `), status.Message)
		require.Len(t, status.Details.Causes, 1)
		cause := status.Details.Causes[0]
		assert.Equal(t, metav1.CauseTypeFieldValueInvalid, cause.Type)
		assert.True(t, strings.HasPrefix(cause.Field, "spec.containers[0].args"), cause.Field)
		assert.Contains(t, cause.Message, "[component-mismatch]")
		assert.Contains(t, status.Message, cause.Message, "controllers show the message: it holds the full text")
	}
	gone(t, worker(namespace, "w"))
}

func TestRefusalAsKubectlShowsIt(t *testing.T) {
	t.Parallel()
	namespace := optedIn(t, nil)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, plane.WriteKubeconfig(kubeconfig))
	p := worker(namespace, "w", mismatched)
	p.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	manifest, err := yaml.Marshal(p)
	require.NoError(t, err)
	for _, verb := range []string{"create", "apply"} {
		c := exec.Command(plane.Kubectl(), "--kubeconfig", kubeconfig, "--as", "admin", "--as-group", "system:masters", verb, "-f", "-")
		c.Stdin = strings.NewReader(string(manifest))
		out, err := c.CombinedOutput()
		require.Error(t, err)
		assert.Contains(t, string(out), `The Pod "w" is invalid`)
		assert.Contains(t, string(out), "spec.containers[0].args")
		assert.Contains(t, string(out), "[component-mismatch]")
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	for mode, warned := range map[wiring.Mode]bool{wiring.Warn: true, wiring.Audit: false} {
		namespace := optedIn(t, map[string]string{wiring.AnnotationValidation: string(mode)})
		recorded := &warnings{}
		c, err := client.New(recorded.on(config), client.Options{})
		require.NoError(t, err)
		require.NoError(t, c.Create(t.Context(), worker(namespace, "w", mismatched)))
		assert.Equal(t, warned, strings.Contains(recorded.String(), "[component-mismatch]"), "%s: %s", mode, recorded)
		eventually(t, func(c require.TestingT) {
			require.Len(c, eventsAbout(namespace, "Pod", "w", "DynamoPodFindings"), 1)
		})
	}
}

// An update of a pod that was there before the rules is not refused for what it was.
func TestOldPodsStayChangeable(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t, nil)
	p := worker(namespace, "old", mismatched)
	create(t, p)
	label(t, namespace, "true")
	eventually(t, func(c require.TestingT) {
		require.Error(c, cluster.Create(context.Background(), worker(namespace, "new", mismatched), client.DryRunAll))
	})
	p.Annotations = map[string]string{"touched": "true"}
	require.NoError(t, cluster.Update(t.Context(), p))
}

func TestRefusalIsAnEventOfTheDeployment(t *testing.T) {
	t.Parallel()
	namespace := optedIn(t, nil)
	p := worker(namespace, "", mismatched, func(p *corev1.Pod) { p.GenerateName = "w-5f-" })
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "w"}}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "w"}}, Spec: p.Spec}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "w"}, Spec: appsv1.DeploymentSpec{Selector: selector, Template: template},
	}
	create(t, deployment)
	replicaSet := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "w-5f",
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(deployment, appsv1.SchemeGroupVersion.WithKind("Deployment"))},
		},
		Spec: appsv1.ReplicaSetSpec{Selector: selector, Template: template},
	}
	create(t, replicaSet)
	p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(replicaSet, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}

	dry := p.DeepCopy()
	require.Error(t, cluster.Create(t.Context(), dry, client.DryRunAll))
	time.Sleep(settling)
	assert.Empty(t, eventsAbout(namespace, "Deployment", "w", "DynamoPodRefused"), "a dry run leaves no trace")

	for range 3 {
		require.Error(t, cluster.Create(t.Context(), p.DeepCopy()))
	}
	eventually(t, func(c require.TestingT) {
		events := eventsAbout(namespace, "Deployment", "w", "DynamoPodRefused")
		require.Len(c, events, 1)
		require.EqualValues(c, 3, events[0].Count)
		require.Equal(c, deployment.UID, events[0].InvolvedObject.UID)
		require.Contains(c, events[0].Message, "[component-mismatch]")
	})
}

func eventsAbout(namespace, kind, name, reason string) []corev1.Event {
	var all corev1.EventList
	if err := cluster.List(context.Background(), &all, client.InNamespace(namespace)); err != nil {
		return nil
	}
	var out []corev1.Event
	for _, e := range all.Items {
		if e.InvolvedObject.Kind == kind && e.InvolvedObject.Name == name && e.Reason == reason {
			out = append(out, e)
		}
	}
	return out
}
