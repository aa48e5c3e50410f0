package admission_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/dynawire/dynawire/pkg/wiring"
)

// mocker is a Dynamo worker as a user writes it, after the API server's own defaults.
func mocker(change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: "w", Namespace: "llm", Labels: map[string]string{"app": "w"}},
		Spec: corev1.PodSpec{
			ServiceAccountName: "default", DeprecatedServiceAccount: "default",
			Containers: []corev1.Container{{
				Name: "main", Image: "dynamo:1.6.1", Command: []string{"python3", "-m", "dynamo.mocker"}, Args: []string{"--model-path", "/models/tiny"},
			}},
		},
	}
	for _, f := range change {
		f(p)
	}
	return p
}

// plain is a pod that has nothing to do with Dynamo.
func plain(p *corev1.Pod) { p.Spec.Containers[0].Command = []string{"sleep"} }

// mismatched is a worker that says one component and registers as another.
func mismatched(p *corev1.Pod) {
	p.Labels[wiring.LabelComponent] = "decode"
	p.Spec.Containers[0].Args = append(p.Spec.Containers[0].Args, "--endpoint", "dyn://dynamo.prefill.generate")
}

// request is an admission request that the API server would send about a pod.
func request(p *corev1.Pod, change ...func(*admissionv1.AdmissionRequest)) *admissionv1.AdmissionRequest {
	r := &admissionv1.AdmissionRequest{
		UID: "9ba74a69-0796-4afe-a4ec-47e172eb142e", Operation: admissionv1.Create,
		Kind:      metav1.GroupVersionKind{Version: "v1", Kind: "Pod"},
		Resource:  metav1.GroupVersionResource{Version: "v1", Resource: "pods"},
		Namespace: p.Namespace, Name: p.Name, Object: runtime.RawExtension{Object: p},
	}
	r.UserInfo.Username = "alice"
	for _, f := range change {
		f(r)
	}
	return r
}

// requestAbout is an admission request about an object of any kind.
func requestAbout(object any, change ...func(*admissionv1.AdmissionRequest)) *admissionv1.AdmissionRequest {
	raw, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	var o metav1.PartialObjectMetadata
	if err := json.Unmarshal(raw, &o); err != nil {
		panic(err)
	}
	gvk := o.GroupVersionKind()
	r := &admissionv1.AdmissionRequest{
		UID: "9ba74a69-0796-4afe-a4ec-47e172eb142e", Operation: admissionv1.Create,
		Kind:      metav1.GroupVersionKind{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind},
		Namespace: o.Namespace, Name: o.Name, Object: runtime.RawExtension{Raw: raw},
	}
	r.UserInfo.Username = "alice"
	for _, f := range change {
		f(r)
	}
	return r
}

// asObject is any object as the maps of its JSON.
func asObject(t *testing.T, v any) (out map[string]any) {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &out))
	return out
}

// updateFrom makes a request the update of an object.
func updateFrom(old any) func(*admissionv1.AdmissionRequest) {
	return func(r *admissionv1.AdmissionRequest) {
		raw, err := json.Marshal(old)
		if err != nil {
			panic(err)
		}
		r.Operation = admissionv1.Update
		r.OldObject = runtime.RawExtension{Raw: raw}
	}
}

// asAccount makes the user of a request a ServiceAccount of the namespace llm, with a token that is bound to no pod.
func asAccount(r *admissionv1.AdmissionRequest) {
	r.UserInfo = authenticationv1.UserInfo{
		Username: "system:serviceaccount:llm:dynamo-discovery", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:llm"},
		Extra: map[string]authenticationv1.ExtraValue{"authentication.kubernetes.io/credential-id": {"JTI=1"}},
	}
}

// asPod makes the user of a request a pod of the namespace llm, with UID uid-NAME.
func asPod(name string) func(*admissionv1.AdmissionRequest) {
	return func(r *admissionv1.AdmissionRequest) {
		asAccount(r)
		r.UserInfo.Extra["authentication.kubernetes.io/node-name"] = authenticationv1.ExtraValue{"n"}
		r.UserInfo.Extra["authentication.kubernetes.io/pod-name"] = authenticationv1.ExtraValue{name}
		r.UserInfo.Extra["authentication.kubernetes.io/pod-uid"] = authenticationv1.ExtraValue{"uid-" + name}
	}
}

func dryRun(r *admissionv1.AdmissionRequest) {
	yes := true
	r.DryRun = &yes
}

func updateOf(old *corev1.Pod) func(*admissionv1.AdmissionRequest) {
	return func(r *admissionv1.AdmissionRequest) {
		r.Operation = admissionv1.Update
		r.OldObject = runtime.RawExtension{Object: old}
	}
}

func reviewOf(t testing.TB, r *admissionv1.AdmissionRequest) []byte {
	t.Helper()
	body, err := json.Marshal(&admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: r,
	})
	require.NoError(t, err)
	return body
}

// ask sends a request to a webhook and returns its response.
func ask(t *testing.T, h http.Handler, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	t.Helper()
	w := post(h, "application/json", string(reviewOf(t, r)))
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	var review admissionv1.AdmissionReview
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &review))
	require.Equal(t, r.UID, review.Response.UID)
	return review.Response
}

func post(h http.Handler, contentType, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	h.ServeHTTP(w, r)
	return w
}
