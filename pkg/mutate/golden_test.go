package mutate_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	gomodules "gomodules.xyz/jsonpatch/v2"

	"github.com/dynawire/dynawire/pkg/identity/identitytest"
	"github.com/dynawire/dynawire/pkg/mutate"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

var update = flag.Bool("update", false, "write the golden files anew")

var options = mutate.Options{ServiceAccount: wiring.ServiceAccount}

// Each spec of the corpus has its patch in testdata/patches, one operation a line.
func TestPatchesOfTheCorpus(t *testing.T) {
	for _, spec := range identitytest.Specs(t) {
		t.Run(spec.File, func(t *testing.T) {
			r := mutate.Pod(spec.Decode(t), options)
			golden(t, "patches/"+strings.TrimSuffix(spec.File, ".yaml")+".txt", lines(t, string(r.Reason), r.Patch))
			assertSettled(t, spec.JSON, options)
		})
	}
}

func TestPatchesOfTheReviews(t *testing.T) {
	for _, name := range []string{"small", "worker", "large", "future"} {
		t.Run(name, func(t *testing.T) {
			data := identitytest.ReviewPod(t, name)
			r := mutate.Pod(decode(t, data), options)
			golden(t, "patches/review-"+name+".txt", lines(t, string(r.Reason), r.Patch))
			assertSettled(t, data, options)
		})
	}
}

// assertSettled: the patch applies, removes nothing, and a second mutation finds nothing to do.
func assertSettled(t require.TestingT, data []byte, o mutate.Options) []byte {
	r := mutate.Pod(decode(t, data), o)
	after := apply(t, data, r.Patch)
	again := mutate.Pod(decode(t, after), o)
	require.Equal(t, r.Reason, again.Reason)
	require.Empty(t, again.Patch, "mutating twice changes nothing")
	require.Equal(t, r.Identity.Namespace.Text, again.Identity.Namespace.Text)
	require.Equal(t, r.Identity.Component.Text, again.Identity.Component.Text)
	require.Equal(t, r.Identity.Endpoint.Text, again.Identity.Endpoint.Text)
	require.Equal(t, r.Identity.Role.Text, again.Identity.Role.Text)
	var a, b any
	require.NoError(t, json.Unmarshal(data, &a))
	require.NoError(t, json.Unmarshal(after, &b))
	contains(t, b, a, "")
	return after
}

// contains: everything in want is still in got. Lists may have grown at either end; the account may have changed.
func contains(t require.TestingT, got, want any, path string) {
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		require.True(t, ok, path)
		for key := range want {
			if at := path + "/" + key; at != "/spec/serviceAccountName" && at != "/spec/serviceAccount" &&
				!strings.HasSuffix(at, "annotations/"+wiring.AnnotationServiceAccount) && want[key] != nil {
				require.Contains(t, got, key, path)
				contains(t, got[key], want[key], at)
			}
		}
	case []any:
		got, ok := got.([]any)
		require.True(t, ok, path)
		require.GreaterOrEqual(t, len(got), len(want), path)
		if strings.HasSuffix(path, "/env") {
			got = got[len(got)-len(want):]
		}
		for i := range want {
			contains(t, got[i], want[i], path)
		}
	default:
		require.Equal(t, want, got, path)
	}
}

func decode(t require.TestingT, data []byte) *pod.Pod {
	p, err := pod.Decode(data)
	require.NoError(t, err)
	return p
}

func apply(t require.TestingT, data []byte, operations []gomodules.Operation) []byte {
	raw, err := json.Marshal(operations)
	require.NoError(t, err)
	if operations == nil {
		raw = []byte("[]")
	}
	patch, err := jsonpatch.DecodePatch(raw)
	require.NoError(t, err)
	after, err := patch.Apply(data)
	require.NoError(t, err)
	return after
}

func lines(t *testing.T, reason string, patch []gomodules.Operation) string {
	t.Helper()
	var b bytes.Buffer
	b.WriteString(reason + "\n")
	for i := range patch {
		value, err := json.Marshal(patch[i].Value)
		require.NoError(t, err)
		b.WriteString(patch[i].Operation + " " + patch[i].Path + " " + string(value) + "\n")
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run with -update")
	assert.Equal(t, string(want), got)
}
