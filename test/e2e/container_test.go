//go:build e2e

package e2e

import (
	"encoding/json"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dynawire/dynawire/api/v1alpha1"
	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// instanceContainer is a container in container mode. dynawire gives each worker of the pod a system port of its own.
func instanceContainer(name, image string, command ...string) map[string]any {
	env := []any{
		map[string]any{"name": wiring.EnvKubeDiscoveryMode, "value": "container"},
		map[string]any{"name": wiring.EnvContainerName, "value": name},
	}
	c := map[string]any{"name": name, "image": image, "imagePullPolicy": "Never", "env": env}
	if image == workerImage {
		c["args"] = command
	} else {
		c["command"] = command
	}
	return c
}

// ownerOf is the one owner of an instance's metadata.
func ownerOf(t *testing.T, ns, object string) metav1.OwnerReference {
	t.Helper()
	var m v1alpha1.DynamoWorkerMetadata
	data, err := client.RESTClient().Get().AbsPath("/apis", v1alpha1.GroupVersion().String(), "namespaces", ns,
		v1alpha1.Resource, object).DoRaw(t.Context())
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &m))
	require.Len(t, m.OwnerReferences, 1)
	return m.OwnerReferences[0]
}

// Container mode: a pod with two of Dynamo's workers, and one with two workers on our library. Dynamo's frontend and our
// library list the same containers, with the readiness of each.
func TestContainerMode(t *testing.T) {
	for _, r := range releases() {
		t.Run(r.version, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			ns := optedIn(t, nil)
			const namespace = "containers"
			service, in := wiring.ServiceName(namespace, "frontend"), map[string]string{wiring.LabelNamespace: namespace}
			observer := runtime.Identity{PodNamespace: ns, Container: "observer"}
			ours := subscribeAs(t, observer, namespace, "backend")
			kubectl(t, statefulSetOf("duo", in,
				instanceContainer("main", r.image(), mocker(r.args...)...),
				instanceContainer("engine-1", r.image(), mocker(r.args...)...),
			), "-n", ns, "apply", "-f", "-")
			kubectl(t, statefulSetOf("front", in,
				instanceContainer("frontend", r.image(), "python3", "-m", "dynamo.frontend"),
			), "-n", ns, "apply", "-f", "-")
			readyPodOf(t, ns, "front")

			// Start: an object for each container, named after it.
			ours.waitFor(t, runtime.NewReady, "duo-0-engine-1")
			sameAsFrontend(t, ours, ns, service, "duo-0", "duo-0-engine-1")
			listsModels(t, ns, service, r.model)
			chats(t, ns, service, r.model)
			first := podOf(t, ns, "duo")
			no, yes := false, true
			owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "duo-0", UID: first.UID, Controller: &yes, BlockOwnerDeletion: &no}
			assert.Equal(t, owner, ownerOf(t, ns, "duo-0"))
			owner.Controller = &no
			assert.Equal(t, owner, ownerOf(t, ns, "duo-0-engine-1"))
			for _, i := range ours.list(t) {
				assert.Equal(t, wiring.InstanceID(i.ID.PodName), writtenByDynamo(t, ns, i.ID.PodName, "generate"))
				assert.Equal(t, runtime.Owner{APIVersion: "v1", Kind: "Pod", Name: "duo-0", UID: string(first.UID)}, i.ID.Owner())
				assert.Equal(t, []string{r.model}, modelsOf(t, i))
			}

			// Who looks in pod mode sees the container that is named main, alone.
			if r.version == releases()[0].version {
				kubectl(t, deployment("pods", r.image(), map[string]string{wiring.LabelNamespace: "pods"}, "python3", "-m", "dynamo.frontend"),
					"-n", ns, "apply", "-f", "-")
				readyPodOf(t, ns, "pods")
				sameAsFrontend(t, subscribe(t, ns, namespace, "backend"), ns, wiring.ServiceName("pods", "frontend"), "duo-0")
			}

			// Not ready, one of two: the other stays, in a pod that is not ready.
			signalContainer(t, first, "engine-1", syscall.SIGSTOP)
			ours.waitFor(t, runtime.NotReady, "duo-0-engine-1")
			sameAsFrontend(t, ours, ns, service, "duo-0")
			assert.False(t, podReady(t, first))
			signalContainer(t, first, "engine-1", syscall.SIGCONT)
			ours.waitFor(t, runtime.Ready, "duo-0-engine-1")
			sameAsFrontend(t, ours, ns, service, "duo-0", "duo-0-engine-1")

			// Killed, one of two: it comes back on another port. In container mode Dynamo deletes, as it starts, what the container
			// has left.
			signalContainer(t, first, "engine-1", syscall.SIGKILL)
			ours.waitFor(t, runtime.NotReady, "duo-0-engine-1")
			ours.waitFor(t, runtime.Deleted, "duo-0-engine-1")
			ours.waitFor(t, runtime.NewReady, "duo-0-engine-1")
			sameAsFrontend(t, ours, ns, service, "duo-0", "duo-0-engine-1")
			assert.NotContains(t, ours.all(), string(runtime.NotReady)+" duo-0", "nothing happened to the other container")

			// The same name, another pod.
			kubectl(t, "", "-n", ns, "delete", "pod", "duo-0", "--grace-period=0", "--force")
			ours.waitFor(t, runtime.Deleted, "duo-0-engine-1")
			ours.waitFor(t, runtime.NewReady, "duo-0-engine-1")
			sameAsFrontend(t, ours, ns, service, "duo-0", "duo-0-engine-1")

			// Ours.
			gophers := subscribeAs(t, observer, namespace, "gopher")
			kubectl(t, statefulSetOf("gopher", map[string]string{
				wiring.LabelNamespace: namespace, wiring.LabelComponent: "gopher", wiring.LabelComponentType: wiring.TypeWorker,
			},
				instanceContainer("main", workerImage),
				instanceContainer("engine-1", workerImage, "--port=8081"),
			), "-n", ns, "apply", "-f", "-")
			sameAsFrontend(t, gophers, ns, service, "gopher-0", "gopher-0-engine-1")
			for _, i := range gophers.list(t) {
				assert.Equal(t, wiring.InstanceID(i.ID.PodName), writtenByDynamo(t, ns, i.ID.PodName, "generate"))
			}
			gopher := podOf(t, ns, "gopher")
			owner.Name, owner.UID = gopher.Name, gopher.UID
			assert.Equal(t, owner, ownerOf(t, ns, "gopher-0-engine-1"), "as Dynamo writes it")
			signalContainer(t, gopher, "engine-1", syscall.SIGKILL)
			gophers.waitFor(t, runtime.NotReady, "gopher-0-engine-1")
			gophers.waitFor(t, runtime.Ready, "gopher-0-engine-1")
			sameAsFrontend(t, gophers, ns, service, "gopher-0", "gopher-0-engine-1")
			assert.NotContains(t, gophers.all(), string(runtime.Deleted)+" gopher-0-engine-1")

			// Scaled to nothing.
			kubectl(t, "", "-n", ns, "scale", "statefulset", "duo", "gopher", "--replicas=0")
			ours.waitFor(t, runtime.Deleted, "duo-0")
			sameAsFrontend(t, ours, ns, service)
			sameAsFrontend(t, gophers, ns, service)
		})
	}
}
