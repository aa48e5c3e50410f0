package mutate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/identity/identitytest"
	"github.com/dynawire/dynawire/pkg/mutate"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/validate"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// Whatever the JSON is: no panic, and the same answer twice.
func FuzzPod(f *testing.F) {
	for _, spec := range identitytest.Specs(f) {
		f.Add(spec.JSON)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := pod.Decode(data)
		if err != nil {
			return
		}
		require.Equal(t, mutate.Pod(p, options), mutate.Pod(p, options))
		validate.Pod(p, wiring.Settings{})
	})
}
