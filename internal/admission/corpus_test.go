package admission_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/dynawire/dynawire/internal/audit"
	"github.com/dynawire/dynawire/pkg/identity/identitytest"
)

// forgetful is a recorder for millions of verdicts.
type forgetful struct{}

func (forgetful) Record(audit.Verdict) {}

// Whatever the body, the answer is a review or a 4xx, from every hook.
func FuzzHooks(f *testing.F) {
	a := newAdmission(f)
	a.Recorder = forgetful{}
	hooks := a.Hooks()
	paths := slices.Sorted(maps.Keys(hooks))
	for i := range paths {
		f.Add(uint8(i), identitytest.Review(f, "small")) // the larger ones say nothing more, and cost ten times as much
		f.Add(uint8(i), []byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","operation":"UPDATE","object":{},"oldObject":null}}`))
		for _, object := range []any{mocker(mismatched), deployment(mocker(mismatched)), jobSet(mocker(mismatched)), service(notReady), workerMetadata("w")} {
			f.Add(uint8(i), reviewOf(f, requestAbout(object, asPod("v"), updateFrom(deployment(mocker())))))
		}
	}
	f.Fuzz(func(t *testing.T, path uint8, body []byte) {
		w := post(hooks[paths[int(path)%len(paths)]], "application/json", string(body))
		switch {
		case w.Code == http.StatusOK:
			var review admissionv1.AdmissionReview
			if err := json.Unmarshal(w.Body.Bytes(), &review); err != nil || review.Response == nil {
				t.Fatalf("no review: %v: %s", err, w.Body)
			}
		case w.Code < 400 || w.Code > 499:
			t.Fatalf("status %d: %s", w.Code, w.Body)
		}
	})
}
