//go:build e2e

// Package e2e drives dynawire as a user would, on a real API server and a real kubelet, with the real Dynamo runtime.
// KUBECONFIG names a cluster that has the images; `make test-e2e` brings up the repository's own.
package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/dynawire/dynawire/pkg/wiring"
)

const (
	systemNamespace = "dynawire-system"
	workerImage     = "docker.io/local/dynawire-example-worker:dev"
	frontendImage   = "docker.io/local/dynawire-example-frontend:dev"
	// patience is how long anything may take here before it counts as never: generous, for loaded machines.
	patience = 90 * time.Second
)

// The cluster under test.
var (
	config *rest.Config
	client *kubernetes.Clientset
)

func TestMain(m *testing.M) {
	if err := connect(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

func connect() error {
	path := os.Getenv("KUBECONFIG")
	if path == "" {
		return fmt.Errorf("KUBECONFIG is not set: run `make test-e2e`, which brings a cluster up")
	}
	var err error
	if config, err = clientcmd.BuildConfigFromFlags("", path); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	config.QPS, config.Burst = 200, 400
	if client, err = kubernetes.NewForConfig(config); err != nil {
		return fmt.Errorf("client for %s: %w", path, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, "kubectl", "-n", systemNamespace, "rollout", "status",
		"deployment", "--timeout=80s").CombinedOutput()
	if err != nil {
		return fmt.Errorf("dynawire is not ready in %s: %w\n%s", systemNamespace, err, out)
	}
	return nil
}

// optedIn makes a Kubernetes namespace with the opt-in label; it goes when the test ends.
func optedIn(t *testing.T, annotations map[string]string) string {
	t.Helper()
	return newNamespace(t, map[string]string{wiring.LabelDiscoveryEnabled: "true"}, annotations)
}

func newNamespace(t *testing.T, labels, annotations map[string]string) string {
	t.Helper()
	ns, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "e2e-", Labels: labels, Annotations: annotations,
	}}, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			dump(t, ns.Name)
		}
		grace := int64(0)
		_ = client.CoreV1().Namespaces().Delete(context.Background(), ns.Name, metav1.DeleteOptions{GracePeriodSeconds: &grace})
	})
	// Without its "default" account a namespace takes no pod from anyone.
	eventually(t, "the default ServiceAccount of "+ns.Name, func() error {
		_, err := client.CoreV1().ServiceAccounts(ns.Name).Get(t.Context(), "default", metav1.GetOptions{})
		return err
	})
	return ns.Name
}

// dump prints what a person would look at first.
func dump(t *testing.T, ns string) {
	t.Helper()
	for _, args := range [][]string{
		{"-n", ns, "get", "pods,services,endpointslices,dynamoworkermetadatas,serviceaccounts", "-o", "wide"},
		{"-n", ns, "get", "events", "--sort-by=.lastTimestamp"},
		{"-n", ns, "describe", "pods"},
		{"-n", systemNamespace, "logs", "deployment/dynawire-webhook", "--all-pods", "--tail=60"},
	} {
		out, _ := exec.Command("kubectl", args...).CombinedOutput()
		t.Logf("kubectl %s\n%s", strings.Join(args, " "), out)
	}
	pods, _ := client.CoreV1().Pods(ns).List(context.Background(), metav1.ListOptions{})
	for i := range pods.Items {
		out, _ := exec.Command("kubectl", "-n", ns, "logs", pods.Items[i].Name, "--tail=40").CombinedOutput()
		t.Logf("kubectl -n %s logs %s\n%s", ns, pods.Items[i].Name, out)
	}
}

// eventually asks until there is no error, and shows the last one when patience ends.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			require.NoErrorf(t, err, "%s: not within %s", what, patience)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// kubectl runs a command that must succeed and gives what it printed.
func kubectl(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	out, err := tryKubectl(t, stdin, args...)
	require.NoErrorf(t, err, "kubectl %s\n%s", strings.Join(args, " "), out)
	return out
}

func tryKubectl(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	return runKubectl(t, os.Environ(), stdin, args...)
}

func runKubectl(t *testing.T, environ []string, stdin string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "kubectl", args...)
	cmd.Env, cmd.Stdin = environ, strings.NewReader(stdin)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// built is the directory of kubectl-dynawire, which is built when it is needed first.
var built struct {
	sync.Once
	dir string
	err error
}

// kubectlDynawire runs the plugin as kubectl does, with a PATH that has it. It must succeed.
func kubectlDynawire(t *testing.T, args ...string) string {
	t.Helper()
	built.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "kubectl-dynawire-"); built.err != nil {
			return
		}
		out, err := exec.Command("go", "build", "-o", built.dir+"/kubectl-dynawire", "../../cmd/kubectl-dynawire").CombinedOutput()
		if err != nil {
			built.err = fmt.Errorf("build kubectl-dynawire: %w: %s", err, out)
		}
	})
	require.NoError(t, built.err)
	out, err := runKubectl(t, append(os.Environ(), "PATH="+built.dir+":"+os.Getenv("PATH")), "", append([]string{"dynawire"}, args...)...)
	require.NoErrorf(t, err, "kubectl dynawire %s\n%s", strings.Join(args, " "), out)
	return out
}

// viaService calls a Service's port through the API server, as a client in the cluster would reach it.
func viaService(ctx context.Context, method, ns, service, port, path string, body any, into any) error {
	req := client.CoreV1().RESTClient().Verb(method).
		AbsPath("/api/v1/namespaces", ns, "services", service+":"+port, "proxy", path)
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return err
		}
		req = req.SetHeader("Content-Type", "application/json").Body(data)
	}
	data, err := req.DoRaw(ctx)
	if err != nil {
		var status apierrors.APIStatus
		if asStatus(err, &status) {
			return fmt.Errorf("%s %s on %s/%s: %w: %s", method, path, ns, service, err, data)
		}
		return fmt.Errorf("%s %s on %s/%s: %w", method, path, ns, service, err)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s %s on %s/%s: %w: %s", method, path, ns, service, err, data)
	}
	return nil
}

// podOf waits for one running pod of a Deployment whose pods carry app=NAME.
func podOf(t *testing.T, ns, app string) *corev1.Pod {
	t.Helper()
	var found *corev1.Pod
	eventually(t, "a pod of "+ns+"/"+app, func() error {
		pods, err := client.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + app})
		if err != nil {
			return err
		}
		for i := range pods.Items {
			if pods.Items[i].DeletionTimestamp == nil {
				found = &pods.Items[i]
				return nil
			}
		}
		return fmt.Errorf("%d pods, all on their way out", len(pods.Items))
	})
	return found
}

func isReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// readyPodOf waits until a pod of a Deployment passes its readiness probe.
func readyPodOf(t *testing.T, ns, app string) *corev1.Pod {
	t.Helper()
	var found *corev1.Pod
	eventually(t, "a ready pod of "+ns+"/"+app, func() error {
		found = podOf(t, ns, app)
		if !isReady(found) {
			return fmt.Errorf("pod %s is not ready: %+v", found.Name, found.Status.ContainerStatuses)
		}
		return nil
	})
	return found
}
