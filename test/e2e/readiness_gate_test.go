//go:build e2e

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// What TestReadinessByProbe measures, by the way that is not offered (docs/decisions/0018-readiness-stays-with-the-probe.md): a
// readiness gate that the pod opens and shuts itself, with its own token, and with a right that dynawire does not give it.
func TestReadinessByGate(t *testing.T) {
	const pods, flips = 10, 5
	const gate = "dynawire.io/ready"
	ns := optedIn(t, nil)
	kubectl(t, "", "-n", ns, "create", "role", "writes-statuses", "--verb=patch", "--resource=pods/status")
	kubectl(t, "", "-n", ns, "create", "rolebinding", "writes-statuses", "--role=writes-statuses", "--serviceaccount="+ns+":"+wiring.ServiceAccount)
	told := toldInPod(t, ns)
	workers := startWorkers(t, ns, "gated", pods, corev1.PodSpec{ReadinessGates: []corev1.PodReadinessGate{{ConditionType: gate}}})

	var first, down, again durations
	var all errgroup.Group
	for _, w := range workers {
		// The probe succeeds for good: what changes is the gate.
		setStatus(t, w, true)
		eventually(t, w.Name+" waits for nothing but its gate", func() error {
			p, err := client.CoreV1().Pods(ns).Get(t.Context(), w.Name, metav1.GetOptions{})
			if err == nil && !p.Status.ContainerStatuses[0].Ready {
				err = fmt.Errorf("its container is not ready")
			}
			return err
		})
		asWorker := withToken(t, boundToken(t, w))
		patch := func(status corev1.ConditionStatus, want runtime.EventType, took *durations) error {
			// A pod that it has synchronised less than a second ago the kubelet leaves for the next one.
			anytime(1500*time.Millisecond, 2500*time.Millisecond)
			condition := fmt.Appendf(nil, `{"status":{"conditions":[{"type":%q,"status":%q}]}}`, gate, status)
			began := time.Now()
			if _, err := asWorker.CoreV1().Pods(ns).Patch(t.Context(), w.Name, types.StrategicMergePatchType, condition,
				metav1.PatchOptions{}, "status"); err != nil {
				return err
			}
			at, err := told.next(w.Name, want)
			if err != nil {
				return err
			}
			took.add(at.Sub(began))
			return nil
		}
		all.Go(func() error {
			if err := patch(corev1.ConditionTrue, runtime.NewReady, &first); err != nil {
				return err
			}
			for range flips {
				if err := patch(corev1.ConditionFalse, runtime.NotReady, &down); err != nil {
					return err
				}
				if err := patch(corev1.ConditionTrue, runtime.Ready, &again); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, all.Wait())
	t.Logf("patch to True to NewReady in another pod:  %s", &first)
	t.Logf("patch to True to Ready in another pod:     %s", &again)
	t.Logf("patch to False to NotReady in another pod: %s", &down)
	first.within(t, pods, 5*time.Second)
	again.within(t, pods*flips, 5*time.Second)
	down.within(t, pods*flips, 5*time.Second)
}

// boundToken is one as the kubelet would mount it in the pod.
func boundToken(t *testing.T, p *corev1.Pod) string {
	t.Helper()
	request, err := client.CoreV1().ServiceAccounts(p.Namespace).CreateToken(t.Context(), p.Spec.ServiceAccountName, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: &authenticationv1.BoundObjectReference{
			APIVersion: "v1", Kind: "Pod", Name: p.Name, UID: p.UID,
		}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	return request.Status.Token
}
