package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/identity/identitytest"
)

var update = flag.Bool("update", false, "write the golden files anew")

const specs = "../../pkg/identity/identitytest/testdata/specs/"

// call runs the command line.
func call(stdin string, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run with -update")
	assert.Equal(t, string(want), got)
}

// The golden files are what a user sees. team.yaml has comments, several documents, a Namespace and every kind of reason.
func TestGolden(t *testing.T) {
	for name, args := range map[string][]string{
		"team.injected.yaml":    {"inject", "-f", "testdata/team.yaml"},
		"team.injected.json":    {"inject", "-f", "testdata/team.yaml", "-o", "json"},
		"team.diff":             {"inject", "-f", "testdata/team.yaml", "-o", "diff"},
		"team.explained.txt":    {"explain", "-f", "testdata/team.yaml"},
		"team.explained.json":   {"explain", "-f", "testdata/team.yaml", "-o", "json"},
		"team.explained.yaml":   {"explain", "-f", "testdata/team.yaml", "-o", "yaml"},
		"worker.injected.json":  {"inject", "-f", "testdata/worker.json"},
		"worker.injected.yaml":  {"inject", "-f", "testdata/worker.json", "-o", "yaml"},
		"frontend.diff":         {"inject", "-f", specs + "09-frontend-kv-router.yaml", "-o", "diff"},
		"sidecar.diff":          {"inject", "-f", specs + "07-gaie-worker-frontend-sidecar.yaml", "-o", "diff"},
		"prefill-explained.txt": {"explain", "-f", specs + "03-vllm-prefill-split-command.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := call("", args...)
			assert.Equal(t, exitOK, code, stderr)
			golden(t, name, stdout)
			if name == "team.injected.yaml" {
				golden(t, "team.stderr.txt", stderr)
			}
		})
	}
}

func TestThereAndBack(t *testing.T) {
	for _, file := range []string{"team.yaml", "worker.json"} {
		text, err := os.ReadFile("testdata/" + file)
		require.NoError(t, err)
		code, wired, _ := call("", "inject", "-f", "testdata/"+file)
		require.Equal(t, exitOK, code)
		code, again, stderr := call(wired, "inject", "-f", "-")
		assert.Equal(t, exitOK, code)
		assert.Equal(t, wired, again, "twice is once")
		assert.NotContains(t, stderr, "changes")
		code, back, _ := call(wired, "uninject", "-f", "-")
		assert.Equal(t, exitOK, code)
		if file == "worker.json" {
			assert.JSONEq(t, string(text), back, "there and back; JSON is indented anew")
			continue
		}
		assert.Equal(t, string(text), back, "there and back")
	}
}

// entry is the contract of explain -o json as its readers have it.
type entry struct {
	Object   string                 `json:"object"`
	Pod      string                 `json:"pod"`
	Reason   string                 `json:"reason"`
	Identity *identitytest.Identity `json:"identity"`
	Deny     []string               `json:"deny"`
	Warn     []string               `json:"warn"`
	Messages []string               `json:"messages"`
	Patch    []struct{ Op, Path string }
}

// The whole corpus at once: an entry for each object, in order.
func TestCorpus(t *testing.T) {
	corpus := identitytest.Specs(t)
	args := []string{"explain", "-o", "json"}
	for _, spec := range corpus {
		args = append(args, "-f", specs+spec.File)
	}
	code, stdout, stderr := call("", args...)
	require.Equal(t, exitOK, code, stderr)
	var entries []entry
	require.NoError(t, json.Unmarshal([]byte(stdout), &entries))
	require.Len(t, entries, len(corpus))
	for i, spec := range corpus {
		t.Run(spec.File, func(t *testing.T) {
			got := entries[i]
			assert.Equal(t, spec.Object, got.Object)
			assert.Equal(t, spec.Pod, got.Pod)
			assert.Equal(t, spec.Reason, got.Reason)
			assert.Equal(t, spec.Identity, got.Identity)
			assert.ElementsMatch(t, spec.Deny, got.Deny)
			assert.ElementsMatch(t, spec.Warn, got.Warn)
			assert.Equal(t, spec.Pod == "touched", len(got.Patch) > 0)
		})
	}
	for _, null := range []string{"\"deny\": null", "\"warn\": null", "\"messages\": null", "\"patch\": null"} {
		assert.NotContains(t, stdout, null)
	}
}

const worker = "kind: Pod\nmetadata: {name: a, namespace: llm}\nspec:\n  containers:\n  - name: c\n    command: [python3, -m, dynamo.vllm]\n"

