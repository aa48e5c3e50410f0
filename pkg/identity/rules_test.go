package identity_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

func processOf(t *testing.T, command string, env ...pod.EnvVar) *identity.Process {
	t.Helper()
	p := &pod.Pod{Spec: pod.Spec{Containers: []pod.Container{{Name: "c", Args: strings.Fields(command), Env: env}}}}
	r := identity.Resolve(p, wiring.Settings{})
	require.Equal(t, identity.Wired, r.Reason)
	return r.Process()
}

func TestServes(t *testing.T) {
	for _, tc := range []struct {
		command, endpoint string
		serves, known     bool
	}{
		{"python3 -m dynamo.vllm", "generate", true, true},
		{"python3 -m dynamo.vllm", "clear_kv_blocks", true, true},
		{"python3 -m dynamo.vllm", "serve", false, true},
		{"python3 -m dynamo.vllm --endpoint a.b.serve", "serve", true, true},
		{"python3 -m dynamo.vllm --endpoint a.b.serve", "generate", false, true},
		{"python3 -m dynamo.vllm --endpoint a.b.${E}", "generate", false, false},
		{"python3 -m dynamo.mocker", "worker_kv_query_source_0a", true, true},
		{"python3 -m dynamo.global_planner", "scale_request", true, true},
		{"python3 -m dynamo.global_planner", "generate", false, true},
		{"python3 -m dynamo.global_router", "decode_generate", true, true},
		{"python3 -m dynamo.global_router", "serve", false, true},
		{"python3 -m dynamo.triton", "resnet50_0123abcd", true, true},
		{"python3 -m dynamo.triton", "generate", false, true},
	} {
		serves, known := processOf(t, tc.command).Serves(tc.endpoint)
		assert.Equal(t, tc.serves, serves, "%s: %s", tc.command, tc.endpoint)
		assert.Equal(t, tc.known, known, "%s: %s", tc.command, tc.endpoint)
	}
}

func TestTakesField(t *testing.T) {
	field := func(name, path string) pod.EnvVar {
		return pod.EnvVar{Name: name, ValueFrom: &pod.EnvVarSource{FieldRef: &pod.FieldRef{FieldPath: path}}}
	}
	text := func(name, value string) pod.EnvVar { return pod.EnvVar{Name: name, Value: value} }
	const vllm = "python3 -m dynamo.vllm"
	for name, tc := range map[string]struct {
		p    *identity.Process
		want bool
	}{
		"injected":           {processOf(t, vllm), true},
		"fieldRef":           {processOf(t, vllm, field("POD_UID", "metadata.uid")), true},
		"another fieldRef":   {processOf(t, vllm, field("POD_UID", "metadata.name")), false},
		"alias":              {processOf(t, vllm, field("U", "metadata.uid"), text("POD_UID", "$(U)")), true},
		"alias below":        {processOf(t, vllm, text("POD_UID", "$(U)"), field("U", "metadata.uid")), false},
		"alias of injected":  {processOf(t, vllm, text("POD_UID", "$(POD_NAME)")), false},
		"of itself":          {processOf(t, vllm, text("POD_UID", "$(POD_UID)")), false},
		"more than an alias": {processOf(t, vllm, field("U", "metadata.uid"), text("POD_UID", "$(U)$(U)")), false},
		"literal":            {processOf(t, vllm, text("POD_UID", "1")), false},
		"the last one":       {processOf(t, vllm, field("POD_UID", "metadata.uid"), text("POD_UID", "1")), false},
		"set by the command": {processOf(t, "env POD_UID=1 "+vllm), false},
		"cleared":            {processOf(t, "env -i "+vllm), false},
	} {
		assert.Equal(t, tc.want, tc.p.TakesField("POD_UID", "metadata.uid"), name)
	}
}

func TestAbbreviationsOfIdentityFlags(t *testing.T) {
	for command, want := range map[string][]string{
		"python3 -m dynamo.trtllm --names a":             {"--names --namespace taken"},
		"python3 -m dynamo.sglang --endp a.b.c":          {"--endp --endpoint refused"},
		"python3 -m dynamo.vllm --namespac=a":            {"--namespac --namespace refused"},
		"python3 -m dynamo.frontend --namespace-p a":     {"--namespace-p --namespace-prefix taken"},
		"python3 -m dynamo.trtllm --namespace a -- --na": nil,
		"python3 -m dynamo.sglang --endpoint-types chat": nil,
		"python3 -m dynamo.vllm --n 1":                   nil,
	} {
		var got []string
		for _, a := range processOf(t, command).Abbreviations() {
			taken := "refused"
			if a.Taken {
				taken = "taken"
			}
			got = append(got, a.Word+" "+a.Flag+" "+taken)
		}
		assert.Equal(t, want, got, command)
	}
}
