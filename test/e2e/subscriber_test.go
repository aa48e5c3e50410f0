//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/kube"
)

// subscriber collects what a subscription tells, whoever holds it.
type subscriber struct {
	mu   sync.Mutex
	seen []string // "NewReady worker-0", in order
	from int      // what waitFor has consumed

	discovery            runtime.Discovery // nil where a pod holds the subscription
	namespace, component string
}

func (s *subscriber) add(event runtime.EventType, pod string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, string(event)+" "+pod)
}

func (s *subscriber) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// waitFor waits for an event that comes after the last one that was waited for.
func (s *subscriber) waitFor(t *testing.T, event runtime.EventType, pod string) {
	t.Helper()
	want := string(event) + " " + pod
	eventually(t, want, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if i := slices.Index(s.seen[s.from:], want); i >= 0 {
			s.from += i + 1
			return nil
		}
		return fmt.Errorf("seen since the last one: %v", s.seen[s.from:])
	})
}

func (s *subscriber) list(t *testing.T) []runtime.Instance {
	t.Helper()
	instances, err := s.discovery.ListInstances(t.Context(), s.namespace, s.component)
	require.NoError(t, err)
	return instances
}

// subscribe follows a component with the library, from here.
func subscribe(t *testing.T, ns, namespace, component string) *subscriber {
	t.Helper()
	return subscribeAs(t, runtime.Identity{PodNamespace: ns}, namespace, component)
}

func subscribeAs(t *testing.T, id runtime.Identity, namespace, component string) *subscriber {
	t.Helper()
	d, err := kube.New(kube.Config{REST: config, Identity: id})
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() })
	sub, err := d.Subscribe(t.Context(), namespace, component)
	require.NoError(t, err)
	s := &subscriber{discovery: d, namespace: namespace, component: component}
	go func() {
		for ev, err := range sub.Events(context.Background()) {
			if err != nil {
				return
			}
			s.add(ev.Type, ev.Instance.ID.PodName)
		}
	}()
	return s
}

// subscribedPod follows what the Go frontend example prints in its pod, under the rights that dynawire gave it.
func subscribedPod(t *testing.T, p *corev1.Pod) *subscriber {
	t.Helper()
	s := &subscriber{}
	stream, err := client.CoreV1().Pods(p.Namespace).GetLogs(p.Name, &corev1.PodLogOptions{Follow: true}).Stream(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = stream.Close() })
	go func() {
		lines := bufio.NewScanner(stream)
		for lines.Scan() {
			var line struct {
				Type runtime.EventType `json:"type"`
				Pod  string            `json:"pod"`
			}
			if strings.HasPrefix(lines.Text(), "{") && json.Unmarshal(lines.Bytes(), &line) == nil && line.Type != "" {
				s.add(line.Type, line.Pod)
			}
		}
	}()
	return s
}
