//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// How long readiness takes from SetStatus in one pod to the event in another, with the injected probe. The times are printed;
// judged is that every change is told, in order, and within a bound that only a fault exceeds. The pods come ten at a time:
// what many pods at once cost two processors would be measured otherwise.
func TestReadinessByProbe(t *testing.T) {
	const waves, pods = 5, 10
	ns := optedIn(t, nil)
	told := toldInPod(t, ns)

	var path, first, down, again durations
	flip := func(w *corev1.Pod, ready bool, want runtime.EventType, took *durations) error {
		anytime(0, time.Second)
		asked := time.Now()
		if out, err := viaPod(t, "POST", w, 8080, "admin/status", strconv.FormatBool(ready)); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		at, err := told.next(w.Name, want)
		if err != nil {
			return err
		}
		said, err := lastSetStatus(t, w)
		if err != nil {
			return err
		}
		path.add(said.Sub(asked))
		took.add(at.Sub(said))
		return nil
	}
	for wave := range waves {
		workers := startWorkers(t, ns, fmt.Sprintf("wave-%d", wave), pods, corev1.PodSpec{})
		var all errgroup.Group
		for _, w := range workers {
			all.Go(func() error {
				if err := flip(w, true, runtime.NewReady, &first); err != nil {
					return err
				}
				if err := flip(w, false, runtime.NotReady, &down); err != nil {
					return err
				}
				return flip(w, true, runtime.Ready, &again)
			})
		}
		require.NoError(t, all.Wait())
		for _, w := range workers {
			require.NoError(t, client.CoreV1().Pods(ns).Delete(t.Context(), w.Name, metav1.DeleteOptions{}))
		}
	}
	t.Logf("SetStatus(ready) to NewReady in another pod:    %s", &first)
	t.Logf("SetStatus(ready) to Ready in another pod:       %s", &again)
	t.Logf("SetStatus(notready) to NotReady in another pod: %s", &down)
	t.Logf("from the test to SetStatus, in none of them:    %s", &path)
	first.within(t, waves*pods, 5*time.Second)
	again.within(t, waves*pods, 5*time.Second)
	down.within(t, waves*pods, 10*time.Second)
}

// anytime waits for a moment that has nothing to do with when the kubelet looks at the pod.
func anytime(least, most time.Duration) { time.Sleep(least + rand.N(most-least)) }

// lastSetStatus is when SetStatus last returned in a worker, by its log.
func lastSetStatus(t *testing.T, w *corev1.Pod) (time.Time, error) {
	t.Helper()
	lines := int64(1)
	data, err := client.CoreV1().Pods(w.Namespace).GetLogs(w.Name, &corev1.PodLogOptions{TailLines: &lines}).DoRaw(t.Context())
	if err != nil {
		return time.Time{}, err
	}
	var line struct {
		Time time.Time `json:"time"`
		Msg  string    `json:"msg"`
	}
	if err := json.Unmarshal(data, &line); err != nil || line.Msg != "status set" {
		return time.Time{}, fmt.Errorf("the last line of %s is no change of its status: %s", w.Name, data)
	}
	return line.Time, nil
}

// startWorkers makes pods of the Go example and waits until they have registered. They load for an hour: they become ready
// when the test says so.
func startWorkers(t *testing.T, ns, name string, n int, spec corev1.PodSpec) []*corev1.Pod {
	t.Helper()
	grace := int64(0)
	spec.TerminationGracePeriodSeconds = &grace
	spec.Containers = []corev1.Container{{
		Name: "worker", Image: workerImage, ImagePullPolicy: corev1.PullNever, Args: []string{"--load-time=1h"},
	}}
	pods := make([]any, n)
	for i := range pods {
		pods[i] = &corev1.Pod{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", name, i), Labels: map[string]string{
				wiring.LabelComponent: "go-backend", wiring.LabelComponentType: wiring.TypeWorker,
			}},
			Spec: spec,
		}
	}
	kubectl(t, manifest(t, pods...), "-n", ns, "apply", "-f", "-")
	workers := make([]*corev1.Pod, n)
	for i := range workers {
		workers[i] = running(t, ns, fmt.Sprintf("%s-%d", name, i))
		eventually(t, workers[i].Name+" has registered", func() error {
			out, err := viaPod(t, "GET", workers[i], 8080, "admin/status", "")
			if err == nil && !strings.Contains(out, string(runtime.StatusNotReady)) {
				err = fmt.Errorf("its status is %s", out)
			}
			return err
		})
	}
	return workers
}
