package drift

import (
	"encoding/json"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/mutate"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

const worker = `{"metadata":{"name":"w","namespace":"llm","uid":"u","labels":{"app":"w"}},"spec":{"containers":[{"name":"main",
	"command":["python3","-m","dynamo.vllm"],"args":["--model","m"]}]}}`

func decoded(t require.TestingT, text string) *pod.Pod {
	p, err := pod.Decode([]byte(text))
	require.NoError(t, err)
	return p
}

// wired is the pod as admission would have stored it.
func wired(t *testing.T, text string, ns wiring.Settings) string {
	t.Helper()
	raw, err := json.Marshal(mutate.Pod(decoded(t, text), mutate.Options{Namespace: ns, ServiceAccount: wiring.ServiceAccount}).Patch)
	require.NoError(t, err)
	patch, err := jsonpatch.DecodePatch(raw)
	require.NoError(t, err)
	out, err := patch.Apply([]byte(text))
	require.NoError(t, err)
	return string(out)
}

func TestJudge(t *testing.T) {
	var none wiring.Settings
	for name, tc := range map[string]struct {
		pod  string
		ns   wiring.Settings
		want []string
	}{
		"wired":        {wired(t, worker, none), none, nil},
		"never wired":  {worker, none, []string{RuleUnwired}},
		"not Dynamo's": {`{"metadata":{"name":"redis"},"spec":{"containers":[{"command":["redis-server"]}]}}`, none, nil},
		"wired when the namespace had no system port": {
			`{"metadata":{"labels":{"nvidia.com/dynamo-discovery-backend":"kubernetes","nvidia.com/dynamo-namespace":"dynamo",
			"nvidia.com/dynamo-component":"backend","nvidia.com/dynamo-component-type":"worker","nvidia.com/dynamo-discovery-enabled":"true"}},
			"spec":{"serviceAccountName":"own","automountServiceAccountToken":true,"containers":[{"command":["python3","-m","dynamo.vllm"]}]}}`,
			none, []string{RuleOutdated},
		},
		"wired while the account was missing": {
			func() string {
				raw, err := json.Marshal(mutate.Pod(decoded(t, worker), mutate.Options{}).Patch)
				require.NoError(t, err)
				patch, err := jsonpatch.DecodePatch(raw)
				require.NoError(t, err)
				out, err := patch.Apply([]byte(worker))
				require.NoError(t, err)
				return string(out)
			}(), none, nil,
		},
		"against a rule": {
			wired(t, `{"metadata":{"labels":{"nvidia.com/dynamo-namespace":"a"}},"spec":{"containers":[{"command":["python3","-m","dynamo.vllm"],
			"env":[{"name":"DYN_NAMESPACE","value":"b"}]}]}}`, none), none, []string{"namespace-mismatch"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range judge(decoded(t, tc.pod), tc.ns) {
				got = append(got, f.Rule)
			}
			assert.Equal(t, tc.want, got)
		})
	}
}
