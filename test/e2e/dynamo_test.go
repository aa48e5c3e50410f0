//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dynawire/dynawire/api/v1alpha1"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// deployment is a plain workload: labels and a command, nothing else. Our images have an entrypoint and take arguments.
func deployment(app, image string, labels map[string]string, command ...string) string {
	all := map[string]string{"app": app}
	maps.Copy(all, labels)
	container := map[string]any{"name": "main", "image": image, "imagePullPolicy": "Never", "command": command}
	if image == workerImage || image == frontendImage {
		container = map[string]any{"name": "main", "image": image, "imagePullPolicy": "Never", "args": command}
	}
	data, _ := json.Marshal(map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": app},
		"spec": map[string]any{
			"selector": map[string]any{"matchLabels": map[string]string{"app": app}},
			"template": map[string]any{
				"metadata": map[string]any{"labels": all},
				"spec":     map[string]any{"terminationGracePeriodSeconds": 5, "containers": []any{container}},
			},
		},
	})
	return string(data)
}

func mocker(args ...string) []string {
	return append([]string{"python3", "-m", "dynamo.mocker", "--model-path", "/models/tiny"}, args...)
}

// frontendHealth is what is read of GET /health of Dynamo's frontend.
type frontendHealth struct {
	Instances []struct {
		Namespace  string `json:"namespace"`
		Component  string `json:"component"`
		Endpoint   string `json:"endpoint"`
		InstanceID uint64 `json:"instance_id"`
		Transport  struct {
			TCP string `json:"tcp"`
		} `json:"transport"`
	} `json:"instances"`
}

// endpoints is what is listed of a component, each with its instance and its transport.
func (h frontendHealth) endpoints(namespace, component string) []string {
	var all []string
	for _, i := range h.Instances {
		if i.Namespace == namespace && i.Component == component {
			all = append(all, fmt.Sprintf("%s of %x at tcp %s", i.Endpoint, i.InstanceID, i.Transport.TCP))
		}
	}
	slices.Sort(all)
	return all
}

func (h frontendHealth) ids(namespace, component, endpoint string) []uint64 {
	var ids []uint64
	for _, i := range h.Instances {
		if i.Namespace == namespace && i.Component == component && i.Endpoint == endpoint {
			ids = append(ids, i.InstanceID)
		}
	}
	slices.Sort(ids)
	return ids
}

func listedByFrontend(t *testing.T, ns, service, namespace, component, endpoint string, want ...uint64) {
	t.Helper()
	slices.Sort(want)
	eventually(t, fmt.Sprintf("%s lists %v as %s.%s.%s", service, want, namespace, component, endpoint), func() error {
		var h frontendHealth
		if err := viaService(t.Context(), "GET", ns, service, "http", "health", nil, &h); err != nil {
			return err
		}
		if got := h.ids(namespace, component, endpoint); !slices.Equal(got, want) {
			return fmt.Errorf("it lists %v", got)
		}
		return nil
	})
}

func models(t *testing.T, ns, service string) ([]string, error) {
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := viaService(t.Context(), "GET", ns, service, "http", "v1/models", nil, &list); err != nil {
		return nil, err
	}
	var ids []string
	for _, m := range list.Data {
		ids = append(ids, m.ID)
	}
	slices.Sort(ids)
	return ids, nil
}

func listsModels(t *testing.T, ns, service string, want ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s lists the models %v", service, want), func() error {
		got, err := models(t, ns, service)
		if err == nil && !slices.Equal(got, want) {
			err = fmt.Errorf("it lists %v", got)
		}
		return err
	})
}

func chats(t *testing.T, ns, service, model string) {
	t.Helper()
	var answer struct {
		Choices []struct {
			Message struct {
				Content string `json:"content"`
			} `json:"message"`
		} `json:"choices"`
	}
	eventually(t, "a chat completion of "+model+" through "+service, func() error {
		return viaService(t.Context(), "POST", ns, service, "http", "v1/chat/completions", map[string]any{
			"model": model, "max_tokens": 8, "messages": []any{map[string]string{"role": "user", "content": "hello"}},
		}, &answer)
	})
	require.Len(t, answer.Choices, 1)
	assert.NotEmpty(t, answer.Choices[0].Message.Content)
}

// writtenByDynamo is the id that the worker itself wrote for an endpoint, and what else it registered.
func writtenByDynamo(t *testing.T, ns, podName, endpoint string) uint64 {
	t.Helper()
	var id uint64
	eventually(t, "the metadata of "+podName, func() error {
		data, err := client.RESTClient().Get().AbsPath("/apis", v1alpha1.GroupVersion().String(), "namespaces", ns,
			"dynamoworkermetadatas", podName).DoRaw(t.Context())
		if err != nil {
			return err
		}
		var object struct {
			Spec struct {
				Data struct {
					Endpoints map[string]struct {
						Endpoint   string `json:"endpoint"`
						InstanceID uint64 `json:"instance_id"`
					} `json:"endpoints"`
				} `json:"data"`
			} `json:"spec"`
		}
		if err := json.Unmarshal(data, &object); err != nil {
			return err
		}
		for _, e := range object.Spec.Data.Endpoints {
			if e.Endpoint == endpoint {
				id = e.InstanceID
				return nil
			}
		}
		return fmt.Errorf("no endpoint %q in %d", endpoint, len(object.Spec.Data.Endpoints))
	})
	return id
}

