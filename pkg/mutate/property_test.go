package mutate_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/dynawire/dynawire/pkg/identity/identitytest"
	"github.com/dynawire/dynawire/pkg/mutate"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// Of every pod: the patch applies to the JSON as it came, what was there is still there, fields that the types here do
// not have included, and a second mutation has nothing to do.
func TestAnyPodSettles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		assertSettled(t, []byte(identitytest.Pods().Draw(t, "pod")), anyOptions(t))
	})
}

func anyOptions(t *rapid.T) mutate.Options {
	return mutate.Options{
		ServiceAccount: rapid.SampledFrom([]string{"", wiring.ServiceAccount}).Draw(t, "account"),
		Namespace: wiring.Settings{
			DynamoNamespace: rapid.SampledFrom([]string{"", "team-n", "a.b", "no label value"}).Draw(t, "namespace annotation"),
			FrontendScope:   rapid.SampledFrom([]wiring.Scope{"", wiring.ScopeExact, wiring.ScopePrefix, wiring.ScopeAll}).Draw(t, "scope"),
		},
	}
}
