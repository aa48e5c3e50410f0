package scan_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/runtime/internal/scan"
)

// read builds what encoding/json would, out of everything that a Scanner can do.
func read(s *scan.Scanner) any {
	switch s.Peek() {
	case '{':
		object := map[string]any{}
		for s.Enter('{'); s.More('}'); {
			key := s.Key()
			object[key] = read(s)
		}
		return object
	case '[':
		list := []any{}
		for s.Enter('['); s.More(']'); {
			list = append(list, read(s))
		}
		return list
	case '"':
		return s.String()
	default:
		raw := s.Raw()
		var v any
		if json.Unmarshal([]byte(raw), &v) != nil {
			s.Fail()
		}
		return v
	}
}

func FuzzReadsWhatIsWellFormed(f *testing.F) {
	for _, text := range []string{
		`{}`, ` [ ] `, `null`, `"a\"b\\"`, `{"a":[1,2.5e3,true,{"b":null}],"é\n":"\ud83d\ude00"}`, `{"a":"\\"}`, `{"a":{"b":"}]"}}`,
		`[1 2]`, `{"a" 1}`, `{"a":1,}`, `"`, `"\`, `[`, `}`, `{"a":1}}`, "\"\\",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := scan.New(text)
		got := read(s)
		skipped := scan.New(text)
		skipped.Skip()
		var want any
		if !utf8.ValidString(text) || json.Unmarshal([]byte(text), &want) != nil {
			return // no promise but to come to an end
		}
		require.True(t, s.Done(), "%q", text)
		require.True(t, skipped.Done(), "%q", text)
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("%q: got %#v, want %#v", text, got, want)
		}
	})
}

func TestWhatIsNotAsExpected(t *testing.T) {
	for _, text := range []string{``, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1 "b":2}`, `{1:2}`, `"a`, `"a\"`, `[1`, `,`, `{"a":"\x"}`} {
		s := scan.New(text)
		read(s)
		assert.True(t, s.Bad() || text == "", "%q", text)
		assert.Empty(t, s.Raw(), "%q", text)
	}
	s := scan.New(`{"a":1} trailing`)
	s.Skip()
	assert.False(t, s.Done())
	assert.Equal(t, "trailing", strings.TrimSpace(s.Rest()))
}

func BenchmarkSkip(b *testing.B) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "wire", "testdata", "worker-metadata-1.6.1.json"))
	require.NoError(b, err)
	var compact bytes.Buffer
	require.NoError(b, json.Compact(&compact, raw))
	text := compact.String()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		s := scan.New(text)
		s.Skip()
		if s.Bad() {
			b.Fatal("bad")
		}
	}
}
