package validate_test

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/identity/identitytest"
	"github.com/dynawire/dynawire/pkg/mutate"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/validate"
	"github.com/dynawire/dynawire/pkg/wiring"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestCorpus(t *testing.T) {
	var all strings.Builder
	for _, spec := range identitytest.Specs(t) {
		t.Run(spec.File, func(t *testing.T) {
			findings := validate.Pod(spec.Decode(t), wiring.Settings{})
			assert.ElementsMatch(t, spec.Deny, rules(findings, validate.Deny))
			assert.ElementsMatch(t, spec.Warn, rules(findings, validate.Warning))
			running := mutated(t, spec.JSON, wiring.Settings{})
			assert.Equal(t, findings, validate.Pod(running, wiring.Settings{}), "the verdict is on the pod after mutation")
			if spec.Update != nil {
				changed := mutated(t, spec.JSON, wiring.Settings{})
				maps.Copy(changed.Metadata.Labels, spec.Update.Labels)
				brought := validate.PodUpdate(running, changed, wiring.Settings{})
				assert.ElementsMatch(t, spec.Update.Deny, rules(brought, validate.Deny))
				assert.ElementsMatch(t, spec.Update.Warn, rules(brought, validate.Warning))
				findings = append(findings, brought...)
			}
			for _, f := range findings {
				all.WriteString(spec.File + "\n  " + f.String() + "\n")
			}
		})
	}
	golden(t, "corpus.txt", all.String())
}

// rules are the ids in findings of a severity, each once.
func rules(findings []validate.Finding, severity validate.Severity) []string {
	ids := []string{}
	for _, f := range findings {
		if f.Severity == severity && !contains(ids, f.Rule) {
			ids = append(ids, f.Rule)
		}
	}
	return ids
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

func mutated(t require.TestingT, data []byte, ns wiring.Settings) *pod.Pod {
	p, err := pod.Decode(data)
	require.NoError(t, err)
	operations := mutate.Pod(p, mutate.Options{ServiceAccount: wiring.ServiceAccount, Namespace: ns}).Patch
	if len(operations) == 0 {
		return p
	}
	raw, err := json.Marshal(operations)
	require.NoError(t, err)
	patch, err := jsonpatch.DecodePatch(raw)
	require.NoError(t, err)
	after, err := patch.Apply(data)
	require.NoError(t, err)
	p, err = pod.Decode(after)
	require.NoError(t, err)
	return p
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

func TestNew(t *testing.T) {
	a := validate.Finding{Rule: "a", Field: "x"}
	b := validate.Finding{Rule: "a", Field: "y"}
	assert.Equal(t, []validate.Finding{b}, validate.New([]validate.Finding{a}, []validate.Finding{a, b}))
	assert.Empty(t, validate.New([]validate.Finding{a, b}, []validate.Finding{b}))
}
