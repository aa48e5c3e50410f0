package runtime_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/runtime"
)

func pod() map[string]string {
	return map[string]string{"POD_NAME": "worker-0", "POD_NAMESPACE": "llm", "POD_UID": "uid-0"}
}

func TestIdentityOfAWiredPod(t *testing.T) {
	env := pod()
	maps.Copy(env, map[string]string{
		"DYN_NAMESPACE": "team-a", "DYN_COMPONENT": "decode", "DYN_NAMESPACE_WORKER_SUFFIX": "abc",
		"DYN_ENDPOINT": "team-a.decode.serve", "DYN_SYSTEM_PORT": "9191",
	})
	id, err := runtime.IdentityFrom(env)
	require.NoError(t, err)
	assert.Equal(t, runtime.Identity{
		PodName: "worker-0", PodNamespace: "llm", PodUID: "uid-0",
		Namespace: "team-a", Component: "decode", WorkerSuffix: "abc", Endpoint: "serve", SystemPort: 9191,
	}, id)
}

func TestIdentityDefaults(t *testing.T) {
	id, err := runtime.IdentityFrom(pod())
	require.NoError(t, err)
	assert.Equal(t, "dynamo", id.Namespace)
	assert.Equal(t, "generate", id.Endpoint)
	assert.Equal(t, 9090, id.SystemPort)
}

func TestIdentityPort(t *testing.T) {
	for text, want := range map[string]int{"": 9090, "9191": 9191, "0": runtime.AnyPort, "-1": -1, "32767": 32767} {
		env := pod()
		env["DYN_SYSTEM_PORT"] = text
		id, err := runtime.IdentityFrom(env)
		require.NoError(t, err)
		assert.Equal(t, want, id.SystemPort, text)
	}
}

func TestIdentityEndpoint(t *testing.T) {
	for _, tc := range []struct{ endpoint, health, want string }{
		{"dyn://ns.comp.serve", "", "serve"},
		{"serve", "", "serve"},
		{"", `["embed"]`, "embed"},
		{"", "[]", "generate"},
		{"", "embed", "generate"},
	} {
		env := pod()
		env["DYN_ENDPOINT"], env["DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS"] = tc.endpoint, tc.health
		id, err := runtime.IdentityFrom(env)
		require.NoError(t, err)
		assert.Equal(t, tc.want, id.Endpoint, "%+v", tc)
	}
}

func TestIdentityNamesWhatIsMissing(t *testing.T) {
	for _, name := range []string{"POD_NAME", "POD_NAMESPACE", "POD_UID"} {
		env := pod()
		delete(env, name)
		_, err := runtime.IdentityFrom(env)
		require.ErrorContains(t, err, name+" is not set: label the Kubernetes namespace nvidia.com/dynamo-discovery-enabled=true and the pod"+
			" nvidia.com/dynamo-component=COMPONENT, so that dynawire injects it, and recreate the pod; or set it by hand")
	}
	for _, port := range []string{"x", "40000", "1.5"} {
		env := pod()
		env["DYN_SYSTEM_PORT"] = port
		_, err := runtime.IdentityFrom(env)
		require.ErrorContains(t, err, "DYN_SYSTEM_PORT is ")
	}
}

func TestIdentityOfAContainer(t *testing.T) {
	env := pod()
	maps.Copy(env, map[string]string{
		"DYN_KUBE_DISCOVERY_MODE": "container", "CONTAINER_NAME": "engine-1", "DYN_DISCOVERY_BACKEND": "kubernetes",
	})
	id, err := runtime.IdentityFrom(env)
	require.NoError(t, err)
	assert.Equal(t, "worker-0-engine-1", id.ObjectName())
	assert.Equal(t, runtime.InstanceID{Namespace: "llm", PodName: "worker-0-engine-1", UID: "uid-0/engine-1"}, id.InstanceID())
	assert.EqualValues(t, 4054906713372226, id.InstanceID().Number(), "as Dynamo's runtime has it")
	assert.Equal(t, "kubernetes", id.Backend)

	// No release reads this variable, which a proposal has.
	env["DYN_MAIN_CONTAINER_NAME"] = "engine-1"
	id, err = runtime.IdentityFrom(env)
	require.NoError(t, err)
	assert.Equal(t, "worker-0-engine-1", id.ObjectName())

	env["CONTAINER_NAME"] = "main" // keeps the pod's name
	id, err = runtime.IdentityFrom(env)
	require.NoError(t, err)
	assert.Equal(t, runtime.InstanceID{Namespace: "llm", PodName: "worker-0", UID: "uid-0"}, id.InstanceID())

	delete(env, "CONTAINER_NAME")
	_, err = runtime.IdentityFrom(env)
	require.ErrorContains(t, err, "CONTAINER_NAME is not set")
	env["DYN_KUBE_DISCOVERY_MODE"] = "Container"
	_, err = runtime.IdentityFrom(env)
	require.ErrorContains(t, err, `it must be "pod" (the default) or "container"`)
}
