package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/dynawire/dynawire/internal/cli/manifest"
	"github.com/dynawire/dynawire/internal/cli/wire"
	"github.com/dynawire/dynawire/pkg/identity/identitytest"
)

// Whatever the pod: it can be wired, twice is once, and the wiring can be taken out.
func TestGeneratedPods(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root, err := manifest.FromJSON([]byte(identitytest.Pods().Draw(t, "pod")))
		require.NoError(t, err)
		if manifest.Get(root, "kind") == nil {
			root.Content = append([]*yaml.Node{{Kind: yaml.ScalarNode, Value: "kind"}, {Kind: yaml.ScalarNode, Value: "Pod"}}, root.Content...)
		}
		out, err := yaml.Marshal(root)
		require.NoError(t, err)
		text := string(out)
		wired := changeOne(t, wire.Inject, text)
		require.Equal(t, wired, changeOne(t, wire.Inject, wired), "twice is once")
		changeOne(t, wire.Uninject, wired)
	})
}

func changeOne(t *rapid.T, f change, text string) string {
	documents, err := manifest.Parse("f", []byte(text))
	require.NoError(t, err)
	require.Len(t, documents, 1)
	r, err := f(&documents[0], options())
	require.NoError(t, err)
	return string(r.Text)
}
