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

	mu    sync.Mutex
	ready map[InstanceID]*Instance
	order []*Instance // of ready, sorted; nil until somebody asks
	lent  bool        // somebody may be reading order
	list  []Instance  // what Ready returned last; nil where it has changed since
}

// Follow subscribes to a component for as long as ctx lasts, or until Close. observe, which may be nil, is called with every
// event in order, after the routes have changed, from one goroutine; while it runs events are coalesced, not lost.
func Follow(ctx context.Context, d Discovery, namespace, component string, observe func(Event)) (*Routes, error) {
	sub, err := d.Subscribe(ctx, namespace, component)
	if err != nil {
		return nil, err
	}
	r := &Routes{sub: sub, synced: make(chan struct{}), ready: map[InstanceID]*Instance{}}
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
	now := ev.Instance
	r.mu.Lock()
	defer r.mu.Unlock()
	_, was := r.ready[now.ID]
	if !was && !now.Ready {
		return
	}
	if now.Ready {
		r.ready[now.ID] = &now
	} else {
		delete(r.ready, now.ID)
	}
	r.list = nil
	if r.order != nil {
		r.place(&now, was)
	}
}

// place puts an instance where it belongs in the order, or takes it out: sorting thousands anew for each event would cost more
// than all that the events are good for.
func (r *Routes) place(now *Instance, was bool) {
	if r.lent {
		r.order, r.lent = slices.Clone(r.order), false
	}
	at, _ := slices.BinarySearchFunc(r.order, now, inOrder)
	switch {
	case was && now.Ready:
		r.order[at] = now
	case was:
		r.order = slices.Delete(r.order, at, at+1)
	default:
		r.order = slices.Insert(r.order, at, now)
	}
}

func inOrder(a, b *Instance) int {
	return cmp.Or(
		cmp.Compare(a.ID.PodName, b.ID.PodName), cmp.Compare(a.ID.UID, b.ID.UID), cmp.Compare(a.ID.Namespace, b.ID.Namespace),
	)
}

// lend returns the order, which does not change any more. Called with mu held.
func (r *Routes) lend() []*Instance {
	if r.order == nil {
		r.order = slices.SortedFunc(maps.Values(r.ready), inOrder)
	}
	r.lent = true
	return r.order
}

// Ready is the ready instances, sorted by pod name. The slice is shared and must not be changed.
func (r *Routes) Ready() []Instance {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.list == nil {
		for _, i := range r.lend() {
			r.list = append(r.list, *i)
		}
	}
	return r.list
}

// InTurn is all ready instances, each call beginning with the next one: try the first, and the others if it fails.
func (r *Routes) InTurn() iter.Seq[Instance] {
	return func(yield func(Instance) bool) {
		r.mu.Lock()
		ready := r.lend()
		r.mu.Unlock()
		if len(ready) == 0 {
			return
		}
		first := int((r.next.Add(1) - 1) % uint64(len(ready)))
		for i := range ready {
			if !yield(*ready[(first+i)%len(ready)]) {
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
