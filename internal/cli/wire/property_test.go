package wire_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/dynawire/dynawire/internal/cli/manifest"
	"github.com/dynawire/dynawire/internal/cli/wire"
	"github.com/dynawire/dynawire/pkg/identity/identitytest"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// Whatever the workload: twice is once, and Uninject is the way back; in YAML with every comment, and byte for byte where
// nothing was there that says the same as its absence.
func TestThereAndBackInYAML(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root, err := manifest.FromJSON([]byte(identitytest.Workloads().Draw(t, "workload")))
		require.NoError(t, err)
		var b strings.Builder
		e := yaml.NewEncoder(&b)
		e.SetIndent(rapid.SampledFrom([]int{2, 4}).Draw(t, "indent"))
		if rapid.Bool().Draw(t, "compact") {
			e.CompactSeqIndent()
		}
		require.NoError(t, e.Encode(root))
		text := commented(t, b.String())
		back := thereAndBack(t, text)
		before, after := objectOf(t, text), objectOf(t, back)
		if normal(before) == nil {
			return // there was nothing that counts
		}
		within(t, normal(before), normal(after), "")
		if strings.Contains(text, "$(DYN_") {
			return // what is injected may depend on itself: some of it may stay
		}
		require.Equal(t, normal(before), normal(after))
		if exact(before) {
			require.Equal(t, text, back)
		}
		for line := range strings.Lines(text) {
			if comment := strings.TrimSpace(line); strings.HasPrefix(comment, "# ") {
				require.Contains(t, back, comment+"\n")
			}
		}
	})
}

// JSON has no comments to remember by: what the user had of the wiring himself is taken out with it. Never more than that:
// whatever is gone comes again by Inject.
func TestThereAndBackInJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := identitytest.Workloads().Draw(t, "workload")
		back := thereAndBack(t, text)
		before, after := objectOf(t, text), objectOf(t, back)
		if strings.Contains(text, "$(DYN_") {
			return // what is injected may depend on itself: some of it may stay
		}
		within(t, normal(after), normal(before), "")
		require.Equal(t, objectOf(t, changeOne(t, wire.Inject, text)), objectOf(t, changeOne(t, wire.Inject, back)))
	})
}

func thereAndBack(t *rapid.T, text string) string {
	wired := changeOne(t, wire.Inject, text)
	require.Equal(t, wired, changeOne(t, wire.Inject, wired), "twice is once")
	return changeOne(t, wire.Uninject, wired)
}

func changeOne(t *rapid.T, f change, text string) string {
	documents, err := manifest.Parse("f", []byte(text))
	require.NoError(t, err)
	require.Len(t, documents, 1)
	r, err := f(&documents[0], options())
	require.NoError(t, err)
	return string(r.Text)
}

// commented is a text in block style with comments between its lines.
func commented(t *rapid.T, text string) string {
	var b strings.Builder
	for i, line := range slices.Collect(strings.Lines(text)) {
		if rapid.IntRange(0, 9).Draw(t, "comment") == 0 {
			b.WriteString(line[:len(line)-len(strings.TrimLeft(line, " "))] + "# " + strconv.Itoa(i) + "\n")
		}
		b.WriteString(line)
	}
	return b.String()
}

func objectOf(t *rapid.T, text string) any {
	documents, err := manifest.Parse("f", []byte(text))
	require.NoError(t, err)
	data, err := manifest.ToJSON(documents[0].Object(), "")
	require.NoError(t, err)
	var v any
	require.NoError(t, json.Unmarshal(data, &v))
	return v
}

// normal leaves out what says the same as its absence: null, an empty list or object, the account "default"; and the
// annotation by which Inject tells the reconciler the account, which nobody writes by hand.
func normal(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			account := (key == "serviceAccountName" || key == "serviceAccount") && value == "default"
			if n := normal(value); n != nil && !account && key != wiring.AnnotationServiceAccount {
				out[key] = n
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case []any:
		var out []any
		for _, item := range v {
			out = append(out, normal(item))
		}
		if len(out) == 0 {
			return nil
		}
		return out
	}
	return v
}

// exact reports whether an object has nothing that normal leaves out.
func exact(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case map[string]any:
		if len(v) == 0 || v["serviceAccountName"] == "default" || v["serviceAccount"] == "default" || v[wiring.AnnotationServiceAccount] != nil {
			return false
		}
		for _, value := range v {
			if !exact(value) {
				return false
			}
		}
	case []any:
		if len(v) == 0 || slices.ContainsFunc(v, func(item any) bool { return !exact(item) }) {
			return false
		}
	}
	return true
}

// within: got has nothing that want has not. Of lists, items may be gone.
func within(t *rapid.T, got, want any, at string) {
	switch got := got.(type) {
	case map[string]any:
		want, ok := want.(map[string]any)
		require.True(t, ok, at)
		for key := range got {
			require.Contains(t, want, key, at)
			within(t, got[key], want[key], at+"."+key)
		}
	case []any:
		want, ok := want.([]any)
		require.True(t, ok, at)
		if named(at) {
			for _, item := range got {
				require.Contains(t, want, item, at)
			}
			return
		}
		require.Len(t, got, len(want), at)
		for i := range got {
			within(t, got[i], want[i], at)
		}
	case nil:
	default:
		require.Equal(t, want, got, at)
	}
}

func named(at string) bool { return strings.HasSuffix(at, ".env") || strings.HasSuffix(at, ".ports") }
