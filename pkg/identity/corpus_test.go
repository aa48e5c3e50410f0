package identity_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/identity/identitytest"
	"github.com/dynawire/dynawire/pkg/wiring"
)

func TestCorpus(t *testing.T) {
	for _, spec := range identitytest.Specs(t) {
		t.Run(spec.File, func(t *testing.T) {
			r := identity.Resolve(spec.Decode(t), wiring.Settings{})
			if spec.Pod == "skipped" {
				assert.Equal(t, spec.Reason, string(r.Reason))
				assert.Zero(t, r.Identity)
				return
			}
			assert.Equal(t, identity.Wired, r.Reason)
			same(t, "namespace", r.Identity.Namespace, spec.Identity.Namespace, spec.Identity.How.Namespace)
			same(t, "component", r.Identity.Component, spec.Identity.Component, spec.Identity.How.Component)
			same(t, "endpoint", r.Identity.Endpoint, spec.Identity.Endpoint, spec.Identity.How.Endpoint)
			same(t, "role", r.Identity.Role, spec.Identity.Role, spec.Identity.How.Role)
		})
	}
}

func same(t *testing.T, part string, got identity.Value, want, how *string) {
	t.Helper()
	if want == nil {
		assert.Empty(t, got.Text, part)
		return
	}
	assert.Equal(t, *want, got.Text, part)
	if how != nil {
		assert.Equal(t, *how, string(got.How), "how the %s is known", part)
	}
}
