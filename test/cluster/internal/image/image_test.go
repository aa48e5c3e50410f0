package image

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestArchive(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "hello", "hello", 0o700)
	first, second := filepath.Join(dir, "1.tar"), filepath.Join(dir, "2.tar")
	require.NoError(t, WriteBinary(first, "local/hello:1", filepath.Join(dir, "hello"), io.Discard))
	require.NoError(t, os.Chtimes(filepath.Join(dir, "hello"), time.Now(), time.Now().Add(-time.Hour)))
	require.NoError(t, WriteBinary(second, "local/hello:1", filepath.Join(dir, "hello"), io.Discard))

	t.Run("the same content gives the same bytes", func(t *testing.T) {
		require.Equal(t, read(t, first), read(t, second))
	})
	t.Run("its tag and identity can be read", func(t *testing.T) {
		info, err := ReadInfo(first)
		require.NoError(t, err)
		require.Equal(t, "local/hello:1", info.Tag)
		require.Equal(t, "docker.io/local/hello:1", info.Reference())
		require.Regexp(t, "^sha256:[0-9a-f]{64}$", info.Config)
	})
	t.Run("one that is there is left as it is", func(t *testing.T) {
		var out bytes.Buffer
		require.NoError(t, WriteBinary(first, "local/hello:1", filepath.Join(dir, "hello"), &out))
		require.Contains(t, out.String(), "up to date")
	})
	t.Run("nothing else is left behind", func(t *testing.T) {
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		require.NoError(t, err)
		require.Len(t, files, 3)
	})
	t.Run("what is no archive is said to be none", func(t *testing.T) {
		_, err := ReadInfo(filepath.Join(dir, "hello"))
		require.Error(t, err)
	})
}

func TestReferenceIsAsContainerdNamesIt(t *testing.T) {
	for tag, want := range map[string]string{
		"local/app:1":              "docker.io/local/app:1",
		"registry.example/app:1":   "registry.example/app:1",
		"localhost:5000/app/web:1": "localhost:5000/app/web:1",
	} {
		require.Equal(t, want, Info{Tag: tag}.Reference())
	}
}

func TestTags(t *testing.T) {
	for tag, ok := range map[string]bool{
		"local/app:1": true, "local/a/b:dev": true,
		"app": false, "app:1": false, "local/app": false, "local/app:": false, "local/:1": false, "localhost:5000/app": false,
	} {
		require.Equal(t, ok, checkTag(tag) == nil, tag)
	}
}

func TestLayer(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "src/pkg/run.py", "x", 0o600)
	write(t, dir, "src/pkg/tool", "x", 0o777)
	write(t, dir, "src/pkg/__pycache__/run.pyc", "x", 0o600)
	write(t, dir, "src/pkg/tests/test_run.py", "x", 0o600)
	write(t, dir, "src/pkg/bin/kept", "x", 0o600)
	write(t, dir, "src/bin/script", "x", 0o777)
	require.NoError(t, os.Symlink("tool", filepath.Join(dir, "src/pkg/link")))
	file := filepath.Join(dir, "layer.tar")
	entries := []entry{{target: "tmp", mode: 0o1777}, {source: filepath.Join(dir, "src"), target: "opt/python"}}
	require.NoError(t, writeLayer(file, entries, unneeded))

	type node struct {
		name string
		mode int64
		link string
	}
	var got []node
	in := tar.NewReader(bytes.NewReader(read(t, file)))
	for {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		require.Equal(t, int64(0), header.ModTime.Unix())
		require.Zero(t, header.Uid)
		got = append(got, node{header.Name, header.Mode, header.Linkname})
	}
	require.Equal(t, []node{
		{"tmp/", 0o1777, ""},
		{"opt/", 0o755, ""},
		{"opt/python/", 0o755, ""},
		{"opt/python/pkg/", 0o755, ""},
		{"opt/python/pkg/bin/", 0o755, ""},
		{"opt/python/pkg/bin/kept", 0o644, ""},
		{"opt/python/pkg/link", 0o777, "tool"},
		{"opt/python/pkg/run.py", 0o644, ""},
		{"opt/python/pkg/tool", 0o755, ""},
	}, got)
}

