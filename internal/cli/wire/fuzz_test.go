package wire_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/internal/cli/manifest"
	"github.com/dynawire/dynawire/internal/cli/objects"
	"github.com/dynawire/dynawire/internal/cli/wire"
)

// maxFuzzed is room enough for every form of a manifest, and keeps an execution short.
const maxFuzzed = 2 << 10

func seeds(f *testing.F) {
	files, err := filepath.Glob("testdata/seeds/*")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, name := range files {
		data, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(data)
	}
}

// What is written can be read again, says what the text said with more, and stays as it is the second time.
func FuzzInject(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > maxFuzzed {
			return
		}
		once, ok := changeAll(wire.Inject, data)
		if !ok {
			return
		}
		twice, ok := changeAll(wire.Inject, once)
		if !ok || !bytes.Equal(once, twice) {
			t.Fatalf("%q became %q, and that %q", data, once, twice)
		}
	})
}

// What is taken out can be read again and comes again: the objects are then what they would have become without.
func FuzzUninject(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > maxFuzzed || bytes.Contains(data, []byte("(DYN_")) {
			return // what is injected may depend on itself there: some of it may stay
		}
		bare, ok := changeAll(wire.Uninject, data)
		if !ok {
			return
		}
		want, ok := changeAll(wire.Inject, data)
		if !ok {
			return
		}
		got, ok := changeAll(wire.Inject, bare)
		if !ok || !bytes.Equal(jsonOf(t, want), jsonOf(t, got)) {
			t.Fatalf("%q became %q, and that %q instead of %q", data, bare, got, want)
		}
	})
}

// changeAll changes all documents of a text; not ok where it cannot be read.
func changeAll(f change, data []byte) ([]byte, bool) {
	documents, err := manifest.Parse("f", data)
	if err != nil {
		return nil, false
	}
	var out []byte
	for i := range documents {
		r, err := f(&documents[i], options())
		if err != nil {
			return nil, false
		}
		out = append(out, r.Text...)
	}
	return out, true
}

// jsonOf is the objects of a text, each on a line.
func jsonOf(t *testing.T, data []byte) []byte {
	documents, err := manifest.Parse("f", data)
	require.NoError(t, err)
	var out []byte
	for i := range documents {
		root, _, err := objects.Open(&documents[i])
		require.NoError(t, err)
		if root != nil {
			text, err := manifest.ToJSON(root.Content[0], "")
			require.NoError(t, err)
			out = append(append(out, text...), '\n')
		}
	}
	return out
}
