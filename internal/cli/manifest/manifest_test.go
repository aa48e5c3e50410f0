package manifest_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/dynawire/dynawire/internal/cli/manifest"
)

func TestDocuments(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		lines []int // where the documents with content begin
		json  bool
	}{
		"nothing":                      {"", nil, false},
		"space":                        {" \n\n", nil, false},
		"comments":                     {"# a\n---\n# b\n", nil, false},
		"one":                          {"kind: A\n", []int{1}, false},
		"no line break":                {"kind: A", []int{1}, false},
		"several":                      {"kind: A\n---\nkind: B\n---\n---\nkind: C\n", []int{1, 2, 5}, false},
		"header":                       {"# licence\n---\nkind: A\n", []int{2}, false},
		"comment behind the marker":    {"--- # first\nkind: A\n--- # second\nkind: B\n", []int{1, 3}, false},
		"end marker":                   {"kind: A\n...\nkind: B\n", []int{1, 3}, false},
		"marker in a text":             {"kind: |\n  ---\n  ...\n", []int{1}, false},
		"directive":                    {"%YAML 1.2\n---\nkind: A\n", []int{2}, false},
		"line breaks of DOS":           {"kind: A\r\n---\r\nkind: B\r\n", []int{1, 2}, false},
		"null":                         {"null\n---\n~\n", nil, false},
		"JSON":                         {`{"kind": "A"}`, []int{1}, true},
		"several in JSON":              {"{\"kind\": \"A\"}\n{\"kind\":\n\"B\"}\n", []int{1, 1}, true},
		"YAML that looks like JSON":    {`{kind: A}`, []int{1}, false},
		"YAML that begins like JSON":   {"{\"kind\": \"A\"}\n---\nkind: B\n", []int{1, 2}, false},
		"byte order mark and a marker": {"\ufeff---\nkind: A\n", []int{1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			documents, err := manifest.Parse("f", []byte(c.text))
			require.NoError(t, err)
			var lines []int
			var all string
			for _, d := range documents {
				all += string(d.Text)
				if d.Root != nil {
					lines = append(lines, d.Line)
					assert.Equal(t, len(lines), d.Number)
					assert.Equal(t, c.json, d.JSON)
				}
			}
			assert.Equal(t, c.lines, lines)
			assert.Equal(t, c.text, all, "nothing is lost")
		})
	}
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"binary":               {"kind: A\n\x00", "f: document 1, line 2: this is no text"},
		"not UTF-8":            {"kind: \xff", "f: document 1, line 1: this is no text"},
		"UTF-16":               {"\xff\xfek\x00", "this is no text"},
		"no mapping":           {"kind: A\n---\n- a\n", "f: document 2, line 3: this is no Kubernetes object"},
		"a scalar":             {"hello", `f: document 1, line 1: this is no Kubernetes object: want one with apiVersion and kind, found "hello"`},
		"a JSON list":          {`[{"kind": "A"}]`, `f: document 1, line 1: this is no Kubernetes object: want one with apiVersion and kind, found a list; put its objects between lines of "---"`},
		"a tab":                {"kind: A\nspec:\n\ta: []\n", "f: document 1, line 3: found character that cannot start any token; the line is indented with a tab, want spaces"},
		"broken":               {"kind: A\n---\na: b\n c: d\n", "f: document 2, line 4: "},
		"unclosed":             {"{", "f: document 1"},
		"a key twice":          {"a:\n  b: 1\n  b: 2\n", `f: document 1, line 3: key "b" is there twice`},
		"a key twice in JSON":  {"{\"a\": 1,\n\"a\": 2}", `f: document 1, line 2: key "a" is there twice; keep one of them`},
		"a key that is a list": {"? [a]\n: b\n", "a key that is no string"},
		"deep":                 {strings.Repeat("[", 600) + strings.Repeat("]", 600), "no Kubernetes object"},
		"deep in a mapping":    {"a: " + strings.Repeat("[", 600) + strings.Repeat("]", 600), "nested more than 500 levels deep"},
		"deep in JSON":         {`{"a": ` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + "}", "nested"},
		"very deep":            {"a: " + strings.Repeat("[", 1e5), "exceeded max depth"},
		"unknown alias":        {"a: *b\n", "unknown anchor"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := manifest.Parse("f", []byte(c.text))
			require.Error(t, err)
			assert.Contains(t, err.Error(), c.says)
		})
	}
}