// The main job: Dynamo's own worker and frontend, deployed with their command alone, find each other; so does our
// library. Two releases side by side in one Kubernetes namespace, a Dynamo namespace each.
func TestDynamo(t *testing.T) {
	ns := optedIn(t, map[string]string{wiring.AnnotationKeyValue: "true"})
	releases := []struct{ version, namespace, model string }{
		{"1.6.1", "v161", "tiny-161"},
		{"1.5.1", "v151", "tiny-151"},
	}
	for _, r := range releases {
		image := "docker.io/local/dynamo:" + r.version
		in := map[string]string{wiring.LabelNamespace: r.namespace}
		kubectl(t, deployment("mocker-"+r.namespace, image, in, mocker("--model-name", r.model)...), "-n", ns, "apply", "-f", "-")
		kubectl(t, deployment("named-"+r.namespace, image, in,
			mocker("--model-name", "named", "--endpoint", "dyn://"+r.namespace+".other.serve")...), "-n", ns, "apply", "-f", "-")
		kubectl(t, deployment("frontend-"+r.namespace, image, in, "python3", "-m", "dynamo.frontend"), "-n", ns, "apply", "-f", "-")
		kubectl(t, deployment("gopher-"+r.namespace, workerImage, map[string]string{
			wiring.LabelNamespace: r.namespace, wiring.LabelComponent: "gopher", wiring.LabelComponentType: wiring.TypeWorker,
		}), "-n", ns, "apply", "-f", "-")
	}
	for _, r := range releases {
		t.Run(r.version, func(t *testing.T) {
			service := wiring.ServiceName(r.namespace, "frontend")
			worker := readyPodOf(t, ns, "mocker-"+r.namespace)
			id := writtenByDynamo(t, ns, worker.Name, "generate")
			assert.Equal(t, wiring.InstanceID(worker.Name), id)

			named := readyPodOf(t, ns, "named-"+r.namespace)
			assert.Equal(t, `["serve"]`, env(named, wiring.EnvEndpointHealthStatus))

			readyPodOf(t, ns, "frontend-"+r.namespace)
			listsModels(t, ns, service, "named", r.model)
			chats(t, ns, service, r.model)
			listedByFrontend(t, ns, service, r.namespace, "backend", "generate", id)

			gopher := readyPodOf(t, ns, "gopher-"+r.namespace)
			listedByFrontend(t, ns, service, r.namespace, "gopher", "generate", wiring.InstanceID(gopher.Name))

			ours := subscribe(t, ns, r.namespace, "backend")
			ours.waitFor(t, "NewReady", worker.Name)
			listed := ours.list(t)
			require.Len(t, listed, 1)
			assert.Equal(t, id, listed[0].ID.Number())
			assert.Equal(t, string(worker.UID), listed[0].ID.UID)
			generate, ok := listed[0].Endpoint("generate")
			require.True(t, ok)
			assert.Equal(t, id, generate.InstanceID, "the id that Dynamo wrote")

			// Killed, the container restarts in the same pod: gone, and back, for both.
			killed := time.Now()
			kill9(t, worker)
			ours.waitFor(t, "NotReady", worker.Name)
			t.Logf("our library says NotReady %s after the kill", time.Since(killed).Round(10*time.Millisecond))
			ours.waitFor(t, "Ready", worker.Name)
			t.Logf("our library says Ready %s after the kill", time.Since(killed).Round(10*time.Millisecond))
			listedByFrontend(t, ns, service, r.namespace, "backend", "generate", id)
			chats(t, ns, service, r.model)

			// Deleted, its successor is another instance.
			zero := int64(0)
			require.NoError(t, client.CoreV1().Pods(ns).Delete(t.Context(), worker.Name, metav1.DeleteOptions{GracePeriodSeconds: &zero}))
			ours.waitFor(t, "Deleted", worker.Name)
			var successor *corev1.Pod
			eventually(t, "a successor of "+worker.Name, func() error {
				if successor = readyPodOf(t, ns, "mocker-"+r.namespace); successor.UID == worker.UID {
					return fmt.Errorf("still %s", worker.Name)
				}
				return nil
			})
			ours.waitFor(t, "NewReady", successor.Name)
			listedByFrontend(t, ns, service, r.namespace, "backend", "generate", wiring.InstanceID(successor.Name))
			listsModels(t, ns, service, "named", r.model)
			chats(t, ns, service, r.model)
		})
	}
}

// A frontend that declares no namespace sees them all, as upstream has it; the example Deployments say nothing at all.
func TestExamplesAlone(t *testing.T) {
	ns := optedIn(t, nil)
	kubectl(t, "", "-n", ns, "apply", "-f", "../../examples/dynamo/worker.yaml", "-f", "../../examples/dynamo/frontend.yaml")
	frontend := readyPodOf(t, ns, "frontend")
	assert.Equal(t, "(absent)", env(frontend, wiring.EnvNamespace))
	for _, doc := range []string{"worker.yaml", "frontend.yaml"} {
		assert.False(t, strings.Contains(kubectl(t, "", "create", "--dry-run=client", "-o", "yaml", "-f", "../../examples/dynamo/"+doc), "DYN_"),
			"%s must hold nothing of Dynamo's but the command", doc)
	}
	readyPodOf(t, ns, "worker")
	service := wiring.ServiceName("dynamo", "frontend")
	listsModels(t, ns, service, "tiny")
	chats(t, ns, service, "tiny")
}
