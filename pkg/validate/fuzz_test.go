package validate_test

import (
	"strings"
	"testing"

	"github.com/dynawire/dynawire/pkg/identity/identitytest"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/validate"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// Whatever the pod, findings have a known rule, a field and a message with a remedy, and come in the catalogue's order.
func FuzzPod(f *testing.F) {
	for _, spec := range identitytest.Specs(f) {
		f.Add(spec.JSON)
	}
	order := map[string]int{}
	for i, r := range validate.Rules() {
		order[r.ID] = i + 1
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := pod.Decode(data)
		if err != nil {
			return
		}
		last := 0
		for _, found := range validate.Pod(p, wiring.Settings{}) {
			at := order[found.Rule]
			if at == 0 || at < last || found.Field == "" || !strings.Contains(found.Message, ". ") {
				t.Fatalf("%+v", found)
			}
			last = at
		}
	})
}
