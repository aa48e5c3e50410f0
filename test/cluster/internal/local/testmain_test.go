package local

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/test/cluster/internal/repo"
)

// update rewrites golden files: go test ./internal/local -update.
var update = flag.Bool("update", false, "rewrite golden files")

// newTestCluster is a cluster in a temporary directory, of which nothing runs.
func newTestCluster(t *testing.T) *Cluster {
	t.Helper()
	c, err := Open(repo.Paths{Cache: t.TempDir()}, "unit", io.Discard)
	require.NoError(t, err)
	return c
}

// goldenLayout has the same paths on every machine.
func goldenLayout(t *testing.T) Layout {
	t.Helper()
	l, err := NewLayout(repo.Paths{Cache: "/checkout/.cache"}, "example")
	require.NoError(t, err)
	return l
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, got, 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "run the tests with -update to write it")
	require.Equal(t, string(want), string(got))
}
