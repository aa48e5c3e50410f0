//go:build e2e

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/dynawire/dynawire/pkg/runtime"
)

// told is what the Go frontend prints in its pod, by worker, and when each line reached its log on the node.
type told struct {
	mu     sync.Mutex
	events map[string]chan toldEvent
}

type toldEvent struct {
	event runtime.EventType
	at    time.Time
}

// toldInPod starts the Go frontend, which follows the component go-backend.
func toldInPod(t *testing.T, ns string) *told {
	t.Helper()
	kubectl(t, "", "-n", ns, "apply", "-f", "../../examples/frontend/deployment.yaml")
	frontend := readyPodOf(t, ns, "go-frontend")
	stream, err := client.CoreV1().Pods(ns).GetLogs(frontend.Name, &corev1.PodLogOptions{Follow: true, Timestamps: true}).Stream(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = stream.Close() })
	all := &told{events: map[string]chan toldEvent{}}
	go func() {
		for lines := bufio.NewScanner(stream); lines.Scan(); {
			stamp, text, _ := strings.Cut(lines.Text(), " ")
			at, err := time.Parse(time.RFC3339Nano, stamp)
			var line struct {
				Type runtime.EventType `json:"type"`
				Pod  string            `json:"pod"`
			}
			if err == nil && json.Unmarshal([]byte(text), &line) == nil && line.Pod != "" {
				all.of(line.Pod) <- toldEvent{line.Type, at}
			}
		}
	}()
	return all
}

func (a *told) of(pod string) chan toldEvent {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.events[pod] == nil {
		a.events[pod] = make(chan toldEvent, 100) // more than is told of any pod here
	}
	return a.events[pod]
}

// next is when the next event about a worker came. It must be that one.
func (a *told) next(pod string, want runtime.EventType) (time.Time, error) {
	select {
	case e := <-a.of(pod):
		if e.event != want {
			return e.at, fmt.Errorf("%s of %s where %s was to come", e.event, pod, want)
		}
		return e.at, nil
	case <-time.After(patience):
		return time.Time{}, fmt.Errorf("%s of %s: not within %s", want, pod, patience)
	}
}

// durations are measured by several goroutines.
type durations struct {
	mu   sync.Mutex
	took []time.Duration
}

func (d *durations) add(took time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.took = append(d.took, took)
	slices.Sort(d.took)
}

// String is for printing, once nothing is added any more.
func (d *durations) String() string {
	n := len(d.took)
	percentile := func(p int) time.Duration { return d.took[(n*p+99)/100-1].Round(time.Millisecond) }
	return fmt.Sprintf("%d times, p50 %s, p90 %s, p99 %s, max %s", n, percentile(50), percentile(90), percentile(99), percentile(100))
}

// within holds unless something is broken: the times themselves depend on the machine.
func (d *durations) within(t *testing.T, times int, limit time.Duration) {
	t.Helper()
	require.Len(t, d.took, times)
	assert.Positive(t, d.took[0], "an event before its cause")
	assert.LessOrEqual(t, d.took[times-1], limit)
}
