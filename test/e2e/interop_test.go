//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// statefulSet is a workload whose pods have names that come again.
func statefulSet(app, image string, labels map[string]string, command ...string) string {
	return statefulSetOf(app, labels, map[string]any{"name": "main", "image": image, "imagePullPolicy": "Never", "command": command})
}

func statefulSetOf(app string, labels map[string]string, containers ...map[string]any) string {
	all := map[string]string{"app": app}
	maps.Copy(all, labels)
	data, _ := json.Marshal(map[string]any{
		"apiVersion": "apps/v1", "kind": "StatefulSet",
		"metadata": map[string]any{"name": app},
		"spec": map[string]any{
			"serviceName": app, "replicas": 1, "podManagementPolicy": "Parallel",
			"selector": map[string]any{"matchLabels": map[string]string{"app": app}},
			"template": map[string]any{
				"metadata": map[string]any{"labels": all},
				"spec":     map[string]any{"terminationGracePeriodSeconds": 5, "containers": containers},
			},
		},
	})
	return string(data)
}

// release is what a release of Dynamo wants to be told of the tiny model. A frontend of 1.3.1 looks up a name that is not the
// path in the model hub; the path is the name there.
type release struct {
	version, model string
	args           []string
}

func releases() []release {
	return []release{
		{"1.6.1", "tiny-1.6.1", []string{"--model-name", "tiny-1.6.1"}},
		{"1.5.1", "tiny-1.5.1", []string{"--model-name", "tiny-1.5.1"}},
		{"1.3.1", "/models/tiny", nil},
	}
}

func (r release) image() string { return "docker.io/local/dynamo:" + r.version }

// sameAsFrontend waits until our library lists exactly these instances as ready, and Dynamo's frontend the same ones: ids,
// all of their endpoints and transports.
func sameAsFrontend(t *testing.T, ours *subscriber, ns, service string, names ...string) {
	t.Helper()
	slices.Sort(names)
	eventually(t, fmt.Sprintf("our library and %s list %v", service, names), func() error {
		var h frontendHealth
		if err := viaService(t.Context(), "GET", ns, service, "http", "health", nil, &h); err != nil {
			return err
		}
		var ready, endpoints []string
		for _, i := range ours.list(t) {
			if !i.Ready {
				continue
			}
			ready = append(ready, i.ID.PodName)
			for _, e := range i.Endpoints() {
				endpoints = append(endpoints, fmt.Sprintf("%s of %x at %s %s", e.Name, e.InstanceID, e.Transport.Kind, e.Transport.Address))
			}
		}
		slices.Sort(endpoints)
		theirs := h.endpoints(ours.namespace, ours.component)
		if !slices.Equal(ready, names) || !slices.Equal(endpoints, theirs) {
			return fmt.Errorf("our library lists %v:\n  %s\nDynamo's frontend lists\n  %s",
				ready, strings.Join(endpoints, "\n  "), strings.Join(theirs, "\n  "))
		}
		return nil
	})
}

// matrix is one release of Dynamo, seen by our library and by Dynamo's own frontend at the same time.
type matrix struct {
	ns, namespace, model, service string
	ours                          *subscriber
}

// agree waits until both list exactly these workers as ready, with the same ids, endpoints, transports and models.
func (m *matrix) agree(t *testing.T, pods ...string) {
	t.Helper()
	sameAsFrontend(t, m.ours, m.ns, m.service, pods...)
	for _, i := range m.ours.list(t) {
		if !i.Ready {
			continue
		}
		e, ok := i.Endpoint("generate")
		require.True(t, ok)
		assert.Equal(t, wiring.InstanceID(i.ID.PodName), e.InstanceID, "the id that Dynamo wrote")
		assert.NotEmpty(t, e.Transport.HostPort())
		assert.Equal(t, []string{m.model}, modelsOf(t, i))
	}
	if len(pods) > 0 {
		listsModels(t, m.ns, m.service, m.model)
		chats(t, m.ns, m.service, m.model)
	}
}

// modelsOf is what the instance's cards say, as Dynamo's /v1/models has it.
func modelsOf(t *testing.T, i runtime.Instance) []string {
	t.Helper()
	var names []string
	for _, card := range i.Metadata.ModelCards() {
		var c struct {
			DisplayName string `json:"display_name"`
		}
		require.NoError(t, json.Unmarshal(card.Card, &c))
		names = append(names, c.DisplayName)
	}
	return names
}

func (m *matrix) pod(t *testing.T, ordinal int) *corev1.Pod {
	t.Helper()
	var found *corev1.Pod
	eventually(t, "pod mocker-"+strconv.Itoa(ordinal), func() (err error) {
		found, err = client.CoreV1().Pods(m.ns).Get(t.Context(), "mocker-"+strconv.Itoa(ordinal), metav1.GetOptions{})
		return err
	})
	return found
}

