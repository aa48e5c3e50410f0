package admission_test

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/dynawire/dynawire/internal/admission"
	"github.com/dynawire/dynawire/pkg/wiring"
)

func TestWritingPodIsLookedUpOnce(t *testing.T) {
	p := mocker(func(p *corev1.Pod) {
		p.UID = "1"
		p.Labels[wiring.LabelComponent] = "decode"
		p.Spec.InitContainers = []corev1.Container{{Name: "sidecar"}}
	})
	pods := &admission.Pods{Live: fake.NewClientBuilder().WithObjects(p).Build()}
	w, ok := pods.Get(t.Context(), "llm", "w", "1")
	require.True(t, ok)
	assert.Equal(t, admission.Writer{Labels: map[string]string{wiring.LabelComponent: "decode"}, Containers: []string{"sidecar", "main"}}, w)

	_, ok = pods.Get(t.Context(), "llm", "w", "2")
	assert.False(t, ok, "a pod of that name, but not that pod")

	pods.Live = lookUps(func() error { t.Error("asked again"); return nil })
	again, ok := pods.Get(t.Context(), "llm", "w", "1")
	assert.True(t, ok)
	assert.Equal(t, w, again)
}

func TestPodThatCannotBeLookedUpIsNotRemembered(t *testing.T) {
	pods := &admission.Pods{Live: lookUps(func() error { return errors.New("no connection") })}
	_, ok := pods.Get(t.Context(), "llm", "w", "1")
	assert.False(t, ok)
	pods.Live = fake.NewClientBuilder().WithObjects(mocker(func(p *corev1.Pod) { p.UID = "1" })).Build()
	_, ok = pods.Get(t.Context(), "llm", "w", "1")
	assert.True(t, ok)
}

// A token is good for a while after its pod, so what is remembered does not count.
func TestPodIsGone(t *testing.T) {
	p := mocker(func(p *corev1.Pod) { p.UID = "1" })
	pods := &admission.Pods{Live: fake.NewClientBuilder().WithObjects(p).Build()}
	_, _ = pods.Get(t.Context(), "llm", "w", "1")
	assert.False(t, pods.Gone(t.Context(), "llm", "w", "1"))
	assert.True(t, pods.Gone(t.Context(), "llm", "w", "0"), "another has its name")
	pods.Live = fake.NewClientBuilder().Build()
	assert.True(t, pods.Gone(t.Context(), "llm", "w", "1"))
	pods.Live = lookUps(func() error { return errors.New("no connection") })
	assert.False(t, pods.Gone(t.Context(), "llm", "w", "1"), "not certainly")
}

// onePod answers every Get with a pod of one UID.
type onePod struct{ uid types.UID }

func (o onePod) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	into.SetUID(o.uid)
	return nil
}

func (onePod) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("not expected")
}

// However many pods write, what is remembered of them is bounded.
func TestMemoryOfPodsIsBounded(t *testing.T) {
	pods := &admission.Pods{}
	for i := range 2*admission.WritersKept + 1 {
		pods.Live = onePod{types.UID(strconv.Itoa(i))}
		_, ok := pods.Get(t.Context(), "llm", "w", strconv.Itoa(i))
		require.True(t, ok)
		require.LessOrEqual(t, pods.Known(), admission.WritersKept)
	}
}
