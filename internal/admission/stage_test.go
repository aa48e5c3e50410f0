package admission

import (
	"bytes"
	"testing"

	"github.com/dynawire/dynawire/internal/admission/review"
	"github.com/dynawire/dynawire/pkg/identity"
	"github.com/dynawire/dynawire/pkg/identity/identitytest"
	"github.com/dynawire/dynawire/pkg/mutate"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// BenchmarkStage is where BenchmarkAdmission's time goes: the review is decoded, the patch is found, the response is
// written. Who the pod is (identity) is the first part of finding the patch, and is measured by itself as well.
func BenchmarkStage(b *testing.B) {
	for _, name := range []string{"small", "worker", "large"} {
		body := identitytest.Review(b, name)
		r, err := review.Decode[pod.Pod](body)
		if err != nil {
			b.Fatal(err)
		}
		options := mutate.Options{ServiceAccount: wiring.ServiceAccount}
		result := mutate.Pod(r.Object, options)
		a := answer{allowed: true, patch: result.Patch, warnings: result.Warnings}

		b.Run(name+"/decode", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := review.Decode[pod.Pod](body); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/identity", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				identity.Resolve(r.Object, wiring.Settings{})
			}
		})
		b.Run(name+"/patch", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				mutate.Pod(r.Object, options)
			}
		})
		b.Run(name+"/respond", func(b *testing.B) {
			b.ReportAllocs()
			var scratch bytes.Buffer
			var out []byte
			for b.Loop() {
				if out, err = appendReview(out[:0], &scratch, r.UID, &a); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
