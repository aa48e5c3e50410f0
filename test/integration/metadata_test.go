//go:build integration

package integration_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dynawire/dynawire/pkg/wiring"
)

// running makes a worker of a component, and returns a client that is that pod: with a token of its account that is bound
// to it, as the kubelet asks for.
func running(t *testing.T, namespace, name, component string) (*corev1.Pod, client.Client, *warnings) {
	t.Helper()
	p := worker(namespace, name, func(p *corev1.Pod) {
		p.Labels[wiring.LabelComponent] = component
		p.Spec.Containers[0].Command = []string{"python3", "-m", "dynamo.vllm"}
	})
	create(t, p)
	require.Equal(t, wiring.ServiceAccount, p.Spec.ServiceAccountName)
	c, w := withToken(t, namespace, &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: p.Name, UID: p.UID})
	return p, c, w
}

// withToken is a client with a token of the discovery account.
func withToken(t *testing.T, namespace string, bound *authenticationv1.BoundObjectReference) (client.Client, *warnings) {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: wiring.ServiceAccount}}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: bound}}
	require.NoError(t, cluster.SubResource("token").Create(t.Context(), account, request))
	c := rest.AnonymousClientConfig(config)
	c.BearerToken = request.Status.Token
	w := &warnings{}
	out, err := client.New(w.on(c), client.Options{Scheme: cluster.Scheme(), Mapper: cluster.RESTMapper()})
	require.NoError(t, err)
	return out, w
}

// metadataOf is what Dynamo 1.6.1 wrote of itself, in the name of a pod.
func metadataOf(t *testing.T, p *corev1.Pod, change ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	t.Helper()
	raw, err := os.ReadFile("../../pkg/runtime/wire/testdata/worker-metadata-1.6.1.json")
	require.NoError(t, err)
	var real unstructured.Unstructured
	require.NoError(t, json.Unmarshal(raw, &real))
	o := &unstructured.Unstructured{Object: map[string]any{"spec": real.Object["spec"]}}
	o.SetAPIVersion("nvidia.com/v1alpha1")
	o.SetKind("DynamoWorkerMetadata")
	o.SetNamespace(p.Namespace)
	o.SetName(p.Name)
	yes, no := true, false
	o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: p.Name, UID: p.UID, Controller: &yes, BlockOwnerDeletion: &no}})
	for _, f := range change {
		f(o)
	}
	return o
}

// apply writes as Dynamo does.
func apply(ctx context.Context, c client.Client, o *unstructured.Unstructured, options ...client.ApplyOption) error {
	o = o.DeepCopy()
	return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), append(options, client.FieldOwner("dynamo-worker"), client.ForceOwnership)...)
}

func stored(t require.TestingT, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("nvidia.com/v1alpha1")
	o.SetKind("DynamoWorkerMetadata")
	require.NoError(t, cluster.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: name}, o))
	return o
}

// impersonates requires that a write was refused for who wrote it.
func impersonates(t *testing.T, err error) {
	t.Helper()
	var status apierrors.APIStatus
	require.ErrorAs(t, err, &status)
	assert.EqualValues(t, 422, status.Status().Code, err)
	require.NotEmpty(t, status.Status().Details.Causes)
	assert.Contains(t, status.Status().Details.Causes[0].Message, "[metadata-impersonation]")
}

// mayWrite waits until the reconciler has given the account its rights.
func mayWrite(t *testing.T, c client.Client, o *unstructured.Unstructured) {
	t.Helper()
	eventually(t, func(t require.TestingT) {
		err := apply(context.Background(), c, o, client.DryRunAll)
		require.False(t, apierrors.IsForbidden(err), "%v", err)
		require.False(t, apierrors.IsUnauthorized(err), "%v", err)
	})
}

func TestPodWritesAboutItselfAlone(t *testing.T) {
	t.Parallel()
	namespace := optedIn(t, map[string]string{wiring.AnnotationDynamoNamespace: "team-a"})
	a, asA, _ := running(t, namespace, "a", "decode")
	b, asB, _ := running(t, namespace, "b", "prefill")
	mayWrite(t, asA, metadataOf(t, a))
	gone(t, metadataOf(t, a)) // that was a dry run

	// Each its own, again and again, with the labels of its pod.
	want := map[string]string{wiring.LabelNamespace: "team-a", wiring.LabelComponent: "decode", wiring.LabelComponentType: "worker"}
	require.NoError(t, apply(t.Context(), asA, metadataOf(t, a)))
	assert.Equal(t, want, stored(t, namespace, "a").GetLabels())
	less := func(o *unstructured.Unstructured) {
		o.Object["spec"] = map[string]any{"data": map[string]any{"endpoints": map[string]any{}}}
	}
	require.NoError(t, apply(t.Context(), asA, metadataOf(t, a, less)))
	assert.Equal(t, want, stored(t, namespace, "a").GetLabels(), "server-side apply leaves them")
	require.NoError(t, apply(t.Context(), asB, metadataOf(t, b)))
	assert.Equal(t, "prefill", stored(t, namespace, "b").GetLabels()[wiring.LabelComponent])

	// In container mode the name has the container's behind it.
	engine := func(name string) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) { o.SetName(name) }
	}
	require.NoError(t, apply(t.Context(), asA, metadataOf(t, a, engine("a-main"))))
	impersonates(t, apply(t.Context(), asA, metadataOf(t, a, engine("a-0"))))

	// B's object, new or there already, in B's name or A's.
	before := stored(t, namespace, "b")
	require.NoError(t, apply(t.Context(), asA, metadataOf(t, b)), "what changes nothing says nothing")
	impersonates(t, apply(t.Context(), asA, metadataOf(t, b, less)))
	impersonates(t, apply(t.Context(), asA, metadataOf(t, a, engine("b"))))
	relabelled := before.DeepCopy()
	relabelled.SetLabels(map[string]string{wiring.LabelComponent: "decode"})
	impersonates(t, asA.Update(t.Context(), relabelled))
	assert.Equal(t, before, stored(t, namespace, "b"))
	require.NoError(t, asB.Delete(t.Context(), before))
	impersonates(t, apply(t.Context(), asA, metadataOf(t, b)))
	gone(t, before)
	eventually(t, func(t require.TestingT) {
		require.NotEmpty(t, eventsAbout(namespace, "Pod", "b", "DynamoObjectRefused"))
	})

	// A token that is bound to no pod.
	nobody, _ := withToken(t, namespace, nil)
	impersonates(t, apply(t.Context(), nobody, metadataOf(t, b)))
}

