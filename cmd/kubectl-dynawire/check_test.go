package main

import (
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/internal/cli/check"
	"github.com/dynawire/dynawire/pkg/identity/identitytest"
)

// The golden files are what a user sees.
func TestCheckGolden(t *testing.T) {
	for name, args := range map[string][]string{
		"check.txt":            nil,
		"check.json":           {"-o", "json"},
		"check.checked.yaml":   {"-o", "yaml"},
		"check.sarif":          {"-o", "sarif"},
		"check.junit.xml":      {"-o", "junit"},
		"check.junit-warn.xml": {"-o", "junit", "--fail-on", "warn", "--rule", "stale-env,liveness-before-ready"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := call("", append([]string{"check", "-f", "testdata/check.yaml"}, args...)...)
			assert.Equal(t, exitFound, code, stderr)
			if name == "check.sarif" {
				stdout = withoutHelp(stdout)
			}
			golden(t, name, stdout)
			if args == nil {
				golden(t, "check.stderr.txt", stderr)
			}
		})
	}
}

var text = regexp.MustCompile(`"(text|markdown)": ".+"`)

// withoutHelp leaves the texts of docs/rules.md out, so that they can be mended without a look at this.
func withoutHelp(sarif string) string {
	rules, results, _ := strings.Cut(sarif, "\"columnKind\"")
	return text.ReplaceAllString(rules, `"$1": "…"`) + "\"columnKind\"" + results
}

// On the whole corpus check says what explain says.
func TestCheckAgreesWithTheCorpus(t *testing.T) {
	for _, spec := range identitytest.Specs(t) {
		t.Run(spec.File, func(t *testing.T) {
			code, stdout, stderr := call("", "check", "-f", specs+spec.File, "-o", "json")
			var objects []check.Object
			require.NoError(t, json.Unmarshal([]byte(stdout), &objects), stderr)
			require.Len(t, objects, 1)
			deny, warn := map[string]bool{}, map[string]bool{}
			for _, f := range objects[0].Findings {
				assert.Positive(t, f.Line, f.Field)
				if f.Outcome == check.Refused {
					deny[f.Rule] = true
				} else {
					warn[f.Rule] = true
				}
			}
			assert.ElementsMatch(t, spec.Deny, keys(deny))
			assert.ElementsMatch(t, spec.Warn, keys(warn))
			assert.Equal(t, spec.Reason, objects[0].Skipped)
			assert.Equal(t, len(deny) > 0, code == exitFound)
		})
	}
}

func keys(set map[string]bool) []string {
	var all []string
	for key := range set {
		all = append(all, key)
	}
	return all
}

func TestCheckExitCodes(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "absent"))
	t.Setenv("HOME", t.TempDir())
	refused := strings.Replace(worker, "name: a,", "name: a, labels: {nvidia.com/dynamo-namespace: x},", 1) + "    args: [--namespace, z]\n"
	warned := worker + "    env: [{name: DYN_STORE_KV, value: etcd}]\n"
	for name, c := range map[string]struct {
		stdin string
		args  []string
		code  int
		says  string
	}{
		"nothing wrong":         {worker, []string{"-f", "-"}, 0, "1 object, 1 judged: 0 refused, 0 with warnings, 0 findings"},
		"nothing at all":        {"", []string{"-f", "-"}, 0, "0 objects, 0 judged"},
		"refused":               {refused, []string{"-f", "-"}, 1, "1 refused"},
		"refused, never":        {refused, []string{"-f", "-", "--fail-on", "never"}, 0, "1 refused"},
		"another rule":          {refused, []string{"-f", "-", "--rule", "invalid-name"}, 0, "0 findings"},
		"validation: warn":      {refused, []string{"-f", "-", "--namespace-annotation", "dynawire.io/validation=warn"}, 0, "1 with warnings"},
		"a warning":             {warned, []string{"-f", "-"}, 0, "1 with warnings"},
		"a warning counts":      {warned, []string{"-f", "-", "--fail-on", "warn"}, 1, "1 with warnings"},
		"a warning is left out": {warned, []string{"-f", "-", "--fail-on", "warn", "--severity", "deny"}, 0, "0 findings"},
		"rule off":              {warned, []string{"-f", "-", "--fail-on", "warn", "--namespace-annotation", "dynawire.io/validation-rules=stale-env=off"}, 0, "0 findings"},
		"nothing given":         {"", nil, 2, "what to check is missing: -f FILE"},
		"files and a cluster":   {"", []string{"-f", "-", "-n", "x"}, 2, "give one or the other"},
		"all and one":           {"", []string{"-A", "-n", "x"}, 2, "give one or the other"},
		"flags for files":       {"", []string{"-A", "--dynamo-namespace", "x"}, 2, "are for files"},
		"severity":              {"", []string{"-f", "-", "--severity", "never"}, 2, `--severity is "never", want deny or warn`},
		"fail-on":               {"", []string{"-f", "-", "--fail-on", "error"}, 2, `--fail-on is "error", want deny, warn or never`},
		"format":                {"", []string{"-f", "-", "-o", "xml"}, 2, "want text, json, yaml, sarif or junit"},
		"rule":                  {"", []string{"-f", "-", "--rule", "x"}, 2, `rule "x" is unknown, want one of: namespace-mismatch, `},
		"no cluster":            {"", []string{"-A"}, 2, "find a cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := call(c.stdin, append([]string{"check"}, c.args...)...)
			assert.Equal(t, c.code, code, stderr)
			assert.Contains(t, stderr, c.says)
			if code == exitFailed {
				assert.Empty(t, stdout)
			}
			assert.NotContains(t, stdout+stderr, "\x1b", "no colour where nobody looks")
		})
	}
}