// bomb is 10^9 times "a", if it were expanded.
func bomb() string {
	var b strings.Builder
	b.WriteString("kind: A\na0: &a0 [a, a, a, a, a, a, a, a, a, a]\n")
	for i := byte('1'); i < '9'; i++ {
		previous := "*a" + string(i-1)
		b.WriteString("a" + string(i) + ": &a" + string(i) + " [" + strings.Repeat(previous+", ", 9) + previous + "]\n")
	}
	return b.String()
}

func TestAliasesAreExpanded(t *testing.T) {
	documents, err := manifest.Parse("f", []byte("a: &x {b: 1, c: 2}\nd: *x\ne: {<<: *x, c: 3}\nf: {<<: [{g: 4}, *x]}\n"))
	require.NoError(t, err)
	root, err := documents[0].Expand()
	require.NoError(t, err)
	text, err := manifest.ToJSON(root.Content[0], "")
	require.NoError(t, err)
	assert.Equal(t, `{"a":{"b":1,"c":2},"d":{"b":1,"c":2},"e":{"c":3,"b":1},"f":{"g":4,"b":1,"c":2}}`, string(text))
}

func TestAliasesThatGrowAreRefused(t *testing.T) {
	for _, text := range []string{bomb(), "a: &a [*a]\n", "a: &a {b: {<<: *a}}\n", "a: {<<: 1}\n"} {
		documents, err := manifest.Parse("f", []byte(text))
		if err != nil {
			continue
		}
		_, err = documents[0].Expand()
		assert.Error(t, err)
	}
}

func TestToJSON(t *testing.T) {
	documents, err := manifest.Parse("f", []byte("z: 1\na: {b: [0644, 0x10, 1.50, .5, true, null, ~, '1', 2001-01-01, é\"], \"\": -0}\nl: []\n"))
	require.NoError(t, err)
	text, err := manifest.ToJSON(documents[0].Object(), "")
	require.NoError(t, err)
	assert.Equal(t, `{"z":1,"a":{"b":[420,16,1.50,0.5,true,null,null,"1","2001-01-01","é\""],"":-0},"l":[]}`, string(text))
	indented, err := manifest.ToJSON(documents[0].Object(), "  ")
	require.NoError(t, err)
	assert.Equal(t, "{\n  \"z\": 1,\n", string(indented[:12]))
	for _, text := range []string{"a: .nan", "a: .inf"} {
		documents, err := manifest.Parse("f", []byte(text))
		require.NoError(t, err)
		_, err = manifest.ToJSON(documents[0].Object(), "")
		assert.Error(t, err)
	}
}

// What a scalar or a key is, is what it is for kubectl, which reads YAML 1.1.
func TestScalarsAreKubectls(t *testing.T) {
	for _, text := range []string{
		"yes", "Yes", "YES", "y", "Y", "no", "n", "on", "On", "off", "OFF", "true", "True", "tRue", "yEs", "false", "'yes'", `"on"`, "|\n    yes", "!!str yes", "!!bool yes", "!!bool on",
		"0777", "0o777", "0x1F", "0b101", "1_000", "1__0", "-0", "+1", "007", "08", "0_8", "1e3", "1E3", "1e+3", "-1.5e-3", "1.", ".5", "1.50", "+.5", "12e03", "0.1_0", "1:30", "190:20:30", "12345678901234567890", "123456789012345678901234567890",
		"2001-01-01", "2001-12-14t21:59:43.10-05:00", "2001-12-14 21:59:43.10 -5", "~", "null", "Null", "''", "", "=", "<<", "!!int 5", "!!float 1", "!!str 5", "!!str", "0x", "0b2", "_1", "1_", "inf", ".Inf", "-.inf", ".NaN", "nan", "é", "a: b",
		"!!binary aGk=", "!custom x", "!!timestamp 2001-01-01", "!!null x", "!!bool x", "!!int x",
	} {
		for _, document := range []string{"k: " + text + "\n", "l:\n- " + text + "\n", "? " + text + "\n: v\n"} {
			assertKubectls(t, document)
		}
	}
}

