package lack_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/internal/drift/lack"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/validate"
	"github.com/dynawire/dynawire/pkg/wiring"
)

func TestCheck(t *testing.T) {
	const remedy = " Restart its workload (kubectl rollout restart), or delete the pod where it has none."
	for name, c := range map[string]struct {
		pod  string
		ours bool
		want []validate.Finding
	}{
		"not Dynamo's": {pod: `{"spec":{"containers":[{"command":["redis-server"]}]}}`},
		"never wired": {
			pod:  `{"metadata":{"labels":{"app":"w"}},"spec":{"containers":[{"name":"main","command":["python3","-m","dynamo.vllm"]}]}}`,
			ours: true,
			want: []validate.Finding{{
				Rule: lack.Unwired, Severity: validate.Deny, Field: "metadata.labels",
				Message: "the pod lacks labels, service account, POD_NAME, POD_NAMESPACE, POD_UID, DYN_DISCOVERY_BACKEND, DYN_NAMESPACE," +
					" DYN_COMPONENT, DYN_ENDPOINT, DYN_SYSTEM_PORT, DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS, named port, readiness probe, but its" +
					" namespace is opted in to discovery; it was created before that or while the webhook was away, and its peers cannot find it." + remedy,
			}},
		},
		"wired by an older release": {
			pod: `{"metadata":{"labels":{"nvidia.com/dynamo-discovery-backend":"kubernetes","nvidia.com/dynamo-namespace":"dynamo",
				"nvidia.com/dynamo-component":"backend","nvidia.com/dynamo-component-type":"worker","nvidia.com/dynamo-discovery-enabled":"true"},"annotations":{"dynawire.io/service-account":"own"}},
				"spec":{"serviceAccountName":"own","containers":[{"name":"main","command":["python3","-m","dynamo.vllm"],
				"readinessProbe":{"httpGet":{"path":"/health","port":9090}},"ports":[{"name":"system","containerPort":9090}],
				"env":[{"name":"DYN_SYSTEM_PORT","value":"9090"},{"name":"DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS","value":"[\"generate\"]"},
				{"name":"DYN_NAMESPACE","value":"dynamo"},{"name":"DYN_COMPONENT","value":"backend"},{"name":"DYN_ENDPOINT","value":"dynamo.backend.generate"},
				{"name":"DYN_DISCOVERY_BACKEND","value":"kubernetes"}]}]}}`,
			ours: true,
			want: []validate.Finding{{
				Rule: lack.Outdated, Severity: validate.Warning, Field: "spec",
				Message: "the pod lacks POD_UID, POD_NAMESPACE, POD_NAME, but a pod that is created today gets it; it was wired by other settings or an" +
					" older release of dynawire." + remedy,
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := pod.Decode([]byte(c.pod))
			require.NoError(t, err)
			findings, ours := lack.Check(p, wiring.Settings{})
			assert.Equal(t, c.ours, ours)
			assert.Equal(t, c.want, findings)
		})
	}
}
