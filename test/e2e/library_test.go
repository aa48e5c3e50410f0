//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// viaPod calls a port of a pod through the API server.
func viaPod(t *testing.T, method string, p *corev1.Pod, port int, path, query string) (string, error) {
	t.Helper()
	data, err := client.CoreV1().RESTClient().Verb(method).
		AbsPath("/api/v1/namespaces", p.Namespace, "pods", p.Name+":"+strconv.Itoa(port), "proxy", path).
		Param("ready", query).DoRaw(t.Context())
	return string(data), err
}

func setStatus(t *testing.T, p *corev1.Pod, ready bool) {
	t.Helper()
	out, err := viaPod(t, "POST", p, 8080, "admin/status", strconv.FormatBool(ready))
	require.NoError(t, err, out)
}

func podReady(t *testing.T, p *corev1.Pod) bool {
	t.Helper()
	now, err := client.CoreV1().Pods(p.Namespace).Get(t.Context(), p.Name, metav1.GetOptions{})
	require.NoError(t, err)
	return isReady(now)
}

// Two plain Deployments on our library: a worker that takes a while to load, and a frontend that subscribes to it from a
// pod of its own, with the rights that dynawire gave it.
func TestLibraryInPods(t *testing.T) {
	ns := optedIn(t, map[string]string{wiring.AnnotationDynamoNamespace: "dynamo"})
	kubectl(t, "", "-n", ns, "apply", "-f", "../../examples/frontend/deployment.yaml")
	frontend := readyPodOf(t, ns, "go-frontend")
	events := subscribedPod(t, frontend)
	kubectl(t, deployment("go-backend", workerImage, map[string]string{
		wiring.LabelComponent: "go-backend", wiring.LabelComponentType: wiring.TypeWorker,
	}, "--load-time=6s"),
		"-n", ns, "apply", "-f", "-")

	// Ready only after SetStatus: registered and running, it is neither ready nor told of.
	var worker *corev1.Pod
	eventually(t, "a worker that runs and has registered", func() error {
		worker = podOf(t, ns, "go-backend")
		if worker.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("phase %s", worker.Status.Phase)
		}
		_, err := viaPod(t, "GET", worker, 8080, "admin/status", "")
		return err
	})
	out, err := viaPod(t, "GET", worker, 8080, "admin/status", "")
	require.NoError(t, err)
	require.Contains(t, out, "notready")
	assert.Equal(t, wiring.InstanceID(worker.Name), writtenByDynamo(t, ns, worker.Name, "generate"))
	assert.False(t, podReady(t, worker), "ready before SetStatus")
	assert.NotContains(t, events.all(), "NewReady "+worker.Name)
	events.waitFor(t, runtime.NewReady, worker.Name)
	assert.True(t, podReady(t, worker))

	// The status travels through the probe, both ways.
	for range 2 {
		setStatus(t, worker, false)
		events.waitFor(t, runtime.NotReady, worker.Name)
		setStatus(t, worker, true)
		events.waitFor(t, runtime.Ready, worker.Name)
	}

	// It routes.
	frontendService := services(t, ns, "frontend")
	var answer struct{ Text, Instance string }
	require.NoError(t, viaService(t.Context(), "POST", ns, frontendService, "http", "generate", map[string]string{"prompt": "hello"}, &answer))
	assert.Equal(t, worker.Name, answer.Instance)
	assert.Contains(t, answer.Text, "hello")

	// Killed, the container comes back in the same pod.
	kill9(t, worker)
	events.waitFor(t, runtime.NotReady, worker.Name)
	events.waitFor(t, runtime.Ready, worker.Name)

	// Scaled up and down, each pod comes and goes once.
	kubectl(t, "", "-n", ns, "scale", "deployment", "go-backend", "--replicas=3")
	eventually(t, "three ready instances", func() error { return readyInstances(t, ns, frontendService, 3) })
	kubectl(t, "", "-n", ns, "scale", "deployment", "go-backend", "--replicas=0")
	eventually(t, "no instances", func() error { return readyInstances(t, ns, frontendService, 0) })
	events.waitFor(t, runtime.Deleted, worker.Name)
	all := events.all()
	count := func(event runtime.EventType) (n int) {
		for _, seen := range all {
			if len(seen) > len(event) && seen[:len(event)+1] == string(event)+" " {
				n++
			}
		}
		return n
	}
	eventually(t, "as many Deleted as NewReady", func() error {
		all = events.all()
		if count(runtime.NewReady) != count(runtime.Deleted) {
			return fmt.Errorf("%v", all)
		}
		return nil
	})
	assert.Equal(t, 3, count(runtime.NewReady), "%v", all)
	assert.False(t, slices.Contains(all[1:], "Synced "), "Synced comes once, first: %v", all)

	// A worker that is deleted without grace: gone, and another instance in its place.
	kubectl(t, "", "-n", ns, "scale", "deployment", "go-backend", "--replicas=1")
	doomed := readyPodOf(t, ns, "go-backend")
	events.waitFor(t, runtime.NewReady, doomed.Name)
	kubectl(t, "", "-n", ns, "delete", "pod", doomed.Name, "--grace-period=0", "--force")
	events.waitFor(t, runtime.Deleted, doomed.Name)
}

func readyInstances(t *testing.T, ns, service string, want int) error {
	t.Helper()
	var list struct {
		Synced    bool               `json:"synced"`
		Instances []runtime.Instance `json:"instances"`
	}
	if err := viaService(t.Context(), "GET", ns, service, "http", "instances", nil, &list); err != nil {
		return err
	}
	ready := 0
	for _, i := range list.Instances {
		if i.Ready {
			ready++
		}
	}
	if ready != want || want == 0 && len(list.Instances) != 0 {
		return fmt.Errorf("%d of %d instances are ready", ready, len(list.Instances))
	}
	return nil
}

// services is the name of the Service of the one component of a type.
func services(t *testing.T, ns, componentType string) string {
	t.Helper()
	var name string
	eventually(t, "the Service of the "+componentType, func() error {
		p, err := client.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{LabelSelector: wiring.LabelComponentType + "=" + componentType})
		if err != nil || len(p.Items) == 0 {
			return fmt.Errorf("no pod: %w", err)
		}
		labels := p.Items[0].Labels
		list, err := client.CoreV1().Services(ns).List(t.Context(), metav1.ListOptions{LabelSelector: labelSelector(
			wiring.LabelNamespace, labels[wiring.LabelNamespace], wiring.LabelComponent, labels[wiring.LabelComponent])})
		if err != nil || len(list.Items) == 0 {
			return fmt.Errorf("no Service for %v: %w", labels, err)
		}
		name = list.Items[0].Name
		return nil
	})
	return name
}
