package wire_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/internal/cli/manifest"
	"github.com/dynawire/dynawire/internal/cli/namespace"
	"github.com/dynawire/dynawire/internal/cli/objects"
	"github.com/dynawire/dynawire/internal/cli/wire"
	"github.com/dynawire/dynawire/pkg/identity/identitytest"
	"github.com/dynawire/dynawire/pkg/mutate"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

const specs = "../../../pkg/identity/identitytest/testdata/specs/"

func options() *wire.Options {
	return &wire.Options{Namespaces: namespace.New(nil), ServiceAccount: wiring.ServiceAccount}
}

type change func(*manifest.Document, *wire.Options) (wire.Result, error)

// run changes all documents of a text.
func run(t *testing.T, f change, text string) string {
	t.Helper()
	documents, err := manifest.Parse("f", []byte(text))
	require.NoError(t, err)
	var out strings.Builder
	for i := range documents {
		r, err := f(&documents[i], options())
		require.NoError(t, err)
		out.Write(r.Text)
	}
	return out.String()
}

// template is the JSON of the first pod template of a text.
func template(t *testing.T, text string) []byte {
	t.Helper()
	documents, err := manifest.Parse("f", []byte(text))
	require.NoError(t, err)
	for i := range documents {
		_, objects, err := objects.Open(&documents[i])
		require.NoError(t, err)
		for _, o := range objects {
			for _, found := range o.Templates {
				data, err := manifest.ToJSON(found.Node, "")
				require.NoError(t, err)
				return data
			}
		}
	}
	require.Fail(t, "no template")
	return nil
}

// The command line makes of a manifest what the webhook makes of its pods; what is there stays as it is written; twice is
// once; and Uninject is the way back, byte for byte.
func TestCorpus(t *testing.T) {
	for _, spec := range identitytest.Specs(t) {
		t.Run(spec.File, func(t *testing.T) {
			data, err := os.ReadFile(specs + spec.File)
			require.NoError(t, err)
			text := string(data)
			assertWired(t, text)
			if spec.Pod == "skipped" {
				assert.Equal(t, text, run(t, wire.Inject, text))
			}
		})
		t.Run(spec.File+" as JSON", func(t *testing.T) {
			documents, err := manifest.Parse("f", read(t, spec.File))
			require.NoError(t, err)
			root, _, err := objects.Open(&documents[0])
			require.NoError(t, err)
			for _, indent := range []string{"", "  ", "\t"} {
				text, err := manifest.ToJSON(root.Content[0], indent)
				require.NoError(t, err)
				assertPatched(t, string(text)+"\n")
				if spec.Pod == "skipped" {
					assert.Equal(t, string(text), run(t, wire.Inject, string(text)))
				}
			}
		})
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(specs + file)
	require.NoError(t, err)
	return data
}

// assertWired: and the way back is the text itself, and nothing of the text is lost.
func assertWired(t *testing.T, text string) {
	t.Helper()
	after := assertPatched(t, text)
	assert.Equal(t, text, run(t, wire.Uninject, after), "there and back")
	assertAdded(t, text, after)
}

// assertPatched: the template is what the patch makes of it.
func assertPatched(t *testing.T, text string) string {
	t.Helper()
	after := run(t, wire.Inject, text)
	before := template(t, text)
	p, err := pod.Decode(before)
	require.NoError(t, err)
	assert.JSONEq(t, string(apply(t, before, mutate.Pod(p, mutate.Options{ServiceAccount: wiring.ServiceAccount}))), string(template(t, after)))
	assert.Equal(t, after, run(t, wire.Inject, after), "twice is once")
	return after
}

func apply(t *testing.T, data []byte, r mutate.Result) []byte {
	t.Helper()
	if len(r.Patch) == 0 {
		return data
	}
	raw, err := json.Marshal(r.Patch)
	require.NoError(t, err)
	patch, err := jsonpatch.DecodePatch(raw)
	require.NoError(t, err)
	after, err := patch.Apply(data)
	require.NoError(t, err)
	return after
}

// assertAdded: every line of text is in after, in its order.
func assertAdded(t *testing.T, text, after string) {
	t.Helper()
	rest := after
	for line := range strings.Lines(text) {
		i := strings.Index("\n"+rest, "\n"+strings.TrimSuffix(line, "\n"))
		require.GreaterOrEqual(t, i, 0, "this line is lost: %s", line)
		rest = rest[i+len(strings.TrimSuffix(line, "\n")):]
	}
}

const command = `command: [python3, -m, dynamo.vllm, --model, m]`

// How people write: what is not wired stays to the byte.
func TestStyles(t *testing.T) {
	for name, text := range map[string]string{
		"plain":         "kind: Pod\nmetadata:\n  name: a\nspec:\n  containers:\n  - name: c\n    " + command + "\n",
		"comments":      "# top\nkind: Pod # kind\nmetadata: # m\n  # n\n  name: a # name\n\nspec:\n  # list\n  containers:\n  # first\n  - name: c # c\n    " + command + " # cmd\n    # end of c\n  # end of list\n# end\n",
		"no line break": "kind: Pod\nspec:\n  containers:\n  - name: c\n    " + command,
		"four spaces":   "kind: Pod\nmetadata:\n    labels:\n        a: b\nspec:\n    containers:\n        - name: c\n          " + command + "\n          env:\n              - name: A\n                value: b\n",
		"dos":           "kind: Pod\r\nspec:\r\n  containers:\r\n  - name: c\r\n    " + command + "\r\n",
		"marker":        "---\nkind: Pod\nspec:\n  containers:\n  - name: c\n    " + command + "\n...\n",
		"block text at the end": "kind: Pod\nspec:\n  containers:\n  - name: c\n    " + command +
			"\n    env:\n    - name: A\n      value: |\n        a\n\n        # no comment\n\n    # comment\n  volumes: []\n",
		"comments in env": "kind: Pod\nspec:\n  containers:\n  - name: c\n    " + command +
			"\n    env: # all\n    # first\n    - name: A\n      value: b\n    # - name: B\n    ports:\n    # p\n    - name: x\n      containerPort: 1\n    # q\n",
		"flow":           "kind: Pod\nmetadata: {name: a, labels: {x: 'y, }'}}\nspec: {containers: [{name: c, " + command + ", env: [{name: A, value: \"]\"}]}]}\n",
		"flow, spaced":   "kind: Pod\nmetadata: { labels: { x: z } }\nspec:\n  containers:\n  - { name: c, " + command + ", ports: [ { name: x, containerPort: 1 } ] }\n",
		"characters":     "kind: Pod\nmetadata: {annotations: {é: \"ü\", l: \"😀\"}, labels: {a: b}}\nspec:\n  containers:\n  - name: c\n    " + command + "\n",
		"account":        "kind: Pod\nspec:\n  serviceAccountName: mine\n  containers:\n  - name: c\n    " + command + "\n",
		"other objects":  "kind: Service\nmetadata:   {name: s}\n---\n# nothing\n---\nkind: Pod\nspec:\n  containers:\n  - name: c\n    " + command + "\n---\nkind:   ConfigMap\n",
		"list":           "kind: List\nitems:\n- kind: Service\n- kind: Pod\n  spec:\n    containers:\n    - name: c\n      " + command + "\n- kind: Pod\n  spec:\n    containers:\n    - name: redis\n",
		"cron job":       "kind: CronJob\nspec:\n  jobTemplate:\n    spec:\n      template:\n        metadata: {}\n        spec:\n          containers:\n          - name: c\n            " + command + "\n",
		"aliases":        "x: &e\n- {name: A, value: b}\nkind: Pod\nspec:\n  containers:\n  - name: c\n    " + command + "\n    env:\n    - &a\n      name: B\n      value: c\n  - name: d\n    env: *e\n  - name: f\n    env:\n    - *a\n",
		"merge":          "x: &c\n  name: d\n  env: []\nkind: Pod\nspec:\n  containers:\n  - name: c\n    " + command + "\n  - <<: *c\n",
		"labels of mine": "kind: Pod\nmetadata:\n  labels:\n    nvidia.com/dynamo-component: backend\nspec:\n  containers:\n  - name: c\n    " + command + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			after := assertPatched(t, text)
			assert.NotEqual(t, text, after)
			if name == "cron job" {
				return // "metadata: {}" goes with what was put there
			}
			assert.Equal(t, text, run(t, wire.Uninject, after), "there and back")
			if !strings.HasPrefix(name, "flow") && name != "characters" {
				assertAdded(t, text, after)
			}
		})
	}
}

