package wire_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/internal/cli/manifest"
	"github.com/dynawire/dynawire/internal/cli/wire"
)

// What a pod of three containers costs, there and back.
func BenchmarkThereAndBack(b *testing.B) {
	text, err := os.ReadFile(specs + "07-gaie-worker-frontend-sidecar.yaml")
	require.NoError(b, err)
	run := func(b *testing.B, f change, text []byte) wire.Result {
		b.Helper()
		documents, err := manifest.Parse("f", text)
		require.NoError(b, err)
		r, err := f(&documents[0], options())
		require.NoError(b, err)
		return r
	}
	wired := run(b, wire.Inject, text).Text
	b.Run("inject", func(b *testing.B) {
		for b.Loop() {
			run(b, wire.Inject, text)
		}
	})
	b.Run("uninject", func(b *testing.B) {
		for b.Loop() {
			run(b, wire.Uninject, wired)
		}
	})
}