func TestCacheMakesALayerOncePerInput(t *testing.T) {
	cache := Cache{Dir: t.TempDir(), Out: io.Discard}
	made := 0
	layer := func(inputs ...string) Layer {
		layer, err := cache.layer(t.Context(), "x", inputs, func(file string) error {
			made++
			return os.WriteFile(file, []byte(inputs[0]), 0o600)
		})
		require.NoError(t, err)
		return layer
	}
	first := layer("ab", "c")
	require.Equal(t, first, layer("ab", "c"))
	require.Equal(t, 1, made)
	require.NotEqual(t, first.File, layer("a", "bc").File, "neighbouring inputs are kept apart")
	require.Equal(t, 2, made)

	require.NoError(t, os.Remove(first.File))
	require.Equal(t, first, layer("ab", "c"), "a layer that was removed is made again")
	require.Equal(t, 3, made)

	_, err := cache.layer(t.Context(), "y", nil, func(string) error { return errors.New("no network") })
	require.ErrorContains(t, err, "no network")
}

func TestProgramNames(t *testing.T) {
	for name, tc := range map[string]struct {
		packages, want []string
		fail           bool
	}{
		"one":         {packages: []string{"./cmd/webhook"}, want: []string{"webhook"}},
		"two":         {packages: []string{"cmd/webhook/", "examples/worker"}, want: []string{"webhook", "worker"}},
		"none":        {fail: true},
		"no name":     {packages: []string{"."}, fail: true},
		"same name":   {packages: []string{"a/worker", "b/worker"}, fail: true},
		"above":       {packages: []string{".."}, fail: true},
		"the root ./": {packages: []string{"./"}, fail: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := programNames(tc.packages)
			require.Equal(t, tc.fail, err != nil)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestBuildGo(t *testing.T) {
	root := t.TempDir()
	write(t, root, "go.mod", "module example.test/x\n", 0o600)
	for _, name := range []string{"one", "two"} {
		write(t, root, "cmd/"+name+"/main.go", "package main\n\nfunc main() { println(\""+name+"\") }\n", 0o600)
	}
	opts := GoOptions{Root: root, Packages: []string{"./cmd/one", "cmd/two"}, Tag: "local/x:1", Output: filepath.Join(root, "x.tar")}
	require.NoError(t, BuildGo(t.Context(), opts, io.Discard))
	before := read(t, opts.Output)
	require.NoError(t, BuildGo(t.Context(), opts, io.Discard))
	require.True(t, slices.Equal(before, read(t, opts.Output)), "a build can be repeated")
	list, err := exec.CommandContext(t.Context(), "tar", "-tf", opts.Output).Output()
	require.NoError(t, err)
	require.Contains(t, string(list), "layer.tar")

	elsewhere := t.TempDir()
	write(t, elsewhere, "go.mod", "module example.test/y\n", 0o600)
	write(t, elsewhere, "app/main.go", "package main\n\nfunc main() {}\n", 0o600)
	opts.Packages = []string{filepath.Join(elsewhere, "app")}
	require.NoError(t, BuildGo(t.Context(), opts, io.Discard), "an absolute directory is built in its own module")
	opts.Packages = []string{filepath.Join(elsewhere, "none")}
	require.ErrorContains(t, BuildGo(t.Context(), opts, io.Discard), filepath.Join(elsewhere, "none"))

	opts.Packages = []string{"cmd/one", "cmd/two"}
	opts.Entrypoint = "three"
	require.ErrorContains(t, BuildGo(t.Context(), opts, io.Discard), `"three" is none of the programs one, two`)
	opts.Entrypoint, opts.Packages = "", []string{"./cmd/none"}
	require.ErrorContains(t, BuildGo(t.Context(), opts, io.Discard), "build ./cmd/none")
}

func TestDynamoVersionIsChecked(t *testing.T) {
	opts := DynamoOptions{Version: "1.6.1; rm", Tag: "local/dynamo:1"}
	require.ErrorContains(t, BuildDynamo(t.Context(), opts, Cache{}), "dynamo version")
}

func TestRequirementsArePinned(t *testing.T) {
	for line := range bytes.Lines([]byte(dynamoRequirements)) {
		if !bytes.HasPrefix(line, []byte("#")) {
			require.Regexp(t, `^[a-z0-9-]+==[0-9][0-9a-z.]*\n$`, string(line))
		}
	}
	require.NotContains(t, dynamoRequirements, "\naisimulate")
}

func write(t *testing.T, dir, name, content string, mode os.FileMode) {
	t.Helper()
	file := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(content), mode))
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	return data
}