func TestPodThatIsMadeAnewTakesItsObjectOver(t *testing.T) {
	t.Parallel()
	namespace := optedIn(t, nil)
	p, before, _ := running(t, namespace, "w-0", "decode")
	mayWrite(t, before, metadataOf(t, p))
	require.NoError(t, apply(t.Context(), before, metadataOf(t, p)))
	remove(t, p)
	p, after, _ := running(t, namespace, "w-0", "prefill")
	require.NoError(t, apply(t.Context(), after, metadataOf(t, p)))
	o := stored(t, namespace, "w-0")
	assert.Equal(t, p.UID, o.GetOwnerReferences()[0].UID)
	assert.Equal(t, "prefill", o.GetLabels()[wiring.LabelComponent])
}

func TestOthersWhoWriteMetadata(t *testing.T) {
	t.Parallel()
	namespace := optedIn(t, nil)
	p, asPod, _ := running(t, namespace, "w", "decode")
	mayWrite(t, asPod, metadataOf(t, p))

	// An administrator is told, and let in.
	told := &warnings{}
	admin, err := client.New(told.on(config), client.Options{Scheme: cluster.Scheme(), Mapper: cluster.RESTMapper()})
	require.NoError(t, err)
	require.NoError(t, apply(t.Context(), admin, metadataOf(t, p)))
	assert.Contains(t, told.String(), "[metadata-impersonation]")
	eventually(t, func(t require.TestingT) {
		require.Regexp(t, `"namespace":"`+namespace+`".*metadata-impersonation`, first.Log.String())
	})
	require.NoError(t, apply(t.Context(), asPod, metadataOf(t, p)), "the pod takes over what was made for it")

	// Whoever changes nothing that peers read.
	nobody, _ := withToken(t, namespace, nil)
	o := stored(t, namespace, "w")
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"},"finalizers":["example.com/hold"]}}`))
	require.NoError(t, nobody.Patch(t.Context(), o, patch))

	// The garbage collector takes owner references off, and what is being deleted can go.
	collector := rest.CopyConfig(config)
	collector.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:kube-system:generic-garbage-collector", Groups: []string{"system:serviceaccounts", "system:authenticated"},
	}
	gc, err := client.New(collector, client.Options{Scheme: cluster.Scheme(), Mapper: cluster.RESTMapper()})
	require.NoError(t, err)
	require.NoError(t, nobody.Delete(t.Context(), o))
	require.NoError(t, gc.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"ownerReferences":null}}`))))
	require.NoError(t, nobody.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
	gone(t, o)
}

func TestMetadataInOtherModes(t *testing.T) {
	t.Parallel()
	for mode, warned := range map[string]bool{"warn": true, "audit": false} {
		namespace := optedIn(t, map[string]string{wiring.AnnotationValidation: mode})
		a, _, _ := running(t, namespace, "a", "decode")
		b, asB, told := running(t, namespace, "b", "decode")
		mayWrite(t, asB, metadataOf(t, b))
		require.NoError(t, apply(t.Context(), asB, metadataOf(t, a)))
		assert.Equal(t, warned, len(told.text) > 0, told.String())
		assert.Empty(t, stored(t, namespace, "a").GetLabels(), "what is not its own is not labelled")
		eventually(t, func(t require.TestingT) {
			require.NotEmpty(t, eventsAbout(namespace, "Pod", "a", "DynamoObjectFindings"))
		})
	}
}

// Where nobody opted in, nobody asks.
func TestMetadataOfOtherNamespacesIsNotOurs(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t, nil)
	p := worker(namespace, "w")
	create(t, p)
	told := &warnings{}
	admin, err := client.New(told.on(config), client.Options{Scheme: cluster.Scheme(), Mapper: cluster.RESTMapper()})
	require.NoError(t, err)
	require.NoError(t, apply(t.Context(), admin, metadataOf(t, p)))
	assert.Empty(t, told.text)
	assert.Empty(t, stored(t, namespace, "w").GetLabels())
}
