package admission_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/dynawire/dynawire/internal/admission"
	"github.com/dynawire/dynawire/pkg/identity/identitytest"
)

const minimalReview = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","kind":{"version":"v1","kind":"Pod"},"operation":"CREATE","namespace":"llm","object":OBJECT}}`

func TestBadInputIsAnsweredAndNeverCrashes(t *testing.T) {
	good := strings.Replace(minimalReview, "OBJECT", "{}", 1)
	for name, tc := range map[string]struct {
		contentType, body string
		want              int
	}{
		"empty":                      {"application/json", "", http.StatusBadRequest},
		"not JSON":                   {"application/json", "hello", http.StatusBadRequest},
		"cut off":                    {"application/json", good[:len(good)-9], http.StatusBadRequest},
		"two documents":              {"application/json", good + good, http.StatusBadRequest},
		"null":                       {"application/json", "null", http.StatusBadRequest},
		"an array":                   {"application/json", "[]", http.StatusBadRequest},
		"of another API version":     {"application/json", strings.Replace(good, "k8s.io/v1", "k8s.io/v1beta1", 1), http.StatusBadRequest},
		"of another kind":            {"application/json", strings.Replace(good, "AdmissionReview", "ConversionReview", 1), http.StatusBadRequest},
		"without request":            {"application/json", `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`, http.StatusBadRequest},
		"without uid":                {"application/json", strings.Replace(good, `"uid":"1",`, "", 1), http.StatusBadRequest},
		"of wrong types":             {"application/json", strings.Replace(good, `"llm"`, "7", 1), http.StatusBadRequest},
		"a pod of wrong types":       {"application/json", strings.Replace(minimalReview, "OBJECT", `{"spec":{"containers":"none"}}`, 1), http.StatusBadRequest},
		"10 MB":                      {"application/json", good + strings.Repeat(" ", 10_000_000), http.StatusRequestEntityTooLarge},
		"YAML":                       {"application/yaml", good, http.StatusUnsupportedMediaType},
		"without content type":       {"", good, http.StatusUnsupportedMediaType},
		"good":                       {"application/json", good, http.StatusOK},
		"good, with charset":         {"application/json; charset=utf-8", good, http.StatusOK},
		"8 MB":                       {"application/json", good + strings.Repeat(" ", 8<<20-len(good)), http.StatusOK},
		"a pod without containers":   {"application/json", strings.Replace(minimalReview, "OBJECT", `{"spec":{}}`, 1), http.StatusOK},
		"a pod that is null":         {"application/json", strings.Replace(minimalReview, "OBJECT", "null", 1), http.StatusOK},
		"an unknown operation":       {"application/json", strings.Replace(good, "CREATE", "EXPLODE", 1), http.StatusOK},
		"an object of another kind":  {"application/json", strings.Replace(good, `"Pod"`, `"Deployment"`, 1), http.StatusOK},
		"unknown fields":             {"application/json", strings.Replace(minimalReview, "OBJECT", `{"new":{"a":[1]},"spec":{"new":true}}`, 1), http.StatusOK},
		"names in the wrong case":    {"application/json", strings.Replace(good, `"object"`, `"Object"`, 1), http.StatusOK},
		"a repeated field":           {"application/json", strings.Replace(good, `"uid":"1"`, `"uid":"0","uid":"1"`, 1), http.StatusOK},
		"a dry run that is null":     {"application/json", strings.Replace(good, `"uid"`, `"dryRun":null,"uid"`, 1), http.StatusOK},
		"more than one opening byte": {"application/json", "{{" + good, http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAdmission(t)
			for hook, h := range map[string]http.Handler{"mutate": a.MutatePods(), "validate": a.ValidatePods()} {
				w := post(h, tc.contentType, tc.body)
				assert.Equal(t, tc.want, w.Code, "%s: %s", hook, w.Body.String())
				if tc.want == http.StatusOK {
					assert.Contains(t, w.Body.String(), `"uid":"1","allowed":true}}`)
				}
			}
		})
	}
}

