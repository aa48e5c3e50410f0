package admission

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/dynawire/dynawire/pkg/validate"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestResponses(t *testing.T) {
	mismatch := validate.Finding{
		Rule: "component-mismatch", Severity: validate.Deny, Field: "spec.containers[0].args",
		Message: `--endpoint names component "prefill", but label nvidia.com/dynamo-component is "decode"; <nobody> finds it.`,
	}
	role := validate.Finding{Rule: "role-mismatch", Severity: validate.Deny, Field: "metadata.labels", Message: "no such role."}
	for name, a := range map[string]answer{
		"allowed": allow("not-dynamo"),
		"patched": {allowed: true, patch: []jsonpatch.Operation{
			{Operation: "add", Path: "/metadata/labels/nvidia.com~1dynamo-component", Value: "backend"},
			{Operation: "add", Path: "/spec/containers/0/env/0", Value: map[string]any{"name": "B", "a": "<\"\u2028>"}},
			{Operation: "replace", Path: "/spec/serviceAccountName", Value: "dynamo-discovery"},
			{Operation: "add", Path: "/spec/automountServiceAccountToken", Value: true},
			{Operation: "remove", Path: "/spec/x"},
		}, warnings: []string{"the account is missing"}},
		"denied": {kind: "Pod", name: "vllm-0", denials: []validate.Finding{mismatch}, rules: []string{"component-mismatch"}},
		"denied-twice": {
			kind: "Pod", name: "vllm-", denials: []validate.Finding{mismatch, role},
			warnings: []string{"mind this"}, rules: []string{"component-mismatch", "role-mismatch", "stale-env"},
		},
		"denied-custom": {
			group: "nvidia.com", kind: "DynamoWorkerMetadata", name: "vllm-0", rules: []string{"metadata-impersonation"},
			denials: []validate.Finding{{Rule: "metadata-impersonation", Severity: validate.Deny, Field: "metadata.name", Message: "another pod's."}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			raw, err := appendReview(nil, &bytes.Buffer{}, `9ba7"4a`, &a)
			require.NoError(t, err)
			golden(t, name+".response.json", raw)

			// The API server's own types take every field, and nothing else is there.
			var review admissionv1.AdmissionReview
			d := json.NewDecoder(bytes.NewReader(raw))
			d.DisallowUnknownFields()
			require.NoError(t, d.Decode(&review))
			require.Equal(t, `9ba7"4a`, string(review.Response.UID))
			require.Equal(t, a.allowed, review.Response.Allowed)
			if a.patch != nil {
				golden(t, name+".patch.json", review.Response.Patch)
			}
		})
	}
}

// golden compares JSON with a file, indented for the reader.
func golden(t *testing.T, name string, raw []byte) {
	t.Helper()
	var got bytes.Buffer
	require.NoError(t, json.Indent(&got, raw, "", "  "), string(raw))
	got.WriteByte('\n')
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, got.Bytes(), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got.String())
}
