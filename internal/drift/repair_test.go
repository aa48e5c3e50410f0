package drift

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

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

// pods are those of workload a, b, …: "a1" is one of a, "a2!" one that is not ready, "-1" one of nobody's.
func pods(names ...string) []Pod {
	var out []Pod
	for _, name := range names {
		name, unready := strings.CutSuffix(name, "!")
		owner := strings.TrimSuffix(name[:1], "-")
		out = append(out, Pod{Pod: of(owner, name), Ready: !unready})
	}
	return out
}

// told is an Events that notes what was told of whom.
type told struct{ events []string }

func (e *told) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	of, about := regarding.(*corev1.ObjectReference), related.(*corev1.ObjectReference)
	e.events = append(e.events, strings.Join([]string{kind, reason, action, of.Kind + "/" + of.Name, about.Kind + "/" + about.Name, fmt.Sprintf(note, args...)}, " "))
}

func repair(budget int, e *evictor) (*Repair, *told) {
	events := &told{}
	return &Repair{
		Budget: budget, Pods: func(string) Evictor { return e }, Owners: deployments{}, Events: events, Log: logr.Discard(),
	}, events
}

func TestRepair(t *testing.T) {
	for name, tc := range map[string]struct {
		budget  int
		unwired []Pod
		busy    map[string]bool
		fail    map[string]error
		want    []string
	}{
		"one of a workload":         {5, pods("a1", "a2", "b1"), nil, nil, []string{"a1/uid-a1", "b1/uid-b1"}},
		"those that are down first": {2, pods("a1", "a2", "b1", "c1", "a3!", "c2!"), nil, nil, []string{"a3/uid-a3", "c2/uid-c2"}},
		"no more than the budget":   {1, pods("a1", "b1"), nil, nil, []string{"a1/uid-a1"}},
		"none that nobody replaces": {5, pods("-1", "-2!"), nil, nil, nil},
		"none while one is missing": {5, pods("a1", "a2!"), map[string]bool{"a": true}, nil, nil},
		"gone meanwhile": {5, pods("a1", "a2"), nil,
			map[string]error{"a1": apierrors.NewNotFound(policyv1.Resource("pods"), "a1")}, []string{"a2/uid-a2"}},
		"held by a budget of the user's": {5, pods("a1", "a2", "b1"), nil,
			map[string]error{"a1": apierrors.NewTooManyRequests("budget", 0)}, []string{"b1/uid-b1"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := &evictor{fail: tc.fail}
			busy := tc.busy
			if busy == nil {
				busy = map[string]bool{}
			}
			r, events := repair(tc.budget, e)
			require.NoError(t, r.evict(t.Context(), tc.unwired, busy))
			assert.Equal(t, tc.want, e.evicted)
			assert.Len(t, events.events, len(tc.want))
		})
	}
}

func TestRepairTellsTheWorkload(t *testing.T) {
	r, events := repair(1, &evictor{})
	require.NoError(t, r.evict(t.Context(), pods("a1"), map[string]bool{}))
	assert.Equal(t, []string{"Normal DynamoPodEvicted Evicted Deployment/a Pod/a1 evicted pod a1, which was created without dynawire's wiring:" +
		" before the namespace was opted in, or while the webhook was away. The pod in its place gets it"}, events.events)
}

func TestRepairThatIsForbiddenSaysSo(t *testing.T) {
	r, events := repair(1, &evictor{fail: map[string]error{"a1": apierrors.NewForbidden(policyv1.Resource("pods/eviction"), "a1", nil)}})
	require.ErrorContains(t, r.evict(t.Context(), pods("a1"), map[string]bool{}), "evict the unwired pod llm/a1")
	assert.Empty(t, events.events)
}
