//go:build bench

package bench_test

import (
	"context"
	"flag"
	"fmt"

	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	creates = flag.Int("creates", 2000, "pods to create in each variant, one after the other, in dry run; a quarter of it for real")
	// margin is what dynawire may cost more than the policy.
	margin = flag.Duration("margin", 300*time.Microsecond, "how much more than the policy dynawire's mutating webhook may add to the p50")
)

// batch is how many pods are created in one variant before it is the next one's turn.
const batch = 5

// TestLatency creates the same pod in all variants in turn, so that whatever else the machine does hits all of them.
func TestLatency(t *testing.T) {
	server := installVariants(t)
	before := calls(t, server)
	require.Equal(t, admitted(t, policy), admitted(t, installed), "both ways to the same pod")
	require.InDelta(t, 1, calls(t, server)-before, 0.1, "one call for each pod: nothing in the pod changes that makes the API server ask again")
	require.Equal(t, admitted(t, policy), admitted(t, mutating))
	t.Cleanup(func() {
		for _, v := range variants {
			assert.NoError(t, deletePods(context.WithoutCancel(t.Context()), v))
		}
	})
	sequential(t, *creates/20, true) // warm
	dry := sequential(t, *creates, true)
	stored := sequential(t, *creates/4, false)
	rates := concurrent(t, *creates)
	fmt.Println(table(dry, stored, rates))

	over := (dry[mutating].p50() - dry[noHook].p50()) - (dry[policy].p50() - dry[noHook].p50())
	assert.LessOrEqual(t, over, *margin, "the mutating webhook adds this much more to the p50 than the policy")
}

// samples are sorted times.
type samples []time.Duration

func (s samples) quantile(q float64) time.Duration { return s[int(q*float64(len(s)-1))] }
func (s samples) p50() time.Duration               { return s.quantile(0.5) }

// sequential creates n pods in each variant one after the other, and deletes what is stored between batches.
func sequential(t *testing.T, n int, dryRun bool) map[string]samples {
	t.Helper()
	all := map[string]samples{}
	for range n / batch {
		for _, v := range variants {
			for range batch {
				start := time.Now()
				_, err := createPod(t.Context(), v, workerPod, dryRun)
				require.NoError(t, err, v)
				all[v] = append(all[v], time.Since(start))
			}
			if !dryRun {
				require.NoError(t, deletePods(t.Context(), v))
			}
		}
		rotate(variants)
	}
	for _, s := range all {
		slices.Sort(s)
	}
	return all
}

// rotate lets another variant be the first.
func rotate(s []string) {
	first := s[0]
	copy(s, s[1:])
	s[len(s)-1] = first
}

// concurrent creates about n pods in each variant with all clients and returns how many a second.
func concurrent(t *testing.T, n int) map[string]float64 {
	t.Helper()
	const each = 10
	took := map[string]time.Duration{}
	rounds := max(1, n/(clients*each))
	for range rounds {
		for _, v := range variants {
			start := time.Now()
			var group sync.WaitGroup
			for range clients {
				group.Go(func() {
					for range each {
						_, err := createPod(t.Context(), v, workerPod, true)
						assert.NoError(t, err, v)
					}
				})
			}
			group.Wait()
			took[v] += time.Since(start)
		}
		rotate(variants)
	}
	rates := map[string]float64{}
	for v, d := range took {
		rates[v] = float64(rounds*clients*each) / d.Seconds()
	}
	return rates
}

func table(dry, stored map[string]samples, rates map[string]float64) string {
	order := []string{noHook, noop, policy, mutating, installed}
	ms := func(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d)/float64(time.Millisecond)) }
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\t\tdry run, ms\t\t\tstored, ms\t\t%d clients\t\n", clients)
	fmt.Fprintln(w, "variant\tp50\tadded p50\tp99\tp50\tadded p50\tp99\tcreates/s\t")
	for _, v := range order {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%.0f\t\n", titles[v],
			ms(dry[v].p50()), ms(dry[v].p50()-dry[noHook].p50()), ms(dry[v].quantile(0.99)),
			ms(stored[v].p50()), ms(stored[v].p50()-stored[noHook].p50()), ms(stored[v].quantile(0.99)), rates[v])
	}
	_ = w.Flush()
	return b.String()
}
