package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/openreports/reports-api/apis/openreports.io/v1alpha1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/dynawire/dynawire/internal/drift"
	reports "github.com/dynawire/dynawire/internal/report"
	"github.com/dynawire/dynawire/pkg/validate"
)

// reportServer is an API server whose Reports are one, in namespace llm; it returns the path of a kubeconfig.
func reportServer(t *testing.T) string {
	t.Helper()
	r := reports.New("llm", reports.Admission)
	require.NoError(t, reports.Replace(r, []reports.Entry{{
		Object: corev1.ObjectReference{Kind: "Deployment", Name: "w"}, Rule: "component-mismatch", Field: "spec.containers[0].args", Message: "says prefill.",
		Severity: validate.Deny, Outcome: reports.Refused, Count: 12, First: time.Now().Add(-time.Hour), Last: time.Now().Add(-30 * time.Minute),
	}}, reports.Room(0), time.Now()))
	answer := func(items ...reports.Report) []byte {
		data, err := json.Marshal(v1alpha1.ReportList{Items: items})
		require.NoError(t, err)
		return append([]byte(`{"kind":"ReportList","apiVersion":"openreports.io/v1alpha1",`), data[1:]...)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch q.URL.Path {
		case "/apis/openreports.io/v1alpha1/reports", "/apis/openreports.io/v1alpha1/namespaces/llm/reports":
			_, _ = w.Write(answer(*r))
		case "/apis/openreports.io/v1alpha1/namespaces/empty/reports":
			_, _ = w.Write(answer())
		case "/apis/openreports.io/v1alpha1/namespaces/secret/reports":
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,
				"message":"reports.openreports.io is forbidden: User \"eve\" cannot list resource \"reports\" in API group \"openreports.io\" in the namespace \"secret\""}`))
		default:
			w.Header().Set("Content-Type", "text/plain")
			http.Error(w, "404 page not found", http.StatusNotFound)
		}
	}))
	t.Cleanup(s.Close)
	path := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(path, []byte(`
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "`+s.URL+`"}}]
users: [{name: u, user: {}}]
contexts: [{name: x, context: {cluster: c, user: u, namespace: llm}}]
current-context: x
`), 0o600))
	return path
}

func TestAudit(t *testing.T) {
	kubeconfig := reportServer(t)
	const table = `LAST SEEN   OBJECT         RULE                 OUTCOME   COUNT
30m         Deployment/w   component-mismatch   refused   12
`
	for name, c := range map[string]struct {
		args     []string
		code     int
		out, err string
	}{
		"the context's namespace": {nil, exitOK, table, ""},
		"since":                   {[]string{"--since", "1d", "--rule", "component-mismatch"}, exitOK, table, ""},
		"all namespaces":          {[]string{"-A"}, exitOK, "NAMESPACE", ""},
		"in a pipeline":           {[]string{"--exit-code"}, exitFound, table, ""},
		"for a program":           {[]string{"-o", "json"}, exitOK, `"object": "Deployment/w"`, ""},
		"nothing":                 {[]string{"-n", "empty", "--exit-code"}, exitOK, "", "no findings in namespace empty.\n"},
		"nothing so late":         {[]string{"--since", "1m"}, exitOK, "", "no findings in namespace llm.\n"},
		"no CRD":                  {[]string{"-n", "elsewhere"}, exitFailed, "", "the CustomResourceDefinition reports.openreports.io is not installed: "},
		"forbidden":               {[]string{"-n", "secret"}, exitFailed, "", `User "eve" cannot list resource "reports"`},
		"unknown rule":            {[]string{"--rule", "nonsense"}, exitFailed, "", `rule "nonsense" is unknown, want one of: namespace-mismatch, `},
		"unknown time":            {[]string{"--since", "soon"}, exitFailed, "", `--since is "soon", want a time like 30m, 24h or 7d`},
		"unknown format":          {[]string{"-o", "xml"}, exitFailed, "", "want wide, json or yaml"},
		"a watch has no end":      {[]string{"-w", "--exit-code"}, exitFailed, "", "--watch never ends"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, err := call("", append([]string{"audit", "--kubeconfig", kubeconfig}, c.args...)...)
			assert.Equal(t, c.code, code)
			assert.Contains(t, out, c.out)
			assert.Contains(t, err, c.err)
			if c.out == "" {
				assert.Empty(t, out)
			}
		})
	}
}

func TestRulesOfDriftAreKnown(t *testing.T) {
	assert.Equal(t, []string{drift.RuleUnwired, drift.RuleOutdated, drift.RuleModels}, driftRules)
}
