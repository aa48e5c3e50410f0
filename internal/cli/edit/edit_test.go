package edit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gomodules.xyz/jsonpatch/v2"

	"github.com/dynawire/dynawire/internal/cli/edit"
	"github.com/dynawire/dynawire/internal/cli/manifest"
)

func add(path string, value any) jsonpatch.Operation {
	return jsonpatch.Operation{Operation: "add", Path: path, Value: value}
}

type object = map[string]any

func TestAdd(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		patch []jsonpatch.Operation
		want  string
	}{
		"at the end of a mapping":     {"a:\n  b: 1\n# c\nc: 2\n", []jsonpatch.Operation{add("/a/x", "true")}, "a:\n  b: 1\n  x: \"true\"\n# c\nc: 2\n"},
		"in an item":                  {"a:\n- b: 1\n- c: 2\n", []jsonpatch.Operation{add("/a/0/x", 5)}, "a:\n- b: 1\n  x: 5\n- c: 2\n"},
		"in front, one after another": {"a: # all\n  # b\n  - b\n", []jsonpatch.Operation{add("/a/0", "y"), add("/a/0", "x")}, "a: # all\n  - x\n  - \"y\"\n  # b\n  - b\n"},
		"at the end of a list":        {"a:\n- b\n# c\nc: 1\n", []jsonpatch.Operation{add("/a/-", object{"x": 1})}, "a:\n- b\n- x: 1\n# c\nc: 1\n"},
		"behind a block text":         {"a:\n  b: |\n    x\n\n    # y\nc: 1\n", []jsonpatch.Operation{add("/a/x", 1)}, "a:\n  b: |\n    x\n\n    # y\n  x: 1\nc: 1\n"},
		"behind a text with its end":  {"a:\n  b: |+\n    x\n\nc: 1\n", []jsonpatch.Operation{add("/a/x", 1)}, "a:\n  b: |+\n    x\n\n  x: 1\nc: 1\n"},
		"an empty value":              {"a:\nb: 1 # b\n", []jsonpatch.Operation{add("/a", object{"x": 1})}, "a:\n  x: 1\nb: 1 # b\n"},
		"a null":                      {"a: null # a\nb: 1\n", []jsonpatch.Operation{add("/a", object{"x": object{"y": 1}})}, "a: {x: {\"y\": 1}} # a\nb: 1\n"},
		"in braces":                   {"a: {b: '}', c: [1]} # a\n", []jsonpatch.Operation{add("/a/x", object{"y": "z"}), add("/a/c/0", 0)}, "a: {b: '}', c: [0, 1], x: {\"y\": z}} # a\n"},
		"in empty braces":             {"a: {}\nb: []\n", []jsonpatch.Operation{add("/a/x", 1), add("/b/0", 1)}, "a: {x: 1}\nb: [1]\n"},
		"in braces over lines":        {"a: {\n  b: 1, # }\n  c: it's\n}\n", []jsonpatch.Operation{add("/a/x", 1)}, "a: {\n  b: 1, # }\n  c: it's, x: 1\n}\n"},
		"a scalar anew":               {"a: \"b\" # c\nd: e\n", []jsonpatch.Operation{{Operation: "replace", Path: "/a", Value: "x"}}, "a: \"x\" # c\nd: e\n"},
		"an escaped key":              {"a: {}\n", []jsonpatch.Operation{add("/a/x~1y~0z", 1)}, "a: {x/y~z: 1}\n"},
		"what is not spliced":         {"a:\n-\n  b: 1\n# c\n-\n  c: 2\n", []jsonpatch.Operation{add("/a/0/x", 1)}, "a:\n- b: 1\n  x: 1\n# c\n- c: 2\n"},
		"JSON":                        {"{\n    \"a\": {},\n    \"n\": 1.50\n}\n", []jsonpatch.Operation{add("/a/x", "<&>")}, "{\n    \"a\": {\n        \"x\": \"<&>\"\n    },\n    \"n\": 1.50\n}\n"},
		"JSON on one line":            {`{"a": [1]}`, []jsonpatch.Operation{add("/a/0", nil)}, `{"a":[null,1]}`},
	} {
		t.Run(name, func(t *testing.T) {
			documents, err := manifest.Parse("f", []byte(c.text))
			require.NoError(t, err)
			d := &documents[0]
			snapshot := edit.Take(d)
			same, err := snapshot.Text(d.Root)
			require.NoError(t, err)
			if !d.JSON {
				assert.Equal(t, c.text, string(same), "without a change")
			}
			require.NoError(t, edit.Apply(d.Object(), c.patch))
			got, err := snapshot.Text(d.Root)
			require.NoError(t, err)
			assert.Equal(t, c.want, string(got))
		})
	}
}

func TestApplyRefuses(t *testing.T) {
	for _, o := range []jsonpatch.Operation{
		add("/a/b/c", 1), add("/x/y", 1), add("/n/y", 1), add("/l/9", 1), add("/l/-1", 1), add("/l/9/x", 1), add("/l/x/y", 1),
		{Operation: "remove", Path: "/a"}, {Operation: "replace", Path: "/l/0", Value: 1}, add("/a", func() {}),
	} {
		documents, err := manifest.Parse("f", []byte("a: {b: 1}\nl: [1]\nn: null\n"))
		require.NoError(t, err)
		assert.Error(t, edit.Apply(documents[0].Object(), []jsonpatch.Operation{o}), o.Path)
	}
}
