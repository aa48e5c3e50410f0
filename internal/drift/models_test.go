package drift

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/wiring"
)

// serving is a wired worker that says in its arguments what it serves.
func serving(t *testing.T, name, arguments string, exit Exit) Pod {
	t.Helper()
	p := named(t, name, wired(t, `{"metadata":{"namespace":"llm"},"spec":{"containers":[{"name":"main",
		"command":["python3","-m","dynamo.mocker"],"args":[`+arguments+`]}]}}`, wiring.Settings{}))
	p.Exits = map[string]Exit{"main": exit}
	return p
}

// both is two pods that have published a model.
func both(name string) published {
	at := map[endpoint]model{"dynamo.backend.generate": {name: name}}
	return published{"a": at, "b": at}
}

func TestModelsOfAnEndpoint(t *testing.T) {
	looping := Exit{Restarts: 7}
	one := both("qwen")
	for name, tc := range map[string]struct {
		pods  []Pod
		known published
		want  []string
	}{
		"the same": {[]Pod{serving(t, "a", `"--model-name","x"`, Exit{}), serving(t, "b", `"--model-name=x"`, Exit{})}, nil, nil},
		"another name by its arguments": {
			[]Pod{serving(t, "a", "", Exit{}), serving(t, "b", "", Exit{}), serving(t, "c", `"--model-name","llama"`, looping)}, one, []string{"c"},
		},
		"of two the one that exits": {
			[]Pod{serving(t, "a", `"--model-name","a"`, looping), serving(t, "b", `"--model-name","b"`, Exit{})}, nil, []string{"a"},
		},
		"what is published counts more": {
			[]Pod{serving(t, "a", `"--model-name","llama"`, Exit{}), serving(t, "b", "", Exit{})}, one, nil,
		},
		"a component of its own": {
			[]Pod{serving(t, "a", "", Exit{}), serving(t, "c", `"--endpoint","dyn://dynamo.other.generate","--model-name","llama"`, Exit{})}, one, nil,
		},
		"not known": {[]Pod{serving(t, "a", "", Exit{}), serving(t, "c", `"--model-name","$(MODEL)"`, Exit{})}, one, nil},
		"not said":  {[]Pod{serving(t, "a", "", Exit{}), serving(t, "c", "", Exit{})}, one, nil},
		// As the real Dynamo 1.6.1 has it: test/e2e.
		"two names of one path": {
			[]Pod{serving(t, "a", `"--model-path","/m","--model-name","a"`, Exit{}), serving(t, "b", `"--model-path","/m","--model-name","b"`, Exit{})}, nil, nil,
		},
		"one name for two paths": {
			[]Pod{serving(t, "a", `"--model-path","/m","--model-name","a"`, Exit{}), serving(t, "b", `"--model-path","/n","--model-name","a"`, Exit{})}, nil, nil,
		},
		"a path by its own name beside another name of it": {
			[]Pod{serving(t, "a", `"--model-path","/m"`, Exit{}), serving(t, "b", `"--model-path","/m","--model-name","b"`, looping)}, nil, []string{"b"},
		},
		"two paths": {
			[]Pod{serving(t, "a", `"--model-path","/m"`, Exit{}), serving(t, "b", `"--model-path","/n"`, looping)}, nil, []string{"b"},
		},
		"the names of a path count together": {
			[]Pod{
				serving(t, "a", `"--model-path","/m","--model-name","a"`, looping), serving(t, "b", `"--model-path","/m","--model-name","b"`, Exit{}),
				serving(t, "c", `"--model-path","/n","--model-name","c"`, Exit{}),
			}, nil, []string{"c"},
		},
		"the name, not a path": {[]Pod{serving(t, "a", "", Exit{}), serving(t, "c", `"--model-path","/models/x","--model-name","qwen"`, Exit{})}, one, nil},
	} {
		t.Run(name, func(t *testing.T) {
			all := models{}
			for _, p := range tc.pods {
				all.add(p, wiring.Settings{}, tc.known)
			}
			var got []string
			for _, f := range all.findings() {
				assert.Equal(t, RuleModels, f.Rule)
				got = append(got, f.Pod.Metadata.Name)
			}
			assert.Equal(t, tc.want, got)
		})
	}
}

func TestModelMessage(t *testing.T) {
	all := models{}
	known := both("qwen")
	for _, p := range []Pod{serving(t, "a", "", Exit{}), serving(t, "b", "", Exit{}), serving(t, "c", `"--model-name","llama"`, Exit{Restarts: 7})} {
		all.add(p, wiring.Settings{}, known)
	}
	require.Len(t, all.findings(), 1)
	assert.Equal(t, `spec.containers[0].args: the pod serves model "llama", but 2 peers of endpoint dynamo.backend.generate serve "qwen";`+
		` one endpoint serves one model: a worker with another exits without an error and restarts for ever (it did 7 times).`+
		` Give it the model name of its peers, or a component of its own. [model-mismatch]`, all.findings()[0].String())
}
