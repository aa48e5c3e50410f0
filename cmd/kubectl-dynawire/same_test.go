package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/yaml"

	"github.com/dynawire/dynawire/internal/admission"
	"github.com/dynawire/dynawire/internal/cli/explain"
	"github.com/dynawire/dynawire/internal/workload"
	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/identity/identitytest"
	"github.com/dynawire/dynawire/pkg/mutate"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// patches are the golden files of pkg/mutate.
const patches = "../../pkg/mutate/testdata/patches/"

// The library, the webhook and the command line give every pod of the corpus the patch of the one golden file.
func TestThePatchIsTheSameEverywhere(t *testing.T) {
	for _, spec := range identitytest.Specs(t) {
		t.Run(spec.File, func(t *testing.T) {
			data, err := os.ReadFile(patches + strings.TrimSuffix(spec.File, ".yaml") + ".txt")
			require.NoError(t, err)
			want := string(data)

			r := mutate.Pod(spec.Decode(t), mutate.Options{ServiceAccount: wiring.ServiceAccount})
			patch, err := json.Marshal(r.Patch)
			require.NoError(t, err)
			assert.Equal(t, want, operations(t, string(r.Reason), patch), "library")

			assert.Equal(t, want, operations(t, string(r.Reason), hook(t, spec.JSON)), "webhook")

			reason, told := patchTold(t, specs+spec.File)
			assert.Equal(t, want, operations(t, reason, told), "explain -o json")

			assert.JSONEq(t, string(applied(t, spec.JSON, patch)), string(injected(t, specs+spec.File)), "inject -o diff")
		})
	}
}

// operations writes a patch as the golden files have it.
func operations(t *testing.T, reason string, patch []byte) string {
	t.Helper()
	var all []struct {
		Op, Path string
		Value    json.RawMessage
	}
	if len(patch) > 0 {
		require.NoError(t, json.Unmarshal(patch, &all))
	}
	var b bytes.Buffer
	b.WriteString(reason + "\n")
	for _, o := range all {
		b.WriteString(o.Op + " " + o.Path + " ")
		require.NoError(t, json.Compact(&b, o.Value))
		b.WriteByte('\n')
	}
	return b.String()
}

// hook is the patch that the webhook answers for a pod.
func hook(t *testing.T, object []byte) []byte {
	t.Helper()
	a := admission.Admission{Namespaces: optedIn{}, Accounts: accountThere{}, Metrics: admission.NewMetrics(prometheus.NewRegistry()), Log: logr.Discard()}
	body := fmt.Sprintf(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","kind":{"version":"v1","kind":"Pod"},"operation":"CREATE","namespace":"llm","object":%s}}`, object)
	w := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodPost, admission.MutatePodsPath, strings.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	a.MutatePods().ServeHTTP(w, request)
	var review admissionv1.AdmissionReview
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &review), w.Body.String())
	require.True(t, review.Response.Allowed)
	return review.Response.Patch
}

type optedIn struct{}

func (optedIn) Get(context.Context, string) (admission.Namespace, error) {
	return admission.Namespace{OptedIn: true}, nil
}

type accountThere struct{}

func (accountThere) Exists(context.Context, string) bool { return true }

// patchTold is the reason and the patch that the command line tells for the only object of a file.
func patchTold(t *testing.T, file string) (reason string, patch []byte) {
	t.Helper()
	code, stdout, stderr := call("", "explain", "-f", file, "-o", "json")
	require.Equal(t, exitOK, code, stderr)
	var entries []struct {
		Pod, Reason string
		Patch       json.RawMessage
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &entries))
	require.Len(t, entries, 1)
	if entries[0].Pod == explain.Touched {
		return string(identity.Wired), entries[0].Patch
	}
	return entries[0].Reason, entries[0].Patch
}

// injected is the pod template of a file after the diff that the command line writes.
func injected(t *testing.T, file string) []byte {
	t.Helper()
	code, stdout, stderr := call("", "inject", "-f", file, "-o", "diff")
	require.Equal(t, exitOK, code, stderr)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	object, err := yaml.YAMLToJSON([]byte(patched(t, string(text), stdout)))
	require.NoError(t, err)
	var o struct{ APIVersion, Kind string }
	require.NoError(t, json.Unmarshal(object, &o))
	found := workload.JSON.Find(o.APIVersion, o.Kind, object)
	require.Len(t, found, 1, filepath.Base(file))
	return found[0].Node
}

// patched applies a unified diff of one file.
func patched(t *testing.T, text, diff string) string {
	t.Helper()
	before := strings.SplitAfter(text, "\n")
	var after []string
	at := 0
	for line := range strings.Lines(diff) {
		var from, count int
		switch {
		case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "):
		case strings.HasPrefix(line, "@@ "):
			_, err := fmt.Sscanf(line, "@@ -%d,%d ", &from, &count)
			require.NoError(t, err, line)
			if count > 0 {
				from--
			}
			after = append(after, before[at:from]...)
			at = from
		case line[0] == '+':
			after = append(after, line[1:])
		default:
			require.Equal(t, before[at], line[1:])
			if line[0] == ' ' {
				after = append(after, before[at])
			}
			at++
		}
	}
	return strings.Join(append(after, before[at:]...), "")
}

func applied(t *testing.T, object, operations []byte) []byte {
	t.Helper()
	if string(operations) == "null" {
		return object
	}
	patch, err := jsonpatch.DecodePatch(operations)
	require.NoError(t, err)
	after, err := patch.Apply(object)
	require.NoError(t, err)
	return after
}
