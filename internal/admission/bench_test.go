package admission_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/dynawire/dynawire/internal/admission"
	"github.com/dynawire/dynawire/internal/audit"
	"github.com/dynawire/dynawire/pkg/identity/identitytest"
)

// BenchmarkAdmission is the whole handler from body to response, beside the usual way of writing one: controller-runtime's
// defaulter, which decodes the pod into the API type, marshals it and compares the two. Both make the same mutation by the
// same core, see TestDefaulterMakesTheSamePod.
func BenchmarkAdmission(b *testing.B) {
	for _, review := range []string{"small", "worker", "large"} {
		body := identitytest.Review(b, review)
		b.Run(review+"/dynawire", func(b *testing.B) { benchmark(b, newAdmission(b).MutatePods(), body) })
		b.Run(review+"/defaulter", func(b *testing.B) { benchmark(b, newDefaulter(b), body) })
	}
}

// BenchmarkValidation is the other webhook, on pods that are wired already.
func BenchmarkValidation(b *testing.B) {
	for _, review := range []string{"small", "worker", "large"} {
		body := identitytest.Review(b, review)
		b.Run(review, func(b *testing.B) { benchmark(b, newAdmission(b).ValidatePods(), body) })
	}
}

// BenchmarkWorkload is the webhook about pod templates: of the worker and of the small pod of the other
// benchmarks, and of a workload that is scaled.
func BenchmarkWorkload(b *testing.B) {
	template := func(review string) *appsv1.Deployment {
		var p corev1.Pod
		if err := json.Unmarshal(identitytest.ReviewPod(b, review), &p); err != nil {
			b.Fatal(err)
		}
		return deployment(&p)
	}
	dynamo, other := template("worker"), template("small")
	for name, r := range map[string]*admissionv1.AdmissionRequest{
		"worker": requestAbout(dynamo), "small": requestAbout(other), "scaled": requestAbout(dynamo, updateFrom(dynamo)),
	} {
		b.Run(name, func(b *testing.B) { benchmark(b, newAdmission(b).ValidateWorkloads(), reviewOf(b, r)) })
	}
}

// BenchmarkMetadata is the two webhooks that each write of a worker's metadata passes, of the real Dynamo's size.
func BenchmarkMetadata(b *testing.B) {
	raw, err := os.ReadFile("../../pkg/runtime/wire/testdata/worker-metadata-1.6.1.json")
	if err != nil {
		b.Fatal(err)
	}
	var real object
	if err := json.Unmarshal(raw, &real); err != nil {
		b.Fatal(err)
	}
	written := workerMetadata("w", func(o object) { o["spec"] = real["spec"] })
	body := reviewOf(b, requestAbout(written, asPod("w"), updateFrom(written)))
	a := newAdmission(b)
	a.Pods = fakePods{"llm/w/uid-w": {Labels: decodeLabels}}
	b.Run("mutate", func(b *testing.B) { benchmark(b, a.MutateMetadata(), body) })
	b.Run("validate", func(b *testing.B) { benchmark(b, a.ValidateMetadata(), body) })
}

func benchmark(b *testing.B, h http.Handler, body []byte) {
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	reader := bytes.NewReader(body)
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "/", nil)
	if err != nil {
		b.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.ContentLength = int64(len(body))
	w := &discard{header: http.Header{}}
	for b.Loop() {
		reader.Reset(body)
		request.Body = bodyOf{reader}
		w.written = 0
		h.ServeHTTP(w, request)
		if w.written == 0 || w.code >= 400 {
			b.Fatalf("no answer: %d", w.code)
		}
	}
}

// bodyOf is a request body that can be read again.
type bodyOf struct{ *bytes.Reader }

func (bodyOf) Close() error { return nil }

// discard is a response that nobody reads.
type discard struct {
	header  http.Header
	written int
	code    int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { d.written += len(p); return len(p), nil }
func (d *discard) WriteHeader(code int)        { d.code = code }

// newAdmission has an opted-in namespace without settings, and its account.
func newAdmission(testing.TB) *admission.Admission {
	return &admission.Admission{
		Namespaces: fakeNamespaces{"": {OptedIn: true}},
		Accounts:   fakeAccounts(true),
		Pods:       fakePods{},
		Recorder:   &fakeRecorder{},
		Metrics:    admission.NewMetrics(prometheus.NewRegistry()),
		Log:        logr.Discard(),
	}
}

func newDefaulter(testing.TB) http.Handler {
	return ctrladmission.WithDefaulter[*corev1.Pod](clientgoscheme.Scheme, defaulter{})
}

// fakeNamespaces are namespaces by name; the empty name stands for all others.
type fakeNamespaces map[string]admission.Namespace

func (f fakeNamespaces) Get(_ context.Context, name string) (admission.Namespace, error) {
	if ns, ok := f[name]; ok {
		return ns, nil
	}
	return f[""], nil
}

type fakeAccounts bool

func (f fakeAccounts) Exists(context.Context, string) bool { return bool(f) }

// fakePods are pods by namespace/name/UID.
type fakePods map[string]admission.Writer

func (f fakePods) Get(_ context.Context, namespace, name, uid string) (admission.Writer, bool) {
	w, ok := f[namespace+"/"+name+"/"+uid]
	return w, ok
}

func (f fakePods) Gone(_ context.Context, namespace, name, uid string) bool {
	for key := range f {
		if strings.HasPrefix(key, namespace+"/"+name+"/") && key != namespace+"/"+name+"/"+uid {
			return true
		}
	}
	return false
}

type fakeRecorder struct{ verdicts []audit.Verdict }

func (f *fakeRecorder) Record(v audit.Verdict) { f.verdicts = append(f.verdicts, v) }