// A kustomization is built by what is on the PATH.
func TestCheckKustomize(t *testing.T) {
	tool := func(t *testing.T, name, script string) string {
		t.Helper()
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755))
		return dir
	}
	const built = "[ \"$3\" = over/lay ] || exit 9\necho 'kind: Pod'\necho 'metadata: {name: a, labels: {nvidia.com/dynamo-namespace: x}}'\necho 'spec: {containers: [{name: c, command: [python3, -m, dynamo.vllm, --namespace, z]}]}'"
	for name, c := range map[string]struct {
		path string
		code int
		says string
	}{
		"kubectl":   {tool(t, "kubectl", built), 1, "over/lay: Pod/a\n  refused namespace-mismatch\n"},
		"kustomize": {tool(t, "kustomize", built), 1, "over/lay: Pod/a\n  refused namespace-mismatch\n"},
		"it fails":  {tool(t, "kubectl", "echo 'error: no kustomization file' >&2; exit 1"), 2, "kubectl kustomize -- over/lay: no kustomization file\n"},
		"neither":   {t.TempDir(), 2, "-k needs kubectl or kustomize on the PATH"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PATH", c.path)
			code, stdout, stderr := call("", "check", "-k", "over/lay")
			assert.Equal(t, c.code, code, stderr)
			assert.Contains(t, stdout+stderr, c.says)
		})
	}
}

