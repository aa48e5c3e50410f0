package mutate_test

import (
	"testing"

	"github.com/dynawire/dynawire/pkg/identity/identitytest"
	"github.com/dynawire/dynawire/pkg/mutate"
)

func BenchmarkPod(b *testing.B) {
	for _, name := range []string{"small", "worker", "large"} {
		b.Run(name, func(b *testing.B) {
			p := decode(b, identitytest.ReviewPod(b, name))
			b.ReportAllocs()
			for b.Loop() {
				mutate.Pod(p, options)
			}
		})
	}
}
