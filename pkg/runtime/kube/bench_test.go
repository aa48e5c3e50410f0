package kube_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/kube/apitest"
)

// From Subscribe to Synced over HTTP, the fake server's encoding included.
func BenchmarkSubscribe(b *testing.B) {
	for _, n := range []int{1000, 20_000} {
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			s := apitest.New(b)
			var endpoints []discoveryv1.Endpoint
			for i := range n {
				pod, uid := fmt.Sprintf("worker-%d", i), fmt.Sprintf("4d8e4a56-fdbd-4ca8-bb3c-%012d", i)
				s.Set(workerMetadata(pod, uid, 8080))
				endpoints = append(endpoints, endpoint(pod, uid, fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&0xff, i&0xff), "ready"))
				if len(endpoints) == 100 {
					s.Set(slice(fmt.Sprintf("s-%d", i), endpoints...))
					endpoints = nil
				}
			}
			c := newClient(b, s, nil)
			for b.Loop() {
				sub, err := c.Subscribe(b.Context(), dynNamespace, component)
				require.NoError(b, err)
				for ev, err := range sub.Events(b.Context()) {
					require.NoError(b, err)
					if ev.Type == runtime.Synced {
						break
					}
				}
				require.NoError(b, sub.Close())
			}
		})
	}
}