func TestExitCodes(t *testing.T) {
	mismatched := strings.Replace(worker, "name: a,", "name: a, labels: {nvidia.com/dynamo-namespace: x},", 1) + "    args: [--namespace, z]\n"
	for name, c := range map[string]struct {
		stdin string
		args  []string
		code  int
		says  string
	}{
		"help":                       {args: []string{"--help"}},
		"version":                    {args: []string{"--version"}},
		"unknown command":            {args: []string{"bogus"}, code: 2, says: "unknown command"},
		"unknown flag":               {args: []string{"inject", "--bogus"}, code: 2, says: "unknown flag"},
		"no file":                    {args: []string{"explain"}, code: 2, says: "-f FILE"},
		"a misspelt command":         {args: []string{"injct"}, code: 2, says: "inject"},
		"a misspelt flag":            {args: []string{"inject", "--filname", "x"}, code: 2, says: "unknown flag: --filname: did you mean --filename?"},
		"a flag without a value":     {args: []string{"inject", "-f"}, code: 2, says: "inject --help"},
		"a file without -f":          {args: []string{"explain", "a.yaml"}, code: 2, says: `"a.yaml" is no flag: files and directories are given with -f: kubectl`},
		"absent file":                {args: []string{"explain", "-f", "testdata/absent"}, code: 2, says: "testdata/absent: no such file"},
		"unknown format":             {args: []string{"inject", "-f", "-", "-o", "xml"}, code: 2, says: "want yaml, json or diff"},
		"unknown format of explain":  {args: []string{"explain", "-f", "-", "-o", "xml"}, code: 2, says: "want text, json or yaml"},
		"nothing to explain":         {args: []string{"explain", "-f", "-", "-o", "json"}},
		"refused":                    {stdin: mismatched, args: []string{"explain", "-f", "-"}},
		"refused, in CI":             {stdin: mismatched, args: []string{"explain", "-f", "-", "--exit-code"}, code: 1},
		"not refused, in CI":         {stdin: worker, args: []string{"explain", "-f", "-", "--exit-code"}},
		"only a warning, in CI":      {stdin: mismatched, args: []string{"explain", "-f", "-", "--exit-code", "--namespace-annotation", "dynawire.io/validation=warn"}},
		"changed":                    {stdin: worker, args: []string{"inject", "-f", "-", "-o", "diff", "--exit-code"}, code: 1},
		"not changed":                {stdin: "kind: Service\n", args: []string{"inject", "-f", "-", "-o", "diff", "--exit-code"}},
		"broken YAML":                {stdin: "kind: A\n---\na: b\n c: d\n", args: []string{"inject", "-f", "-"}, code: 2, says: "-: document 2, line 4: "},
		"no kind":                    {stdin: "kind: A\n---\na: b\n", args: []string{"explain", "-f", "-"}, code: 2, says: "-: document 2, line 3: kind is missing"},
		"a number in a variable":     {stdin: worker + "    env:\n    - name: A\n      value: 1\n", args: []string{"explain", "-f", "-"}, code: 2, says: "-: document 1, line 9: Pod/a: spec.containers[0].env[0].value: 1 is a number, want a string; put it in quotes"},
		"containers that are a text": {stdin: "kind: Pod\nspec: {containers: x}\n", args: []string{"explain", "-f", "-"}, code: 2, says: "Pod/: spec.containers: \"x\" is a string, want a list\n"},
		"binary":                     {stdin: "\x7fELF\x00", args: []string{"inject", "-f", "-"}, code: 2, says: "this is no text"},
		"aliases that grow":          {stdin: "kind: A\na: &a [x, x]\n" + growing(), args: []string{"explain", "-f", "-"}, code: 2, says: "aliases expand to too much"},
		"a key twice":                {stdin: "kind: A\nkind: B\n", args: []string{"inject", "-f", "-"}, code: 2, says: `-: document 1, line 2: key "kind" is there twice`},
		"nested deeply":              {stdin: "kind: A\na: " + strings.Repeat("[", 9000), args: []string{"inject", "-f", "-"}, code: 2, says: "-: document 1"},
		"bad annotation":             {args: []string{"explain", "-f", "-", "--namespace-annotation", "x"}, code: 2, says: "KEY=VALUE"},
		"a namespace with a dot":     {args: []string{"explain", "-f", "-", "--dynamo-namespace", "a.b"}, code: 2, says: `error: --dynamo-namespace is "a.b", want letters, digits, '-' and '_', at most 63` + "\n"},
		"an argument to audit":       {args: []string{"audit", "foo"}, code: 2, says: `"foo" is no flag: kubectl dynawire audit takes no arguments; -n foo is the namespace, --rule foo a rule`},
		"no Namespace in the file":   {args: []string{"explain", "-f", "-", "--namespace-file", "testdata/worker.json"}, code: 2, says: "no Namespace in this file"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := call(c.stdin, c.args...)
			assert.Equal(t, c.code, code, stderr)
			assert.Contains(t, stderr, c.says)
			if code == exitFailed {
				assert.Empty(t, stdout, "nothing half done")
			}
		})
	}
}

