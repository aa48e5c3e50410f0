package review_test

import (
	"encoding/json"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/dynawire/dynawire/internal/admission/review"
	"github.com/dynawire/dynawire/internal/workload"
	"github.com/dynawire/dynawire/pkg/identity/identitytest"
	"github.com/dynawire/dynawire/pkg/mutate"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/validate"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// Whatever the body, it is read as each kind or refused, and what was read can be wired and judged. The handlers around
// that have a target of their own in package admission, which is slower by far.
func FuzzReview(f *testing.F) {
	f.Add(identitytest.Review(f, "small")) // the larger ones say nothing more, and cost ten times as much
	for _, body := range []string{
		`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","operation":"UPDATE","object":{},"oldObject":null}}`,
		`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","operation":"CREATE","namespace":"llm","kind":{"group":"","version":"v1","kind":"Pod"},
		"object":{"metadata":{"generateName":"w-","labels":{"nvidia.com/dynamo-component":"decode"},"ownerReferences":[{"kind":"ReplicaSet","controller":true}]},
		"spec":{"containers":[{"name":"main","command":["python3","-m","dynamo.vllm"],"args":["--endpoint","dyn://dynamo.prefill.generate"],
		"env":[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}],"readinessProbe":{"httpGet":{"path":"/health","port":"system"}}}]}}}}`,
		`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","operation":"CREATE","kind":{"group":"apps","version":"v1","kind":"Deployment"},
		"object":{"spec":{"template":{"spec":{"containers":[{"command":["sh","-c","exec python3 -m dynamo.sglang $@"],"args":["x"]}]}}}}}}`,
		`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","operation":"CREATE","kind":{"group":"","version":"v1","kind":"Service"},
		"object":{"metadata":{"labels":{"nvidia.com/dynamo-discovery-enabled":"true"}},"spec":{"publishNotReadyAddresses":true}}}}`,
		`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","operation":"CREATE","namespace":"llm",
		"userInfo":{"username":"system:serviceaccount:llm:a","extra":{"authentication.kubernetes.io/pod-name":["w"],"authentication.kubernetes.io/pod-uid":["1"]}},
		"object":{"metadata":{"name":"w","ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"w","uid":"1"}]},"spec":{"data":{}}}}}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if r, err := review.Decode[pod.Pod](body); err == nil && r.Object != nil {
			if _, err := json.Marshal(mutate.Pod(r.Object, mutate.Options{ServiceAccount: wiring.ServiceAccount}).Patch); err != nil {
				t.Fatal(err)
			}
			validate.Pod(r.Object, wiring.Settings{})
			if r.OldObject != nil {
				validate.PodUpdate(r.OldObject, r.Object, wiring.Settings{})
			}
		}
		if r, err := review.Decode[jsontext.Value](body); err == nil && r.Object != nil {
			for _, template := range workload.JSON.Find(r.Kind.APIVersion(), r.Kind.Kind, *r.Object) {
				if p, err := pod.Decode(template.Node); err == nil {
					validate.Template(p, wiring.Settings{}, template.Prefix)
				}
			}
		}
		if r, err := review.Decode[validate.Service](body); err == nil && r.Object != nil {
			r.Object.Findings()
		}
		if r, err := review.Decode[validate.WorkerMetadata](body); err == nil && r.Object != nil {
			w := validate.MetadataWrite{
				Namespace: r.Namespace, User: r.UserInfo.Username, PodName: r.UserInfo.Pod.Name, PodUID: r.UserInfo.Pod.UID,
				Object: r.Object, Old: r.OldObject,
			}
			w.Findings()
		}
	})
}