// The interop matrix: what happens to Dynamo's workers is told alike by Dynamo's frontend and by our library. Start, not
// ready, killed, recreated under the same name, scaled up, down and to nothing; docs/interop.md is its summary. A worker on
// our library is listed by Dynamo's frontend, and dropped when it goes.
func TestInteropMatrix(t *testing.T) {
	for _, r := range releases() {
		t.Run(r.version, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			ns := optedIn(t, nil)
			m := &matrix{ns: ns, namespace: "matrix", model: r.model, service: wiring.ServiceName("matrix", "frontend")}
			in := map[string]string{wiring.LabelNamespace: m.namespace}
			m.ours = subscribe(t, ns, m.namespace, "backend")
			kubectl(t, deployment("frontend", r.image(), in, "python3", "-m", "dynamo.frontend"), "-n", ns, "apply", "-f", "-")
			kubectl(t, statefulSet("mocker", r.image(), in, mocker(r.args...)...), "-n", ns, "apply", "-f", "-")
			kubectl(t, deployment("gopher", workerImage, map[string]string{
				wiring.LabelNamespace: m.namespace, wiring.LabelComponent: "gopher", wiring.LabelComponentType: wiring.TypeWorker,
			}), "-n", ns, "apply", "-f", "-")
			readyPodOf(t, ns, "frontend")

			// Start.
			m.ours.waitFor(t, runtime.NewReady, "mocker-0")
			m.agree(t, "mocker-0")
			first := m.pod(t, 0)

			// Ours comes and goes.
			gophers := subscribe(t, ns, m.namespace, "gopher")
			sameAsFrontend(t, gophers, ns, m.service, readyPodOf(t, ns, "gopher").Name)
			kubectl(t, "", "-n", ns, "scale", "deployment", "gopher", "--replicas=0")
			sameAsFrontend(t, gophers, ns, m.service)

			// Not ready: the process hangs, the probe fails, the pod stays.
			signalPod(t, first, syscall.SIGSTOP)
			m.ours.waitFor(t, runtime.NotReady, "mocker-0")
			listed := m.ours.list(t)
			require.Len(t, listed, 1, "not ready is not gone")
			assert.False(t, listed[0].Ready)
			listedByFrontend(t, ns, m.service, m.namespace, "backend", "generate")
			signalPod(t, first, syscall.SIGCONT)
			m.ours.waitFor(t, runtime.Ready, "mocker-0")
			m.agree(t, "mocker-0")

			// Killed: the container comes back in the same pod, on another port.
			kill9(t, first)
			m.ours.waitFor(t, runtime.NotReady, "mocker-0")
			m.ours.waitFor(t, runtime.Ready, "mocker-0")
			m.agree(t, "mocker-0")

			// The same name, another pod: told as two instances.
			before := len(m.ours.all())
			kubectl(t, "", "-n", ns, "delete", "pod", "mocker-0", "--grace-period=0", "--force")
			m.ours.waitFor(t, runtime.Deleted, "mocker-0")
			m.ours.waitFor(t, runtime.NewReady, "mocker-0")
			second := m.pod(t, 0)
			assert.NotEqual(t, first.UID, second.UID)
			m.agree(t, "mocker-0")
			assert.Equal(t, string(second.UID), m.ours.list(t)[0].ID.UID)
			assert.NotContains(t, m.ours.all()[before:], string(runtime.Ready)+" mocker-0", "the new pod is not the old one come back")

			// Scaled up, down, and to nothing.
			kubectl(t, "", "-n", ns, "scale", "statefulset", "mocker", "--replicas=3")
			m.agree(t, "mocker-0", "mocker-1", "mocker-2")
			kubectl(t, "", "-n", ns, "scale", "statefulset", "mocker", "--replicas=1")
			m.agree(t, "mocker-0")
			at := time.Now()
			kubectl(t, "", "-n", ns, "scale", "statefulset", "mocker", "--replicas=0")
			m.ours.waitFor(t, runtime.Deleted, "mocker-0")
			t.Logf("the last one was gone for our library %s after scaling to nothing", time.Since(at).Round(10*time.Millisecond))
			m.agree(t)

			count := func(event runtime.EventType) (n int) {
				for _, seen := range m.ours.all() {
					if strings.HasPrefix(seen, string(event)+" ") {
						n++
					}
				}
				return n
			}
			eventually(t, "as many Deleted as NewReady", func() error {
				if count(runtime.NewReady) != count(runtime.Deleted) {
					return fmt.Errorf("%v", m.ours.all())
				}
				return nil
			})
			assert.Equal(t, 4, count(runtime.NewReady), "mocker-0 twice, mocker-1, mocker-2: %v", m.ours.all())
		})
	}
}
