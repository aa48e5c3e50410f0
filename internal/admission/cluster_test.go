package admission_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/dynawire/dynawire/internal/admission"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// lookUps answers Gets from a function.
type lookUps func() error

func (f lookUps) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return f()
}
func (lookUps) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("not expected")
}

func notFound() error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: "serviceaccounts"}, wiring.ServiceAccount)
}

func newAccounts(cached, live client.Reader) *admission.Accounts {
	return &admission.Accounts{Cached: cached, Live: live, Wait: 200 * time.Millisecond, Metrics: admission.NewMetrics(prometheus.NewRegistry())}
}

func TestAccountIsTakenFromTheCache(t *testing.T) {
	a := newAccounts(lookUps(func() error { return nil }), lookUps(func() error { t.Error("asked the API server"); return nil }))
	assert.True(t, a.Exists(t.Context(), "llm"))
}

func TestAccountThatTheCacheLacksIsAskedFor(t *testing.T) {
	assert.True(t, newAccounts(lookUps(notFound), lookUps(func() error { return nil })).Exists(t.Context(), "llm"))
}

func TestAccountIsWaitedFor(t *testing.T) {
	defer goleak.VerifyNone(t)
	calls := 0
	live := lookUps(func() error {
		if calls++; calls < 4 {
			return notFound()
		}
		return nil
	})
	assert.True(t, newAccounts(lookUps(notFound), live).Exists(t.Context(), "llm"))
	assert.Equal(t, 4, calls)
}

func TestWaitingForAnAccountEnds(t *testing.T) {
	defer goleak.VerifyNone(t)
	start := time.Now()
	assert.False(t, newAccounts(lookUps(notFound), lookUps(notFound)).Exists(t.Context(), "llm"))
	assert.InDelta(t, 0.2, time.Since(start).Seconds(), 0.15)
}

func TestManyPodsWaitTogether(t *testing.T) {
	defer goleak.VerifyNone(t)
	var calls atomic.Int32
	a := newAccounts(lookUps(notFound), lookUps(func() error { calls.Add(1); return notFound() }))
	results := make(chan bool)
	for range 50 {
		go func() { results <- a.Exists(t.Context(), "llm") }()
	}
	for range 50 {
		assert.False(t, <-results)
	}
	assert.Less(t, calls.Load(), int32(30))
}

func TestClientThatGoesAwayStopsWaiting(t *testing.T) {
	defer goleak.VerifyNone(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	start := time.Now()
	assert.False(t, newAccounts(lookUps(notFound), lookUps(notFound)).Exists(ctx, "llm"))
	assert.Less(t, time.Since(start), 150*time.Millisecond)
	time.Sleep(250 * time.Millisecond) // the look-ups, which others might wait for, end by themselves
}

func namespace(label string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:        "llm",
		Labels:      map[string]string{wiring.LabelDiscoveryEnabled: label},
		Annotations: map[string]string{wiring.AnnotationDynamoNamespace: "team-a", wiring.AnnotationValidation: "maybe"},
	}}
}

func TestNamespaceOfTheCache(t *testing.T) {
	n := &admission.Namespaces{
		Cached: fake.NewClientBuilder().WithObjects(namespace("true")).Build(),
		Live:   lookUps(func() error { t.Error("asked the API server"); return nil }),
	}
	ns, err := n.Get(t.Context(), "llm")
	require.NoError(t, err)
	assert.True(t, ns.OptedIn)
	assert.Equal(t, "team-a", ns.Settings.DynamoNamespace)
	assert.Len(t, ns.Warnings, 1)
}

func TestNamespaceThatTheCacheLacksIsAskedFor(t *testing.T) {
	for label, optedIn := range map[string]bool{"true": true, "false": false} {
		n := &admission.Namespaces{Cached: fake.NewClientBuilder().Build(), Live: fake.NewClientBuilder().WithObjects(namespace(label)).Build()}
		ns, err := n.Get(t.Context(), "llm")
		require.NoError(t, err)
		assert.Equal(t, optedIn, ns.OptedIn)
	}
}

func TestNamespaceThatIsNowhere(t *testing.T) {
	n := &admission.Namespaces{Cached: fake.NewClientBuilder().Build(), Live: fake.NewClientBuilder().Build()}
	ns, err := n.Get(t.Context(), "gone")
	require.NoError(t, err)
	assert.False(t, ns.OptedIn)

	n.Live = lookUps(func() error { return errors.New("no connection") })
	_, err = n.Get(t.Context(), "llm")
	assert.ErrorContains(t, err, "llm")
}

func TestDrainingServesAndSendsClientsAway(t *testing.T) {
	d := &admission.Drain{}
	h := d.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	serve := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", nil))
		return w
	}
	require.NoError(t, d.Check(nil))
	assert.Empty(t, serve().Header().Get("Connection"))
	d.Begin()
	require.Error(t, d.Check(nil))
	w := serve()
	assert.Equal(t, http.StatusOK, w.Code)
	assert.Equal(t, "close", w.Header().Get("Connection"))
}
