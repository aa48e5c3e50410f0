package admission_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/dynawire/dynawire/internal/audit"
	"github.com/dynawire/dynawire/internal/report"
	"github.com/dynawire/dynawire/pkg/identity/identitytest"
)

// BenchmarkFlood is the validation of a good pod while nothing else happens, and while 11,000 pods a minute are refused and
// recorded: 10 of 11 of one ReplicaSet, the others each of its own.
func BenchmarkFlood(b *testing.B) {
	good := identitytest.Review(b, "worker")
	for _, flooded := range []bool{false, true} {
		b.Run(fmt.Sprintf("flooded=%t", flooded), func(b *testing.B) {
			a := newAdmission(b)
			recorder := audit.NewRecorder(audit.Config{
				Log: logr.FromSlogHandler(slog.NewJSONHandler(nowhere{}, nil)), Owners: nearest{}, Sink: noEvents{},
				Reports: &oneReport{}, Registerer: prometheus.NewRegistry(), Host: "replica-0",
			})
			a.Recorder = recorder
			ctx, cancel := context.WithCancel(b.Context())
			var running sync.WaitGroup
			running.Go(func() { recorder.Run(ctx) })
			if flooded {
				running.Go(func() { flood(ctx, a.ValidatePods()) })
			}
			var took []time.Duration
			h := a.ValidatePods()
			timed := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				start := time.Now()
				h.ServeHTTP(w, r)
				took = append(took, time.Since(start))
			})
			benchmark(b, timed, good)
			cancel()
			running.Wait()
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
			b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
		})
	}
}

// flood has pods refused at a steady pace until ctx ends.
func flood(ctx context.Context, h http.Handler) {
	pace := time.NewTicker(time.Minute / 11_000)
	defer pace.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-pace.C:
		}
		owner := "crashing"
		if i%11 == 0 {
			owner = fmt.Sprintf("w-%d", i/11%1000)
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader(fmt.Sprintf(refused, owner, owner)))
		if err != nil {
			panic(err)
		}
		request.Header.Set("Content-Type", "application/json")
		h.ServeHTTP(&discard{header: http.Header{}}, request)
	}
}

const refused = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","operation":"CREATE","namespace":"llm",
"kind":{"group":"","version":"v1","kind":"Pod"},"userInfo":{"username":"system:serviceaccount:kube-system:replicaset-controller"},
"object":{"metadata":{"generateName":"w-","labels":{"nvidia.com/dynamo-component":"decode"},
"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":%q,"uid":"uid-of-%s","controller":true}]},
"spec":{"containers":[{"name":"main","command":["python3","-m","dynamo.vllm"],"args":["--endpoint","dyn://dynamo.prefill.generate"]}]}}}}`

// nearest takes every object for what a person wrote.
type nearest struct{}

func (nearest) Owner(_ context.Context, near corev1.ObjectReference) corev1.ObjectReference {
	return near
}

// nowhere takes lines that are formatted all the same.
type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }

type noEvents struct{}

func (noEvents) Create(_ context.Context, _ string, e *corev1.Event) (*corev1.Event, error) {
	return e, nil
}

func (noEvents) Patch(context.Context, string, string, []byte) (*corev1.Event, error) {
	return &corev1.Event{}, nil
}

// oneReport keeps what was written last.
type oneReport struct{ stored *report.Report }

func (o *oneReport) Get(_ context.Context, _, name string) (*report.Report, error) {
	if o.stored == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "reports"}, name)
	}
	return o.stored.DeepCopy(), nil
}

func (o *oneReport) Create(_ context.Context, r *report.Report) (int, error) { return o.put(r) }
func (o *oneReport) Update(_ context.Context, r *report.Report) (int, error) { return o.put(r) }

func (o *oneReport) put(r *report.Report) (int, error) {
	o.stored = r
	return len(r.Results) * 700, nil
}
