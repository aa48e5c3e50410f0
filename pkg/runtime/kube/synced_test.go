package kube_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/runtime/kube/apitest"
)

// Who is told that everything was told asks what there is, and must not hear that there is no contact.
func TestSyncedIsInContact(t *testing.T) {
	for name, change := range map[string]func(*apitest.Server){"streamed": nil, "listed": (*apitest.Server).RefuseInitialState} {
		t.Run(name, func(t *testing.T) {
			s := apitest.New(t)
			s.Set(slice("s1", endpoint("worker-1", "uid-1", "10.0.0.1", "ready")))
			s.Set(workerMetadata("worker-1", "uid-1", 1))
			if change != nil {
				change(s)
			}
			for range 50 {
				c := newClient(t, s, looker)
				sub := subscribe(t, c)
				for range sub.C() {
					if snapshot := sub.Snapshot(); snapshot.Synced {
						require.True(t, snapshot.StaleSince.IsZero(), "stale since %s", snapshot.StaleSince)
						break
					}
				}
				require.NoError(t, c.Close())
			}
		})
	}
}
