package validate_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/validate"
	"github.com/dynawire/dynawire/pkg/wiring"
)

func TestPublishNotReady(t *testing.T) {
	service := func(label string, publish bool) *validate.Service {
		return &validate.Service{
			Metadata: pod.Metadata{Labels: map[string]string{wiring.LabelDiscoveryEnabled: label}},
			Spec:     validate.ServiceSpec{PublishNotReadyAddresses: publish},
		}
	}
	findings := service("true", true).Findings()
	require.Len(t, findings, 1)
	assert.Equal(t, validate.RulePublishNotReady, findings[0].Rule)
	assert.Equal(t, validate.Deny, findings[0].Severity)
	golden(t, "publish-not-ready.txt", findings[0].String()+"\n")

	assert.Empty(t, service("true", false).Findings())
	assert.Empty(t, service("false", true).Findings(), "Dynamo does not read its slices")
	assert.Empty(t, (&validate.Service{Spec: validate.ServiceSpec{PublishNotReadyAddresses: true}}).Findings())
}
