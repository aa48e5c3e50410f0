//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/dynawire/dynawire/internal/cli/audit"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// What runs and should not: test/e2e/install has the server look for it all the time.
func TestDrift(t *testing.T) {
	unwired, models := newNamespace(t, nil, nil), optedIn(t, nil)
	kubectl(t, deployment("before", dynamoImage, nil, mocker()...), "-n", unwired, "apply", "-f", "-")
	kubectl(t, deployment("first", dynamoImage, nil, mocker("--model-name", "tiny")...), "-n", models, "apply", "-f", "-")
	kubectl(t, deployment("alias", dynamoImage, nil, mocker("--model-name", "alias")...), "-n", models, "apply", "-f", "-")

	t.Run("created before its namespace was opted in", func(t *testing.T) {
		old := podOf(t, unwired, "before")
		require.Empty(t, old.Labels[wiring.LabelDiscoveryBackend])
		kubectl(t, "", "label", "namespace", unwired, wiring.LabelDiscoveryEnabled+"=true")
		f := drifted(t, unwired, "unwired", "Deployment/before")
		assert.Equal(t, "Pod/"+old.Name, f.Example)
		assert.Contains(t, f.Message, "the pod lacks labels")
		assert.Equal(t, 1, metric(t, `dynawire_drift_pods\{namespace="`+unwired+`",rule="unwired"\}`), "the gauge")

		kubectl(t, "", "-n", unwired, "rollout", "restart", "deployment", "before") // what the message tells to do
		eventually(t, "the finding goes", func() error {
			if all := findingsOf(t, unwired, "unwired"); len(all) > 0 {
				return fmt.Errorf("there is %+v", all)
			}
			return nil
		})
		assert.Equal(t, "kubernetes", readyPodOf(t, unwired, "before").Labels[wiring.LabelDiscoveryBackend])
	})
	t.Run("another model than its peer", func(t *testing.T) {
		readyPodOf(t, models, "first")
		readyPodOf(t, models, "alias") // another name of the same path, which may stand beside it
		kubectl(t, deployment("second", dynamoImage, nil, mocker()...), "-n", models, "apply", "-f", "-")
		var ended *corev1.ContainerStateTerminated
		eventually(t, "the end of the second", func() error {
			for _, c := range podOf(t, models, "second").Status.ContainerStatuses {
				if ended = c.LastTerminationState.Terminated; ended != nil {
					return nil
				}
			}
			return fmt.Errorf("it goes on")
		})
		assert.EqualValues(t, 0, ended.ExitCode, "and nothing says why")
		f := drifted(t, models, "model-mismatch", "Deployment/second")
		assert.Contains(t, f.Message, `the pod serves model "/models/tiny", but 2 peers of endpoint dynamo.backend.generate serve "alias"`)
		assert.Len(t, findingsOf(t, models, "model-mismatch"), 1)
	})
}

// drifted waits for a finding about what runs.
func drifted(t *testing.T, ns, rule, object string) audit.Finding {
	t.Helper()
	var found audit.Finding
	eventually(t, rule+" of "+object, func() error {
		all := findingsOf(t, ns, rule)
		for _, f := range all {
			if f.Object == object && f.Outcome == "running" && f.Report == "dynawire-drift" {
				found = f
				return nil
			}
		}
		return fmt.Errorf("there is %+v", all)
	})
	return found
}

// findingsOf is what `kubectl dynawire audit` says of a rule.
func findingsOf(t *testing.T, ns, rule string) []audit.Finding {
	t.Helper()
	var all []audit.Finding
	require.NoError(t, json.Unmarshal([]byte(kubectlDynawire(t, "audit", "-n", ns, "--rule", rule, "-o", "json")), &all))
	return all
}
