package runtime_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/runtime"
)

// What the webhook refuses of a pod (rule invalid-name), the library refuses of a registration, wherever the name stands;
// one with no endpoint as well.
func TestRegistrationTakesTheNamesThatTheWebhookTakes(t *testing.T) {
	id := runtime.Identity{PodName: "worker-0", PodNamespace: "llm", PodUID: "uid-0", Namespace: "dynamo", Component: "backend"}
	for name, ok := range map[string]bool{
		"backend": true, "Planner": true, "a_b-C": true, "9": true, strings.Repeat("a", 63): true,
		"a.b": false, "a/b": false, "a b": false, "-a": false, "a_": false, "ключ": false, strings.Repeat("a", 64): false,
	} {
		for what, r := range map[string]runtime.Registration{
			"namespace": {Namespace: name}, "component": {Component: name},
			"endpoint": {Endpoints: []runtime.RegisterEndpoint{{Name: name, Transport: runtime.TCP("192.0.2.1:8080")}}},
		} {
			_, _, err := r.Resolve(id)
			if ok {
				require.NoError(t, err, "%s %q", what, name)
				continue
			}
			require.ErrorContains(t, err, what+` "`+name+`" `)
			assert.ErrorContains(t, err, "the first and the last a letter or a digit")
		}
	}
	_, _, err := runtime.Registration{Component: "a.b"}.Resolve(id)
	require.EqualError(t, err, `component "a.b" has a dot, which parts the names in NAMESPACE.COMPONENT.ENDPOINT: want at most 63 letters, `+
		`digits, '-' or '_', the first and the last a letter or a digit; "a-b" would do (rule invalid-name)`)
	_, _, err = runtime.Registration{Endpoints: []runtime.RegisterEndpoint{{Transport: runtime.TCP("192.0.2.1:8080")}}}.Resolve(id)
	require.ErrorContains(t, err, `endpoint "" is empty`)
}

// Dynamo's Rust workers register a namespace with dots where they are told to: whoever looks for it finds it.
func TestComponentsWithADotCanBeLookedFor(t *testing.T) {
	require.NoError(t, runtime.CheckComponent("a.b", "backend.x"))
	require.ErrorContains(t, runtime.CheckComponent("dynamo", "a/b"), "cannot be a label value")
	require.ErrorContains(t, runtime.CheckComponent("", "a"), "no namespace is given")
}
