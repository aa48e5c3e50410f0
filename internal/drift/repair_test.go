package drift

import (
	"context"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/dynawire/dynawire/pkg/pod"
)

// evictor notes who was evicted; fail is asked first.
type evictor struct {
	fail    map[string]error
	evicted []string
}

func (e *evictor) EvictV1(_ context.Context, eviction *policyv1.Eviction) error {
	if err := e.fail[eviction.Name]; err != nil {
		return err
	}
	e.evicted = append(e.evicted, eviction.Name+"/"+string(*eviction.DeleteOptions.Preconditions.UID))
	return nil
}

func of(owner, name string) *pod.Pod {
	p := &pod.Pod{Metadata: pod.Metadata{Name: name, UID: "uid-" + name, Namespace: "llm"}}
	if owner != "" {
		p.Metadata.OwnerReferences = []pod.OwnerReference{{Kind: "ReplicaSet", Name: owner, UID: owner, Controller: true}}
	}
	return p
}

func TestRepair(t *testing.T) {
	for name, tc := range map[string]struct {
		budget  int
		unwired []*pod.Pod
		busy    map[string]bool
		fail    map[string]error
		want    []string
	}{
		"one of a workload":         {5, []*pod.Pod{of("a", "a1"), of("a", "a2"), of("b", "b1")}, nil, nil, []string{"a1/uid-a1", "b1/uid-b1"}},
		"no more than the budget":   {1, []*pod.Pod{of("a", "a1"), of("b", "b1")}, nil, nil, []string{"a1/uid-a1"}},
		"none that nobody replaces": {5, []*pod.Pod{of("", "bare")}, nil, nil, nil},
		"none while one is missing": {5, []*pod.Pod{of("a", "a1")}, map[string]bool{"a": true}, nil, nil},
		"gone meanwhile": {5, []*pod.Pod{of("a", "a1"), of("a", "a2")}, nil,
			map[string]error{"a1": apierrors.NewNotFound(policyv1.Resource("pods"), "a1")}, []string{"a2/uid-a2"}},
		"held by a budget of the user's": {5, []*pod.Pod{of("a", "a1"), of("a", "a2"), of("b", "b1")}, nil,
			map[string]error{"a1": apierrors.NewTooManyRequests("budget", 0)}, []string{"b1/uid-b1"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := &evictor{fail: tc.fail}
			busy := tc.busy
			if busy == nil {
				busy = map[string]bool{}
			}
			r := &Repair{Budget: tc.budget, Pods: func(string) Evictor { return e }, Log: logr.Discard()}
			require.NoError(t, r.evict(t.Context(), tc.unwired, busy))
			assert.Equal(t, tc.want, e.evicted)
		})
	}
}

func TestRepairThatIsForbiddenSaysSo(t *testing.T) {
	e := &evictor{fail: map[string]error{"a1": apierrors.NewForbidden(policyv1.Resource("pods/eviction"), "a1", nil)}}
	r := &Repair{Budget: 1, Pods: func(string) Evictor { return e }, Log: logr.Discard()}
	assert.ErrorContains(t, r.evict(t.Context(), []*pod.Pod{of("a", "a1")}, map[string]bool{}), "evict the unwired pod llm/a1")
}
