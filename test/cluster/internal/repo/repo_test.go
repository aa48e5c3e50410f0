package repo

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFind(t *testing.T) {
	root := t.TempDir()
	module := filepath.Join(root, "test", "cluster")
	require.NoError(t, os.MkdirAll(module, 0o755))
	write := func(dir, name string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("// about\nmodule "+name+"\n"), 0o600))
	}
	write(root, rootModule)
	write(module, rootModule+"/test/cluster")

	for name, tc := range map[string]struct{ dir, flag, env, cache string }{
		"from the root":          {dir: root, cache: filepath.Join(root, ".cache")},
		"from within a module":   {dir: module, cache: filepath.Join(root, ".cache")},
		"the environment moves":  {dir: module, env: "/elsewhere", cache: "/elsewhere"},
		"the flag wins":          {dir: module, env: "/elsewhere", flag: "/here", cache: "/here"},
		"an unclean directory":   {dir: module + "/../cluster/.", cache: filepath.Join(root, ".cache")},
		"a flag with extra dots": {dir: root, flag: "/a/../b", cache: "/b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(CacheEnv, tc.env)
			paths, err := Find(tc.dir, tc.flag)
			require.NoError(t, err)
			require.Equal(t, Paths{Root: root, Module: module, Cache: tc.cache}, paths)
		})
	}

	_, err := Find(filepath.Dir(root), "")
	require.ErrorContains(t, err, "run this inside a checkout")
}
