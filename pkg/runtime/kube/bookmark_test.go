package kube_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/runtime/kube/apitest"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// Much happens elsewhere, and the API server forgets it. A watch that was told how far it has heard resumes where it is;
// one that was not starts over.
func TestBookmarksSaveStartingOver(t *testing.T) {
	for _, bookmarks := range []bool{true, false} {
		t.Run(fmt.Sprintf("bookmarks=%v", bookmarks), func(t *testing.T) {
			s := apitest.New(t)
			s.Set(slice("s1", endpoint("worker-1", "uid-1", "10.0.0.1", "ready")))
			s.Set(workerMetadata("worker-1", "uid-1", 1001))
			sub := subscribe(t, newClient(t, s, nil))
			expect(t, sub, "NewReady worker-1", "Synced")
			s.WaitWatches(t, 2)
			elsewhere := slice("other")
			elsewhere.Labels = map[string]string{wiring.LabelComponent: "other"}
			for range 10 {
				s.Set(elsewhere)
			}
			if bookmarks {
				s.Bookmark()
			}
			s.Trim()
			before := s.Requests("watch", "endpointslices")
			s.EndWatches()
			s.Set(slice("s1", endpoint("worker-1", "uid-1", "10.0.0.1", "not ready")))
			expect(t, sub, "NotReady worker-1")
			want := 1 // resumed
			if !bookmarks {
				want = 2 // told 410, and from the beginning
			}
			assert.Equal(t, want, s.Requests("watch", "endpointslices")-before)
			require.Zero(t, s.Requests("list", "endpointslices"))
		})
	}
}
