// Package memory is a backend of pkg/runtime for tests and for programs that run alone: the pods are values in this
// process, and what they say of themselves is known to all at once. It passes discoverytest, as every backend does.
//
//	world := memory.NewWorld()
//	worker, err := world.Start(runtime.Identity{PodName: "worker-0", PodNamespace: "llm", Namespace: "dynamo", Component: "backend"})
//	router, err := world.Start(runtime.Identity{PodName: "router-0", PodNamespace: "llm"})
package memory

import (
	"errors"
	"fmt"
	"sync"

	"github.com/dynawire/dynawire/pkg/runtime"
)

// World is where pods find each other: one Kubernetes cluster, as far as discovery goes. All methods may be called from any
// goroutine.
type World struct {
	mu      sync.Mutex
	pods    map[string]*Client // by UID; closed clients too: a pod is there until it is removed
	values  map[valueKey]stored
	version uint64
}

type valueKey struct{ namespace, key string }

// stored is a value with those that it goes with.
type stored struct {
	runtime.KV
	owners []runtime.Owner
}

// NewWorld returns a world without pods.
func NewWorld() *World {
	return &World{pods: map[string]*Client{}, values: map[valueKey]stored{}}
}

// Start runs a pod and returns the client of its process. The identity needs a PodNamespace; a pod that registers needs a
// PodName. An empty PodUID is filled in. A pod of the same name must have been removed before.
func (w *World) Start(id runtime.Identity) (*Client, error) {
	if id.PodNamespace == "" {
		return nil, errors.New("memory: Identity.PodNamespace is empty: it names the Kubernetes namespace to look in")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if id.PodUID == "" {
		id.PodUID = fmt.Sprintf("memory-%d", w.next())
	}
	for _, other := range w.pods {
		if other.identity.PodUID == id.PodUID || id.PodName != "" &&
			other.identity.PodNamespace == id.PodNamespace && other.identity.PodName == id.PodName {
			return nil, fmt.Errorf("memory: pod %s/%s (UID %s) is still there: Remove it first",
				id.PodNamespace, other.identity.PodName, other.identity.PodUID)
		}
	}
	c := &Client{world: w, identity: id, tables: map[componentKey]*runtime.Table{}}
	w.pods[id.PodUID] = c
	return c, nil
}

// next is a new version. Called with mu held.
func (w *World) next() uint64 {
	w.version++
	return w.version
}

// publish makes a pod's instance what it now is, nil for none. Called with mu held.
func (w *World) publish(c *Client, now *runtime.Instance) {
	before := c.self
	c.self = now
	for _, reader := range w.pods {
		if reader.identity.PodNamespace != c.identity.PodNamespace {
			continue
		}
		if before != nil && (now == nil || keyOf(before) != keyOf(now)) {
			reader.tell(runtime.Change{Instance: before, Removed: true})
		}
		if now != nil {
			reader.tell(runtime.Change{Instance: now})
		}
	}
}

// instances are those of a component. Called with mu held.
func (w *World) instances(kubeNamespace string, key componentKey) []runtime.Change {
	var all []runtime.Change
	for _, c := range w.pods {
		if c.self != nil && c.identity.PodNamespace == kubeNamespace && keyOf(c.self) == key {
			all = append(all, change(c.self, false))
		}
	}
	return all
}

// change has an instance of its own: a table keeps what it is given and numbers it.
func change(i *runtime.Instance, removed bool) runtime.Change {
	own := *i
	return runtime.Change{Instance: &own, Removed: removed}
}
