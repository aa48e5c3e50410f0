//go:build bench

// Package bench_test measures what dynawire costs through a real API server: time for each pod, and memory for many.
package bench_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/dynawire/dynawire/pkg/wiring"
	"github.com/dynawire/dynawire/test/controlplane"
)

// clients is how many create pods at once where throughput or memory is measured.
const clients = 16

var (
	plane *controlplane.ControlPlane
	core  kubernetes.Interface
	// workerPod is the vLLM decode pod of the corpus as its ReplicaSet creates it.
	workerPod []byte
)

func TestMain(m *testing.M) {
	if address := os.Getenv(noopAddress); address != "" {
		if err := serveNoop(address); err != nil {
			fmt.Fprintln(os.Stderr, "no-op webhook:", err)
			os.Exit(1)
		}
		return
	}
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	if plane, err = controlplane.Start(); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, plane.Stop()) }()
	if core, err = kubernetes.NewForConfig(plane.Config); err != nil {
		return 0, err
	}
	if workerPod, err = readWorker(); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// startServer installs the manifests and runs the server that they are about.
func startServer(t *testing.T, name string) *controlplane.Server {
	t.Helper()
	s, err := plane.NewServer(name)
	require.NoError(t, err)
	require.NoError(t, plane.Install(t.Context(), s))
	start(t, s)
	return s
}

func start(t *testing.T, s *controlplane.Server) {
	t.Helper()
	require.NoError(t, s.Start())
	t.Cleanup(func() {
		if !s.Stopped() {
			require.NoError(t, s.Stop())
		}
	})
	require.NoError(t, s.WaitReady())
}

// newNamespace makes a namespace with the account that the controller manager would make.
func newNamespace(t *testing.T, name string, labels map[string]string) {
	t.Helper()
	require.NoError(t, plane.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}))
	newAccount(t, name, "default")
}

func newAccount(t *testing.T, namespace, name string) {
	t.Helper()
	require.NoError(t, plane.Client.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}))
}

// waitAccount waits until the reconciler has made a namespace's account.
func waitAccount(t *testing.T, namespace string) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err := core.CoreV1().ServiceAccounts(namespace).Get(t.Context(), wiring.ServiceAccount, metav1.GetOptions{})
		return err == nil
	}, 30*time.Second, 20*time.Millisecond, namespace)
}

// readWorker reads the pod from the corpus.
func readWorker() ([]byte, error) {
	text, err := os.ReadFile("../../pkg/identity/identitytest/testdata/reviews/worker.pod.yaml")
	if err != nil {
		return nil, err
	}
	return yaml.YAMLToJSON(text)
}

func clientKey(name string) client.ObjectKey { return client.ObjectKey{Name: name} }

// createPod creates a pod the cheapest way: bytes in, bytes out.
func createPod(ctx context.Context, namespace string, pod []byte, dryRun bool) ([]byte, error) {
	r := core.CoreV1().RESTClient().Post().Namespace(namespace).Resource("pods").
		SetHeader("Content-Type", "application/json").SetHeader("Accept", "application/json").Body(pod)
	if dryRun {
		r = r.Param("dryRun", metav1.DryRunAll)
	}
	return r.DoRaw(ctx)
}

// deletePods deletes all pods of a namespace at once.
func deletePods(ctx context.Context, namespace string) error {
	now := int64(0)
	return core.CoreV1().Pods(namespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{})
}
