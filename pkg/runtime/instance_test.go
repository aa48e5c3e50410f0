package runtime_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/runtime"
)

// realInstance is one of Dynamo's workers.
func realInstance(t testing.TB) runtime.Instance {
	raw, err := os.ReadFile(filepath.Join("wire", "testdata", "worker-metadata-1.6.1.json"))
	require.NoError(t, err)
	var object struct{ Spec struct{ Data any } }
	require.NoError(t, json.Unmarshal(raw, &object))
	data, err := json.Marshal(object.Spec.Data) // as an API server writes it
	require.NoError(t, err)
	return runtime.Instance{Component: "backend", Metadata: document(t, string(data))}
}

func TestEndpointOfTheInstancesOwnComponent(t *testing.T) {
	i := realInstance(t)
	e, ok := i.Endpoint("generate")
	assert.True(t, ok)
	assert.Equal(t, i.Endpoints()[0], e)
	_, ok = i.Endpoint("generat")
	assert.False(t, ok)
	i.Component = "decode"
	_, ok = i.Endpoint("generate")
	assert.False(t, ok)
	_, ok = runtime.Instance{}.Endpoint("generate")
	assert.False(t, ok)
}

// What a router asks for every request.
func BenchmarkInstanceEndpoint(b *testing.B) {
	i := realInstance(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := i.Endpoint("generate"); !ok {
			b.Fatal("want one")
		}
	}
}