// What cannot be written into the text is written anew, with the same outcome.
func TestWrittenAnew(t *testing.T) {
	for name, text := range map[string]string{
		"null":           "kind: Pod\nmetadata:\n  labels:\nspec:\n  containers:\n  - name: c\n    " + command + "\n    env: null\n    ports: ~\n",
		"default":        "kind: Pod\nspec:\n  serviceAccountName: \"default\"\n  serviceAccount: default\n  containers:\n  - name: c\n    " + command + "\n",
		"dash alone":     "kind: Pod\nspec:\n  containers:\n  -\n    name: c\n    " + command + "\n    env:\n    -\n      name: A\n      value: b\n",
		"aliases":        "x: &e\n- {name: A, value: b}\nkind: Pod\nspec:\n  containers:\n  - name: c\n    " + command + "\n    env: *e\n  - name: d\n    env: *e\n",
		"merge":          "x: &c\n  name: c\n  env: []\nkind: Pod\nspec:\n  containers:\n  - <<: *c\n    " + command + "\n",
		"explicit keys":  "kind: Pod\nspec:\n  ? containers\n  : - name: c\n      " + command + "\n",
		"tabs in JSON":   "{\n\t\"kind\": \"Pod\",\n\t\"spec\": {\"containers\": [{\"name\": \"c\", \"command\": [\"dynamo-vllm-sidecar\"]}]}\n}\n",
		"metadata: null": "kind: Pod\nmetadata: null\nspec:\n  containers:\n  - name: c\n    " + command + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			after := run(t, wire.Inject, text)
			assert.NotEqual(t, text, after)
			assert.Equal(t, after, run(t, wire.Inject, after), "twice is once")
			back := run(t, wire.Uninject, after)
			assert.NotContains(t, back, "POD_NAME")
			assert.NotContains(t, back, "nvidia.com")
		})
	}
}

func TestUninjectLeavesAlone(t *testing.T) {
	for name, text := range map[string]string{
		"never wired":    "kind: Pod\nspec:\n  containers:\n  - name: c\n    " + command + "\n    env:\n    - name: POD_NAME\n      valueFrom: {fieldRef: {fieldPath: metadata.name}}\n",
		"not Dynamo's":   "kind: Pod\nspec:\n  serviceAccountName: dynamo-discovery\n  containers:\n  - name: c\n",
		"not a workload": "kind: Service\n",
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, text, run(t, wire.Uninject, text)) })
	}
	t.Run("what was changed since", func(t *testing.T) {
		wired := run(t, wire.Inject, "kind: Pod\nspec:\n  containers:\n  - name: c\n    "+command+"\n")
		changed := strings.Replace(wired, "periodSeconds: 1", "periodSeconds: 7", 1)
		require.NotEqual(t, wired, changed)
		back := run(t, wire.Uninject, changed)
		assert.Contains(t, back, "periodSeconds: 7")
		assert.NotContains(t, back, "POD_NAME")
	})
}