func TestLargeBodyOfUnknownLength(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat(" ", 10_000_000)))
	r.Header.Set("Content-Type", "application/json")
	r.ContentLength = -1
	w := httptest.NewRecorder()
	newAdmission(t).MutatePods().ServeHTTP(w, r)
	assert.Equal(t, http.StatusRequestEntityTooLarge, w.Code)
}

func TestOtherMethods(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodHead} {
		w := httptest.NewRecorder()
		newAdmission(t).MutatePods().ServeHTTP(w, httptest.NewRequest(method, "/", nil))
		assert.Equal(t, http.StatusMethodNotAllowed, w.Code)
		assert.Equal(t, http.MethodPost, w.Header().Get("Allow"))
	}
}

type panics struct{}

func (panics) Get(context.Context, string) (admission.Namespace, error) { panic("a bug") }

func TestPanicFailsOneRequest(t *testing.T) {
	registry := prometheus.NewRegistry()
	a := newAdmission(t)
	a.Metrics = admission.NewMetrics(registry)
	good := a.Namespaces
	a.Namespaces = panics{}
	w := post(a.MutatePods(), "application/json", string(identitytest.Review(t, "worker")))
	assert.Equal(t, http.StatusInternalServerError, w.Code)
	assert.NotContains(t, w.Body.String(), "a bug", "what went wrong inside is for the log")
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP dynawire_admission_panics_total Requests that ended in a panic, by hook.
# TYPE dynawire_admission_panics_total counter
dynawire_admission_panics_total{hook="mutate"} 1
`), "dynawire_admission_panics_total"))

	a.Namespaces = good
	assert.Equal(t, http.StatusOK, post(a.MutatePods(), "application/json", string(identitytest.Review(t, "worker"))).Code)
}

// What the API server of a later release sends passes, and its fields are not touched.
func TestFieldsOfTheFutureSurvive(t *testing.T) {
	body := identitytest.Review(t, "future")
	w := post(newAdmission(t).MutatePods(), "application/json", string(body))
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	assert.NotContains(t, w.Body.String(), `"remove"`)
}

func TestBuffersAreNotSharedBetweenRequests(t *testing.T) {
	h := newAdmission(t).MutatePods()
	bodies, want := map[string]string{}, map[string]string{}
	for _, review := range []string{"small", "worker", "large"} {
		bodies[review] = string(identitytest.Review(t, review))
		want[review] = post(h, "application/json", bodies[review]).Body.String()
	}
	done := make(chan bool)
	for range 8 {
		go func() {
			ok := true
			for range 20 {
				for review, body := range want {
					ok = ok && post(h, "application/json", bodies[review]).Body.String() == body
				}
			}
			done <- ok
		}()
	}
	for range 8 {
		assert.True(t, <-done)
	}
}

func TestSubresourcesAreNotJudged(t *testing.T) {
	bad := mocker(mismatched)
	a := newAdmission(t)
	r := request(bad, updateOf(mocker()), func(r *admissionv1.AdmissionRequest) { r.SubResource = "ephemeralcontainers" })
	assert.True(t, ask(t, a.ValidatePods(), r).Allowed)
	assert.False(t, ask(t, a.ValidatePods(), request(bad)).Allowed)
}

func FuzzHandlers(f *testing.F) {
	for _, review := range []string{"small", "worker", "future"} {
		f.Add(identitytest.Review(f, review))
	}
	f.Add([]byte(strings.Replace(minimalReview, "OBJECT", `{"spec":{"containers":[{"command":["sh","-c","python -m dynamo.vllm $X"]}]}}`, 1)))
	a := newAdmission(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, h := range []http.Handler{a.MutatePods(), a.ValidatePods()} {
			r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code >= 500 {
				t.Fatalf("%d: %s", w.Code, w.Body)
			}
		}
	})
}
