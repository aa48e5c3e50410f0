package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What people have in files: every command takes it, or every command refuses it with the same words.
func TestEveryCommandTakesTheSame(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		code int
		says string
	}{
		"nothing":                  {"", 0, ""},
		"a marker":                 {"---\n", 0, ""},
		"empty documents":          {"---\n---\n# c\n...\n---\n" + worker, 0, ""},
		"a byte order mark":        {"\ufeff" + worker, 0, ""},
		"a list of lists":          {"kind: List\nitems:\n- kind: List\n  items:\n  - kind: PodList\n    items:\n    - {metadata: {name: x}, spec: {containers: [{name: c}]}}\n", 0, ""},
		"anchors and merge keys":   {"x: &x {name: c, command: [python3, -m, dynamo.vllm]}\nkind: Pod\nspec: {containers: [{<<: *x, image: z}]}\n", 0, ""},
		"an empty template":        {"kind: Deployment\nmetadata: {name: d}\nspec: {template: {spec: null}}\n", 0, ""},
		"no template":              {"kind: Deployment\nmetadata: {name: d}\n", 0, ""},
		"a tab":                    {"kind: Pod\nspec:\n\tcontainers: []\n", 2, "f: document 1, line 3: found character that cannot start any token; the line is indented with a tab, want spaces"},
		"a key twice":              {"kind: Pod\nspec: {}\nspec: {}\n", 2, `f: document 1, line 3: key "spec" is there twice; keep one of them`},
		"a JSON list":              {`[{"kind": "Pod"}]`, 2, "found a list"},
		"a container that is null": {"kind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  -\n", 2, `f: document 1, line 5: Pod/a: spec.containers[0] is null, want an item of the list; remove its "-" or write what is missing`},
		"values of a chart":        {"replicas: 3\n", 2, "f: document 1, line 1: kind is missing"},
		"a command that is a text": {"kind: Pod\nmetadata: {name: a}\nspec: {containers: [{command: python3 -m x}]}\n", 2, `f: document 1, line 3: Pod/a: spec.containers[0].command: "python3 -m x" is a string, want a list`},
	} {
		t.Run(name, func(t *testing.T) {
			for _, command := range []string{"inject", "uninject", "explain", "check"} {
				t.Chdir(t.TempDir())
				require.NoError(t, os.WriteFile("f", []byte(c.text), 0o600))
				code, stdout, stderr := call("", command, "-f", "f")
				assert.Equal(t, c.code, code, "%s: %s", command, stderr)
				assert.Contains(t, stderr, c.says, command)
				if c.code == exitFailed {
					assert.Empty(t, stdout, command)
				}
			}
		})
	}
}

func TestEveryCommandHasHelp(t *testing.T) {
	for _, command := range []string{"inject", "uninject", "explain", "check"} {
		code, stdout, _ := call("", command, "--help")
		assert.Equal(t, exitOK, code)
		assert.Contains(t, stdout, "Examples:", command)
		assert.Contains(t, stdout, "--namespace-file", command)
	}
}

func TestUnreadable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	file := filepath.Join(t.TempDir(), "a.yaml")
	require.NoError(t, os.WriteFile(file, nil, 0o000))
	code, _, stderr := call("", "inject", "-f", file)
	assert.Equal(t, exitFailed, code)
	assert.Equal(t, "error: "+file+": permission denied\n", stderr)
}

// The pods of a workload are in its namespace, which their variables may say; what the template says of one means nothing.
func TestNamespaceOfATemplate(t *testing.T) {
	const text = "kind: Deployment\nmetadata: {name: d, namespace: llm}\nspec:\n  template:\n    metadata: {name: x, namespace: z}\n    spec:\n      containers:\n      - name: c\n        command: [python3, -m, dynamo.vllm, --namespace, $(POD_NAMESPACE)]\n"
	code, stdout, stderr := call(text, "explain", "-f", "-")
	require.Equal(t, exitOK, code, stderr)
	assert.Regexp(t, `namespace +llm +proven +argument`, stdout)
	assert.NotContains(t, stdout, "unresolved-variable")
	code, _, stderr = call(text, "check", "-f", "-", "--fail-on", "warn")
	assert.Equal(t, exitOK, code, stderr)
	code, wired, stderr := call(text, "inject", "-f", "-")
	require.Equal(t, exitOK, code, stderr)
	assert.Contains(t, wired, "nvidia.com/dynamo-namespace: llm")
	code, back, stderr := call(wired, "uninject", "-f", "-")
	require.Equal(t, exitOK, code, stderr)
	assert.Equal(t, text, back, "there and back")
}
