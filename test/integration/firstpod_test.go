//go:build integration

package integration_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dynawire/dynawire/pkg/wiring"
)

const (
	attempts = 100
	// betweenCommands is less than what lies between the starts of two kubectl commands of a script.
	betweenCommands = 40 * time.Millisecond
)

// outcome of a first pod.
type outcome struct {
	wired, account bool
	took           time.Duration
}

// firstPods labels fresh namespaces one after another and creates a pod in each, a while after the label.
func firstPods(t *testing.T, pause time.Duration, options ...client.CreateOption) []outcome {
	t.Helper()
	out := make([]outcome, attempts)
	for i := range out {
		namespace := newNamespace(t, nil)
		label(t, namespace, "true")
		time.Sleep(pause)
		p := worker(namespace, "first")
		start := time.Now()
		require.NoError(t, cluster.Create(t.Context(), p, options...), "no first pod is refused")
		_, wired := p.Labels[wiring.LabelComponent]
		out[i] = outcome{wired, p.Spec.ServiceAccountName == wiring.ServiceAccount, time.Since(start)}
	}
	return out
}

func summarize(t *testing.T, what string, out []outcome) (wired, account int) {
	t.Helper()
	var slowest, sum time.Duration
	for _, o := range out {
		sum += o.took
		slowest = max(slowest, o.took)
		if o.wired {
			wired++
		}
		if o.account {
			account++
		}
	}
	t.Logf("%s: %d of %d wired, %d with the account; mean %s, slowest %s", what, wired, len(out), account, sum/time.Duration(len(out)), slowest)
	return wired, account
}

func TestFirstPodAfterTheLabelFindsItsAccount(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]client.CreateOption{"real": nil, "dry run": {client.DryRunAll}} {
		wired, account := summarize(t, name+", as a script has it", firstPods(t, betweenCommands, options...))
		assert.Equal(t, attempts, wired, name)
		assert.Equal(t, attempts, account, name)
	}
}

// A program that creates the pod in the very millisecond after the label may be faster than the API server's own cache of
// namespaces: then the webhook is not called at all, which nothing behind the API server can mend. Whoever is called finds
// the account.
func TestFirstPodRightBehindTheLabel(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]client.CreateOption{"real": nil, "dry run": {client.DryRunAll}} {
		wired, account := summarize(t, name+", at once", firstPods(t, 0, options...))
		assert.Equal(t, wired, account, name)
	}
}

func TestManyFirstPodsAtOnce(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t, nil)
	label(t, namespace, "true")
	time.Sleep(betweenCommands)
	pods := make([]*corev1.Pod, 50)
	var creating sync.WaitGroup
	for i := range pods {
		pods[i] = worker(namespace, "", func(p *corev1.Pod) { p.GenerateName = "w-" })
		creating.Go(func() { assert.NoError(t, cluster.Create(t.Context(), pods[i])) })
	}
	creating.Wait()
	for _, p := range pods {
		assert.Equal(t, wiring.ServiceAccount, p.Spec.ServiceAccountName)
	}
}

func TestWithoutTheAccountThePodKeepsItsOwn(t *testing.T) {
	t.Parallel()
	makeNamespace(t, withoutReconciler, nil)
	label(t, withoutReconciler, "true")
	time.Sleep(settling)
	for _, options := range [][]client.CreateOption{{client.DryRunAll}, nil} {
		p := worker(withoutReconciler, "w")
		start := time.Now()
		require.NoError(t, cluster.Create(t.Context(), p, options...))
		assert.Greater(t, time.Since(start), 900*time.Millisecond, "it was waited for")
		assert.Equal(t, "default", p.Spec.ServiceAccountName)
		assert.Equal(t, "backend", p.Labels[wiring.LabelComponent], "it is wired all the same")
		assert.Equal(t, "default", p.Annotations[wiring.AnnotationServiceAccount])
	}
	t.Run("nobody else waits", func(t *testing.T) {
		start := time.Now()
		create(t, worker(withoutReconciler, "plain", func(p *corev1.Pod) { p.Spec.Containers[0].Command = []string{"sleep"} }))
		assert.Less(t, time.Since(start), 900*time.Millisecond)
	})
}
