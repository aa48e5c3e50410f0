package wire_test

import (
	"os"
	"testing"

	"github.com/dynawire/dynawire/internal/cli/manifest"
	"github.com/dynawire/dynawire/internal/cli/wire"
)

// What is written can be read again, and taken back.
func FuzzInject(f *testing.F) {
	for _, spec := range []string{"01-vllm-agg-worker.yaml", "07-gaie-worker-frontend-sidecar.yaml", "27-two-workers-one-pod.yaml"} {
		data, err := os.ReadFile(specs + spec)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("kind: Pod\nmetadata: {labels: {a: b}}\nspec:\n  containers:\n  - {name: c, " + command + ", env: [], ports: null}\n"))
	f.Add([]byte(`{"kind": "List", "items": [{"kind": "Pod", "spec": {"containers": [{"name": "c", "command": ["dynamo-vllm-sidecar"]}]}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		documents, err := manifest.Parse("f", data)
		if err != nil {
			return
		}
		for i := range documents {
			r, err := wire.Inject(&documents[i], options())
			if err != nil {
				continue
			}
			again, err := manifest.Parse("f", r.Text)
			if err != nil {
				t.Fatalf("%q became %q: %v", documents[i].Text, r.Text, err)
			}
			for j := range again {
				if _, err := wire.Uninject(&again[j], options()); err != nil {
					t.Fatalf("%q became %q: %v", documents[i].Text, r.Text, err)
				}
			}
		}
	})
}