// growing is aliases of aliases: 2^40 elements.
func growing() string {
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, "a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
	}
	return strings.Replace(b.String(), "*a0, *a0", "*a, *a", 1)
}

// An object with several pod templates has an entry for each.
func TestSeveralTemplates(t *testing.T) {
	spec := "{spec: {containers: [{name: c, command: [python3, -m, dynamo.vllm]}]}}"
	code, stdout, stderr := call("kind: LeaderWorkerSet\nmetadata: {name: a}\nspec: {leaderWorkerTemplate: {leaderTemplate: "+spec+", workerTemplate: "+spec+"}}\n", "explain", "-f", "-")
	require.Equal(t, exitOK, code, stderr)
	assert.Contains(t, stdout, "LeaderWorkerSet/a (spec.leaderWorkerTemplate.leaderTemplate): touched")
	assert.Contains(t, stdout, "LeaderWorkerSet/a (spec.leaderWorkerTemplate.workerTemplate): touched")
}

// What the Namespace says comes from the flags, unless the input has the Namespace itself.
func TestNamespaces(t *testing.T) {
	namespace := "kind: Namespace\nmetadata:\n  name: llm\n  labels: {nvidia.com/dynamo-discovery-enabled: \"true\"}\n  annotations: {nvidia.com/dynamo-namespace: team-a}\n"
	file := filepath.Join(t.TempDir(), "ns.yaml")
	require.NoError(t, os.WriteFile(file, []byte(namespace), 0o644))
	for name, c := range map[string]struct {
		stdin     string
		args      []string
		namespace string
	}{
		"nothing said":        {worker, nil, "dynamo"},
		"flag":                {worker, []string{"--dynamo-namespace", "b"}, "b"},
		"annotation":          {worker, []string{"--namespace-annotation", "nvidia.com/dynamo-namespace=c"}, "c"},
		"file":                {worker, []string{"--namespace-file", file}, "team-a"},
		"flag beats the file": {worker, []string{"--namespace-file", file, "--dynamo-namespace", "b"}, "b"},
		"in the input":        {worker + "---\n" + namespace, []string{"--dynamo-namespace", "b"}, "team-a"},
		"another one":         {strings.Replace(worker, "llm", "x", 1) + "---\n" + namespace, nil, "dynamo"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := call(c.stdin, append([]string{"explain", "-f", "-", "-o", "json"}, c.args...)...)
			require.Equal(t, exitOK, code, stderr)
			var entries []entry
			require.NoError(t, json.Unmarshal([]byte(stdout), &entries))
			assert.Equal(t, c.namespace, *entries[0].Identity.Namespace)
		})
	}
	t.Run("a Namespace that does not opt in", func(t *testing.T) {
		_, stdout, _ := call(worker+"---\nkind: Namespace\nmetadata: {name: llm}\n", "explain", "-f", "-")
		assert.Contains(t, stdout, "the webhook leaves its pods alone")
	})
}

// Several inputs make one stream that can be read again.
func TestStream(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.yaml": "kind: A", "b.json": `{"kind": "B"}`, "c.yaml": "---\nkind: C\n", "d.yaml": "# d\nkind: D\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	code, stdout, stderr := call("", "inject", "-q", "-f", dir)
	require.Equal(t, exitOK, code, stderr)
	assert.Equal(t, "kind: A\n---\n{\"kind\": \"B\"}\n---\nkind: C\n---\n# d\nkind: D\n", stdout)
	assert.Empty(t, stderr)
	_, stdout, _ = call("", "inject", "-q", "-f", dir, "-o", "yaml")
	assert.Equal(t, "kind: A\n---\nkind: B\n---\nkind: C\n---\n# d\nkind: D\n", stdout)
	_, stdout, _ = call("", "inject", "-q", "-f", dir, "-o", "json")
	assert.JSONEq(t, `{"apiVersion": "v1", "kind": "List", "items": [{"kind": "A"}, {"kind": "B"}, {"kind": "C"}, {"kind": "D"}]}`, stdout)
}
