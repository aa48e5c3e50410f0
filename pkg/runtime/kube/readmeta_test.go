package kube

import (
	"bytes"
	"encoding/json"
	"fmt"
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
		// In Go's order, and in an API server's.
		inOrder, sorted := alphabetical(t, encoded)
		for text, document := range map[string]string{string(encoded): want.Document, inOrder: sorted} {
			want.Document = document
			got, version, err := readWorkerMetadata(text)
			require.NoError(t, err)
			assert.Equal(t, want, got)
			assert.Equal(t, object.ResourceVersion, version)
		}
	})
}

// alphabetical is the object with its keys in that order, and its document.
func alphabetical(t testing.TB, object []byte) (text, document string) {
	var fields map[string]any
	d := json.NewDecoder(bytes.NewReader(object))
	d.UseNumber()
	require.NoError(t, d.Decode(&fields))
	sorted, err := json.Marshal(fields)
	require.NoError(t, err)
	data, err := json.Marshal(fields["spec"].(map[string]any)["data"])
	require.NoError(t, err)
	return string(sorted), string(data)
}

// What looks like the end of the managedFields, and is not.
func TestLeapIsExact(t *testing.T) {
	const owners = `"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"1"}]`
	want := join.Object{Name: "p", UID: "cr", PodUID: "1", Document: `{}`}
	for what, metadata := range map[string]string{
		"as it is written":        `"managedFields":[{"fieldsV1":{}}],"name":"p",` + owners + `,"resourceVersion":"7","uid":"cr"`,
		"one further in":          `"managedFields":[{"fieldsV1":{"x":[{}],"name":"evil",` + owners + `,"resourceVersion":"1","uid":"evil"}}],"name":"p",` + owners + `,"resourceVersion":"7","uid":"cr"`,
		"one further on":          `"managedFields":[{}],"resourceVersion":"7","uid":"cr",` + owners + `,"name":"p"`,
		"in a string":             `"managedFields":[{"manager":"}],"},{"manager":"}],\"name\":\"evil\""}],"name":"p",` + owners + `,"resourceVersion":"7","uid":"cr"`,
		"in Go's order":           `"name":"p","uid":"cr","resourceVersion":"7",` + owners + `,"managedFields":[{"x":[{}],"name":"evil"}]`,
		"none, and one elsewhere": `"managedFields":[],"name":"p",` + owners + `,"resourceVersion":"7","uid":"cr","zz":[{}],"namespace":"n"`,
	} {
		got, version, err := readWorkerMetadata(`{"metadata":{` + metadata + `},"spec":{"data":{}}}`)
		require.NoError(t, err, what)
		assert.Equal(t, want, got, what)
		assert.Equal(t, "7", version, what)
	}
}

// The metadata of a worker of Dynamo 1.6.1, as an API server writes it.
func BenchmarkReadWorkerMetadata(b *testing.B) {
	raw, err := os.ReadFile(filepath.Join("..", "wire", "testdata", "worker-metadata-1.6.1.json"))
	require.NoError(b, err)
	text, _ := alphabetical(b, raw)
	for _, leap := range []bool{true, false} {
		b.Run(fmt.Sprintf("leap=%t", leap), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, _, err := scanWorkerMetadata(text, leap); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
