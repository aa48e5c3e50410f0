package validate_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynawire/dynawire/pkg/identity/identitytest"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/validate"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// Of every pod: the verdict on it is the verdict on the pod that the mutation makes of it, and names fields and remedies.
func TestVerdictIsThatAfterMutation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ns := wiring.Settings{DynamoNamespace: rapid.SampledFrom([]string{"", "team-n"}).Draw(t, "namespace annotation")}
		data := []byte(identitytest.Pods().Draw(t, "pod"))
		p, err := pod.Decode(data)
		require.NoError(t, err)
		findings := validate.Pod(p, ns)
		require.Equal(t, findings, validate.Pod(mutated(t, data, ns), ns))
		for _, f := range findings {
			require.NotEmpty(t, f.Field)
			require.Contains(t, f.Message, ". ", "the remedy is a sentence of its own")
		}
	})
}

// What a label would be, were it known from that label, is not written there.
func TestVerdictWhereAVariableTakesALabelThatItDecides(t *testing.T) {
	data := []byte(`{"metadata":{},"spec":{"containers":[{"name":"c","args":["python3","-m","dynamo.mocker"],"env":[
		{"name":"DYN_NAMESPACE","valueFrom":{"fieldRef":{"fieldPath":"metadata.labels['nvidia.com/dynamo-component']"}}},
		{"name":"DYN_NAMESPACE","value":"dyn://$(DYN_NAMESPACE).b.c"}]}]}}`)
	p, err := pod.Decode(data)
	require.NoError(t, err)
	require.Equal(t, validate.Pod(p, wiring.Settings{}), validate.Pod(mutated(t, data, wiring.Settings{}), wiring.Settings{}))
}

// Where a ConfigMap may say the namespace, what the suffix is added to is only known once it has been injected.
func TestVerdictOnASuffixToAHiddenNamespace(t *testing.T) {
	data := []byte(`{"metadata":{},"spec":{"containers":[{"name":"c","args":["python3","-m","dynamo.mocker"],
		"env":[{"name":"DYN_NAMESPACE_WORKER_SUFFIX","value":"a.b"}],"envFrom":[{"configMapRef":{"name":"x"}}]}]}}`)
	p, err := pod.Decode(data)
	require.NoError(t, err)
	require.Equal(t, validate.Pod(p, wiring.Settings{}), validate.Pod(mutated(t, data, wiring.Settings{}), wiring.Settings{}))
}
