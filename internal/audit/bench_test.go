package audit_test

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/dynawire/dynawire/internal/audit"
)

// nowhere takes lines that are formatted all the same.
type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }

// BenchmarkRecord is what a refusal costs admission: with its log line, and without to see what is whose.
func BenchmarkRecord(b *testing.B) {
	message := mismatch
	message.Message = `--endpoint names component "prefill", but label nvidia.com/dynamo-component is "decode"; peers looking for "decode" would never find this pod. Set the label to "prefill" or the argument to dyn://dynamo.decode.generate.`
	for name, log := range map[string]logr.Logger{
		"logged": logr.FromSlogHandler(slog.NewJSONHandler(nowhere{}, nil)),
		"silent": logr.Discard(),
	} {
		for _, workloads := range []int{1, 1000} {
			b.Run(fmt.Sprintf("%s/%d", name, workloads), func(b *testing.B) {
				r := audit.NewRecorder(audit.Config{
					Log: log, Owners: &audit.Owners{}, Sink: &sink{}, Reports: &reports{}, Registerer: prometheus.NewRegistry(), Host: "h",
				})
				verdicts := make([]audit.Verdict, workloads)
				for i := range verdicts {
					verdicts[i] = of(fmt.Sprint("w-", i), refusal(message))
				}
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					r.Record(verdicts[i%workloads])
					i++
				}
			})
		}
	}
}
