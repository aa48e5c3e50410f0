package instances_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/dynawire/dynawire/internal/cli/instances"
	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/wire"
)

// publishing is an instance with that registration's own object, and a card for each of the models.
func publishing(t *testing.T, values string, models ...string) runtime.Instance {
	t.Helper()
	d := wire.Document{InstanceID: 7, Values: json.RawMessage(values)}
	for _, name := range models {
		card, err := json.Marshal(map[string]string{"display_name": name})
		require.NoError(t, err)
		d.ModelCards = append(d.ModelCards, wire.ModelCard{Namespace: "dynamo", Component: "backend", Endpoint: "generate", Suffix: name, Card: card})
	}
	raw, err := wire.Encode(d)
	require.NoError(t, err)
	m := wire.Labelled("", string(raw))
	return runtime.Instance{ID: runtime.InstanceID{PodName: "w-0"}, Namespace: "dynamo", Component: "backend", Ready: true, Metadata: &m}
}

func printed(t *testing.T, format string, i runtime.Instance) string {
	t.Helper()
	var out bytes.Buffer
	p, err := instances.NewPrinter(&out, format)
	require.NoError(t, err)
	require.NoError(t, p.List([]runtime.Instance{i}))
	return out.String()
}

func TestModels(t *testing.T) {
	for name, c := range map[string]struct {
		values string
		cards  []string
		want   string
	}{
		"of a worker on the library":     {`{"Model": {"name": "Qwen3-32B"}}`, nil, "Qwen3-32B"},
		"of Dynamo's worker":             {"", []string{"Qwen3-32B"}, "Qwen3-32B"},
		"both say the same":              {`{"Model": {"name": "Qwen3-32B"}}`, []string{"Qwen3-32B"}, "Qwen3-32B"},
		"an adapter beside it":           {`{"Model": {"name": "Qwen3-32B"}}`, []string{"lora"}, "lora,Qwen3-32B"},
		"nothing":                        {"", nil, "-"},
		"a model of another form":        {`{"Model": "Qwen3-32B"}`, nil, "-"},
		"a name of another form":         {`{"Model": {"name": 3}}`, nil, "-"},
		"an object about something else": {`{"zone": "a"}`, nil, "-"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, "COMPONENT       POD  READY  ENDPOINTS  MODELS\ndynamo/backend  w-0  yes    -          "+c.want+"\n",
				printed(t, "", publishing(t, c.values, c.cards...)))
		})
	}
}

func TestWhatWasPublishedIsPrinted(t *testing.T) {
	i := publishing(t, `{"Model": {"name": "Qwen3-32B"}, "slots": 8}`)
	want := []map[string]any{{
		"id": map[string]any{"namespace": "", "pod": "w-0", "uid": ""}, "dynamoNamespace": "dynamo", "component": "backend", "ready": true,
		"revision": float64(0), "models": []any{"Qwen3-32B"},
		"metadata": map[string]any{"Model": map[string]any{"name": "Qwen3-32B"}, "slots": float64(8)},
	}}
	want[0]["number"] = i.ID.Number()
	for format, read := range map[string]func([]byte, any) error{
		"json": json.Unmarshal, "yaml": func(b []byte, v any) error { return yaml.Unmarshal(b, v) },
	} {
		var got []map[string]any
		require.NoError(t, read([]byte(printed(t, format, i)), &got))
		got[0]["number"] = i.ID.Number() // its form is tested elsewhere
		assert.Equal(t, want, got, format)
	}
	assert.NotContains(t, printed(t, "json", publishing(t, "")), "metadata")
}