// What is written can be read by others: XML is well-formed, every rule that is named is described.
func TestCheckFormatsHoldTogether(t *testing.T) {
	_, stdout, _ := call("", "check", "-f", "testdata/check.yaml", "-o", "sarif")
	var log struct {
		Runs []struct {
			Tool struct {
				Driver struct {
					Rules []struct {
						ID               string
						ShortDescription struct{ Text string }
						Help             struct{ Text string }
					}
				}
			}
			Results []struct {
				RuleID    string
				RuleIndex int
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &log))
	rules := log.Runs[0].Tool.Driver.Rules
	for _, rule := range rules {
		assert.NotEmpty(t, rule.ShortDescription.Text, rule.ID)
		assert.Greater(t, len(rule.Help.Text), 50, rule.ID)
	}
	require.NotEmpty(t, log.Runs[0].Results)
	for _, result := range log.Runs[0].Results {
		assert.Equal(t, result.RuleID, rules[result.RuleIndex].ID)
	}

	_, stdout, _ = call(strings.ReplaceAll(worker, "dynamo.vllm", `dynamo.vllm, --namespace, "a<&>]]>\x7f"`), "check", "-f", "-", "-o", "junit")
	d := xml.NewDecoder(strings.NewReader(stdout))
	for {
		if _, err := d.Token(); err != nil {
			assert.Equal(t, io.EOF, err)
			break
		}
	}
}

// The cluster is read page by page and written to never; what is controlled by another workload, ends, or lies in a
// namespace that is not opted in is left alone.
func TestCheckCluster(t *testing.T) {
	vllm := `"spec":{"containers":[{"name":"c","command":["python3","-m","dynamo.vllm","--namespace","z"]}]}`
	pages := map[string]string{
		"/api/v1/namespaces?labelSelector=nvidia.com%2Fdynamo-discovery-enabled%3Dtrue": `{"items":[` + opted("llm") + `]}`,
		"/api/v1/namespaces/llm":                                 opted("llm"),
		"/api/v1/namespaces/other":                               `{"metadata":{"name":"other"}}`,
		"/apis/apps/v1/namespaces/llm/deployments":               `{"metadata":{"continue":"more"},"items":[{"metadata":{"name":"a","namespace":"llm"},"spec":{"template":{"metadata":{"labels":{"nvidia.com/dynamo-namespace":"x"}},` + vllm + `}}}]}`,
		"/apis/apps/v1/namespaces/llm/deployments?continue=more": `{"items":[{"metadata":{"name":"b","namespace":"llm","deletionTimestamp":"2026-01-01T00:00:00Z"},"spec":{"template":{` + vllm + `}}}]}`,
		"/apis/apps/v1/namespaces/llm/replicasets":               `{"items":[{"metadata":{"name":"a-1","namespace":"llm","ownerReferences":[{"controller":true}]},"spec":{"template":{` + vllm + `}}}]}`,
		"/api/v1/namespaces/llm/pods?fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed": `{"items":[{"metadata":{"name":"p","namespace":"llm"},` + vllm + `},{"metadata":{"name":"redis","namespace":"llm"},"spec":{"containers":[{"name":"c"}]}}]}`,
		"/api/v1/namespaces/llm/services": `{"items":[{"metadata":{"name":"s","namespace":"llm","labels":{"nvidia.com/dynamo-discovery-enabled":"true"}},"spec":{"publishNotReadyAddresses":true}}]}`,
		"/api/v1/namespaces/forbidden":    "403",
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, http.MethodGet, r.Method)
		query := r.URL.Query()
		if strings.Count(r.URL.Path, "/") > 4 || strings.HasSuffix(r.URL.Path, "/namespaces") {
			assert.Equal(t, "250", query.Get("limit"), r.URL.Path)
		}
		query.Del("limit")
		key := r.URL.Path
		if len(query) > 0 {
			key += "?" + query.Encode()
		}
		body, ok := pages[key]
		w.Header().Set("Content-Type", "application/json")
		switch {
		case body == "403":
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"not for you","code":403}`)
		case ok:
			_, _ = io.WriteString(w, body)
		case strings.Contains(key, "x-k8s.io") || !strings.Contains(key, "/llm/"):
			http.NotFound(w, r)
		default:
			_, _ = io.WriteString(w, `{"items":[]}`)
		}
	}))
	defer server.Close()
	config := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(config, []byte(`{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c"}}],"clusters":[{"name":"c","cluster":{"server":"`+server.URL+`"}}]}`), 0o600))
	for name, c := range map[string]struct {
		args   []string
		code   int
		golden string
		says   string
	}{
		"all":          {[]string{"-A"}, 1, "check.cluster.txt", "4 objects, 3 judged: 3 refused"},
		"one":          {[]string{"-n", "llm"}, 1, "check.cluster.txt", "4 objects, 3 judged: 3 refused"},
		"only unwired": {[]string{"-n", "llm", "--rule", "unwired", "--fail-on", "never"}, 0, "", "1 refused"},
		"not opted in": {[]string{"-n", "other"}, 0, "", "namespace other has no label nvidia.com/dynamo-discovery-enabled=true"},
		"absent":       {[]string{"-n", "absent"}, 2, "", "is this the right context"},
		"forbidden":    {[]string{"-n", "forbidden"}, 2, "", "not for you; ask for a Role that allows get and list"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := call("", append([]string{"check", "--kubeconfig", config}, c.args...)...)
			assert.Equal(t, c.code, code, stderr)
			assert.Contains(t, stderr, c.says)
			if c.golden != "" {
				golden(t, c.golden, stdout)
			}
		})
	}
}

func opted(name string) string {
	return `{"metadata":{"name":"` + name + `","labels":{"nvidia.com/dynamo-discovery-enabled":"true"}}}`
}
