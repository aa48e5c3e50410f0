package admission_test

import (
	"bytes"
	"context"
	"net/http"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
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

type fakeRecorder struct{ verdicts []audit.Verdict }

func (f *fakeRecorder) Record(v audit.Verdict) { f.verdicts = append(f.verdicts, v) }