// assertKubectls: where kubectl takes a text, its JSON is ours, or we refuse it.
func assertKubectls(t *testing.T, text string) {
	t.Helper()
	want, kubectlErr := sigsyaml.YAMLToJSON([]byte(text))
	got, err := toJSON([]byte(text))
	if err != nil {
		assert.Error(t, kubectlErr, "%q is refused: %v; for kubectl it is %s", text, err, want)
		return
	}
	if assert.NoError(t, kubectlErr, "%q is taken as %s", text, got) {
		assert.JSONEq(t, string(want), string(got), "%q", text)
	}
}

func toJSON(data []byte) ([]byte, error) {
	documents, err := manifest.Parse("f", data)
	if err != nil || len(documents) != 1 || documents[0].Root == nil {
		return nil, errors.Join(err, errors.New("no document"))
	}
	root, err := documents[0].Expand()
	if err != nil {
		return nil, err
	}
	return manifest.ToJSON(root.Content[0], "")
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"b.yaml": "kind: B", "a.json": `{"kind": "A"}`, "c.txt": "\x00", "sub/d.YML": "kind: D"} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	read := func(f manifest.Files) string {
		files, err := f.Read()
		if err != nil {
			return err.Error()
		}
		var all []string
		for _, file := range files {
			for _, d := range file.Documents {
				all = append(all, strings.TrimSpace(manifest.Text(manifest.Get(d.Object(), "kind"))))
			}
		}
		return strings.Join(all, " ")
	}
	assert.Equal(t, "A B", read(manifest.Files{Names: []string{dir}}))
	assert.Equal(t, "A B D", read(manifest.Files{Names: []string{dir}, Recursive: true}))
	assert.Equal(t, "S B", read(manifest.Files{Names: []string{"-", dir + "/b.yaml"}, Stdin: strings.NewReader("kind: S")}))
	assert.Equal(t, dir+"/x: no such file or directory", read(manifest.Files{Names: []string{dir + "/x"}}))
	assert.Contains(t, read(manifest.Files{Names: []string{t.TempDir()}}), "no .yaml, .yml or .json file")
	above := t.TempDir()
	require.NoError(t, os.Mkdir(above+"/x", 0o755))
	require.NoError(t, os.WriteFile(above+"/kustomization.yaml", []byte("resources: []\n"), 0o644))
	require.NoError(t, os.WriteFile(above+"/x/notes.md", []byte("\x00"), 0o644))
	assert.Equal(t, above+": no .yaml, .yml or .json file in this directory; -R reads those below it, too", read(manifest.Files{Names: []string{above}}))
	assert.Equal(t, above+": no .yaml, .yml or .json file in this directory", read(manifest.Files{Names: []string{above}, Recursive: true}))
	assert.Contains(t, read(manifest.Files{Names: []string{"-", "-"}, Stdin: strings.NewReader("kind: S")}), "can be read only once")
	assert.Contains(t, read(manifest.Files{Names: []string{""}}), "a file name is empty")
	assert.Contains(t, read(manifest.Files{Names: []string{"-"}, Stdin: endless{}}), "larger than 64 MiB")
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"kind: A\n---\nkind: B\n...\n# c\n", `{"a": [1, "b", null, true]}{"c": {}}`, "a: &x {b: 1}\nc: {<<: *x}\n", bomb(),
		"? [a]\n: b", "%YAML 1.2\n---\na: |+\n  b\n\n", "--- {a: b}\n", "\ufeffa: b", "a: 'b\n\n  c'\n", "!!binary a: !!float b",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		documents, err := manifest.Parse("f", data)
		if err != nil {
			return
		}
		var all []byte
		for i := range documents {
			d := &documents[i]
			all = append(all, d.Text...)
			if d.Root == nil {
				continue
			}
			root, err := d.Expand()
			if err != nil {
				continue
			}
			text, err := manifest.ToJSON(root.Content[0], "")
			if err != nil {
				continue
			}
			again, err := manifest.FromJSON(text)
			if err != nil {
				continue // two spellings of a key are the same string
			}
			same, err := manifest.ToJSON(again, "")
			if err != nil || !bytes.Equal(text, same) {
				t.Fatalf("%s became %s: %v", text, same, err)
			}
		}
		if !bytes.Equal(data, all) {
			t.Fatalf("%q became %q", data, all)
		}
	})
}
