package runtime

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// Routes are the ready instances of a component, kept up to date: what a router or gateway picks from. All methods may be
// called from any goroutine.
type Routes struct {
	sub     *Subscription
	synced  chan struct{}
	running sync.WaitGroup
	next    atomic.Uint64

	mu     sync.Mutex
	ready  map[InstanceID]Instance
	sorted []Instance // nil where ready has changed since; replaced, never changed
}

// Follow subscribes to a component for as long as ctx lasts, or until Close. observe, which may be nil, is called with every
// event in order, after the routes have changed, from one goroutine; while it runs events are coalesced, not lost.
func Follow(ctx context.Context, d Discovery, namespace, component string, observe func(Event)) (*Routes, error) {
	sub, err := d.Subscribe(ctx, namespace, component)
	if err != nil {
		return nil, err
	}
	r := &Routes{sub: sub, synced: make(chan struct{}), ready: map[InstanceID]Instance{}}
	r.running.Go(func() { //nolint:contextcheck // it ends with the subscription, which ends with ctx
		for ev := range sub.C() {
			r.apply(ev)
			if observe != nil {
				observe(ev)
			}
			if ev.Type == Synced {
				close(r.synced)
			}
		}
	})
	return r, nil
}

func (r *Routes) apply(ev Event) {
	if ev.Type == Synced {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sorted = nil
	if ev.Instance.Ready {
		r.ready[ev.Instance.ID] = ev.Instance
		return
	}
	delete(r.ready, ev.Instance.ID)
}

// Ready is the ready instances, sorted by pod name. The slice is shared and must not be changed.
func (r *Routes) Ready() []Instance {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sorted == nil {
		r.sorted = slices.SortedFunc(maps.Values(r.ready), func(a, b Instance) int {
			return cmp.Or(cmp.Compare(a.ID.PodName, b.ID.PodName), cmp.Compare(a.ID.UID, b.ID.UID))
		})
	}
	return r.sorted
}

// InTurn is all ready instances, each call beginning with the next one: try the first, and the others if it fails.
func (r *Routes) InTurn() iter.Seq[Instance] {
	return func(yield func(Instance) bool) {
		ready := r.Ready()
		if len(ready) == 0 {
			return
		}
		first := int((r.next.Add(1) - 1) % uint64(len(ready)))
		for i := range ready {
			if !yield(ready[(first+i)%len(ready)]) {
				return
			}
		}
	}
}

// Synced is closed once everything that was there at the beginning is among the routes. It stays open where they end before.
func (r *Routes) Synced() <-chan struct{} { return r.synced }

// Snapshot is all instances, ready or not, and how current that is.
func (r *Routes) Snapshot() Snapshot { return r.sub.Snapshot() }

// Wait returns when the routes are over: nil after Close or the end of ctx, else what ended them.
func (r *Routes) Wait() error {
	r.running.Wait()
	return r.sub.Err()
}

// Close lets go of the component and waits for observe to return. It may be called more than once, but not from observe.
func (r *Routes) Close() error {
	err := r.sub.Close()
	r.running.Wait()
	return err
}
