//go:build integration

package integration_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dynawire/dynawire/pkg/wiring"
)

const (
	// patience is how long to wait for what must happen, on a slow machine too.
	patience = 30 * time.Second
	// settling is how long to watch for what must not happen.
	settling = 500 * time.Millisecond
	tick     = 20 * time.Millisecond
)

var namespaces atomic.Int32

// newNamespace makes a namespace with the account that the controller manager would make.
func newNamespace(t *testing.T, annotations map[string]string) string {
	t.Helper()
	name := fmt.Sprintf("%s-%d", strings.ToLower(strings.Map(func(r rune) rune {
		if r == '/' || r == '_' {
			return '-'
		}
		return r
	}, t.Name()))[:min(len(t.Name()), 50)], namespaces.Add(1))
	makeNamespace(t, name, annotations)
	return name
}

func makeNamespace(t *testing.T, name string, annotations map[string]string) {
	t.Helper()
	require.NoError(t, cluster.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}}))
	require.NoError(t, cluster.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "default"}}))
}

// label sets the opt-in label of a namespace; an empty value takes it off.
func label(t *testing.T, namespace, value string) {
	t.Helper()
	quoted := "null"
	if value != "" {
		quoted = `"` + value + `"`
	}
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, wiring.LabelDiscoveryEnabled, quoted)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	require.NoError(t, cluster.Patch(t.Context(), ns, client.RawPatch(types.MergePatchType, []byte(patch))))
}

// optedIn makes a namespace that is opted in, for everybody to see: the API server calls webhooks by what its own cache
// says of a namespace.
func optedIn(t *testing.T, annotations map[string]string) string {
	t.Helper()
	name := newNamespace(t, annotations)
	label(t, name, "true")
	eventually(t, func(c require.TestingT) {
		require.NotEmpty(c, getObject[corev1.ServiceAccount](c, name, wiring.ServiceAccount).UID)
		p := worker(name, "probe")
		require.NoError(c, cluster.Create(context.Background(), p, client.DryRunAll))
		require.Contains(c, p.Labels, wiring.LabelComponent)
	})
	return name
}

// worker is a Dynamo worker as a user writes it.
func worker(namespace, name string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": "w"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: "dynamo:1.6.1", Command: []string{"python3", "-m", "dynamo.mocker"}, Args: []string{"--model-path", "/models/tiny"},
		}}},
	}
	for _, f := range change {
		f(p)
	}
	return p
}

func frontend(p *corev1.Pod) {
	p.Spec.Containers[0].Command = []string{"python3", "-m", "dynamo.frontend"}
	p.Spec.Containers[0].Args = nil
}

// mismatched is a worker that says one component and registers as another.
func mismatched(p *corev1.Pod) {
	p.Labels[wiring.LabelComponent] = "decode"
	p.Spec.Containers[0].Args = append(p.Spec.Containers[0].Args, "--endpoint", "dyn://dynamo.prefill.generate")
}

// eventually waits until all requirements of a function hold together.
func eventually(t *testing.T, holds func(require.TestingT)) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) { holds(c) }, patience, tick)
}

func create(t *testing.T, o client.Object) {
	t.Helper()
	require.NoError(t, cluster.Create(t.Context(), o))
}

// remove deletes an object at once.
func remove(t *testing.T, o client.Object) {
	t.Helper()
	require.NoError(t, cluster.Delete(t.Context(), o, client.GracePeriodSeconds(0)))
}

// getObject reads an object; where there is none, the test or the attempt fails.
func getObject[T any, P interface {
	*T
	client.Object
}](t require.TestingT, namespace, name string) P {
	o := P(new(T))
	require.NoError(t, cluster.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: name}, o))
	return o
}

// gone requires that an object is not there.
func gone(t require.TestingT, o client.Object) {
	err := cluster.Get(context.Background(), client.ObjectKeyFromObject(o), o)
	require.Error(t, err)
	require.NoError(t, client.IgnoreNotFound(err))
}
