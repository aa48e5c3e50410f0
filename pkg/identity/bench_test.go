package identity_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/identity/identitytest"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

func BenchmarkResolve(b *testing.B) {
	for _, name := range []string{"small", "worker", "large"} {
		b.Run(name, func(b *testing.B) {
			p, err := pod.Decode(identitytest.ReviewPod(b, name))
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				identity.Resolve(p, wiring.Settings{})
			}
		})
	}
}
