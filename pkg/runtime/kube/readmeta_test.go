package kube

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/api/v1alpha1"
	"github.com/dynawire/dynawire/pkg/runtime/kube/join"
)

func TestReadWorkerMetadata(t *testing.T) {
	const pod = `{"apiVersion":"v1","kind":"Pod","name":"p","uid":"1"}`
	for _, tc := range []struct {
		what, text string
		want       join.Object
	}{
		{"the first pod that owns it",
			`{"metadata":{"name":"p","uid":"cr","ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","uid":"rs"},` + pod +
				`,{"apiVersion":"v1","kind":"Pod","uid":"2"}]},"spec":{"data":{"a":[1]}}}`,
			join.Object{Name: "p", UID: "cr", PodUID: "1", Document: `{"a":[1]}`}},
		{"no owner, no data", `{"metadata":{"name":"p"},"spec":{}}`, join.Object{Name: "p"}},
		{"null", `{"metadata":{"name":"p","ownerReferences":null},"spec":{"data":null}}`, join.Object{Name: "p", Document: "null"}},
		{"data first", ` { "spec" : { "data" : { } , "x" : 1 } , "metadata" : { "name" : "p" } } `, join.Object{Name: "p", Document: "{ }"}},
	} {
		got, _, err := readWorkerMetadata(tc.text)
		require.NoError(t, err, tc.what)
		assert.Equal(t, tc.want, got, tc.what)
	}
	for _, text := range []string{``, `{}`, `[]`, `{"metadata":{"name":"p"}`, `{"metadata":{"name":"p"}}}`, `{"metadata":{"name":7}}`, `{"spec":[]}`} {
		_, _, err := readWorkerMetadata(text)
		require.ErrorIs(t, err, errMalformed, text)
	}
}

// Whatever an API server can write, it is read as encoding/json reads the real type.
func FuzzReadWorkerMetadata(f *testing.F) {
	for _, release := range []string{"1.3.1", "1.5.1", "1.6.1"} {
		raw, err := os.ReadFile(filepath.Join("..", "wire", "testdata", "worker-metadata-"+release+".json"))
		require.NoError(f, err)
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _, _ = readWorkerMetadata(string(data))
		var object v1alpha1.DynamoWorkerMetadata
		if !utf8.Valid(data) || json.Unmarshal(data, &object) != nil || object.Name == "" {
			return
		}
		encoded, err := json.Marshal(&object)
		if err != nil {
			return
		}
		require.NoError(t, json.Unmarshal(encoded, &object))
		want := join.Object{Name: object.Name, UID: string(object.UID), Document: string(object.Spec.Data.Raw)}
		if want.Document == "" {
			want.Document = "null" // as it is written
		}
		for _, owner := range object.OwnerReferences {
			if want.PodUID == "" && owner.APIVersion == "v1" && owner.Kind == "Pod" {
				want.PodUID = string(owner.UID)
			}
		}
		got, version, err := readWorkerMetadata(string(encoded))
		require.NoError(t, err)
		assert.Equal(t, want, got)
		assert.Equal(t, object.ResourceVersion, version)
	})
}
