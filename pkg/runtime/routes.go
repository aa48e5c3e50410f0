package runtime

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// Routes are the ready instances of a component, kept up to date: what a router or gateway picks from. All methods may be
// called from any goroutine.
type Routes struct {
	discovery            Discovery
	namespace, component string

	sub    *Subscription
	synced chan struct{}
	over   chan struct{} // closed once observe will not be called any more
	next   atomic.Uint64

	mu    sync.Mutex
	ready map[InstanceID]*Instance
	some  chan struct{} // closed while there is any in ready
	order []*Instance   // of ready, sorted; nil until somebody asks
	lent  bool          // somebody may be reading order
	list  []Instance    // what Ready returned last; nil where it has changed since
}

// Follow subscribes to a component for as long as ctx lasts, or until Close. observe, which may be nil, is called with every
// event in order, after the routes have changed, from one goroutine; while it runs events are coalesced, not lost.
func Follow(ctx context.Context, d Discovery, namespace, component string, observe func(Event)) (*Routes, error) {
	sub, err := d.Subscribe(ctx, namespace, component)
	if err != nil {
		return nil, err
	}
	r := &Routes{
		discovery: d, namespace: namespace, component: component,
		sub: sub, synced: make(chan struct{}), over: make(chan struct{}), ready: map[InstanceID]*Instance{}, some: make(chan struct{}),
	}
	go func() { //nolint:contextcheck // it ends with the subscription, which ends with ctx
		defer close(r.over)
		for ev := range sub.C() {
			r.apply(ev)
			if observe != nil {
				observe(ev)
			}
			if ev.Type == Synced {
				close(r.synced)
			}
		}
	}()
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
		if len(r.ready) == 0 {
			close(r.some)
		}
		r.ready[now.ID] = &now
	} else {
		delete(r.ready, now.ID)
		if len(r.ready) == 0 {
			r.some = make(chan struct{})
		}
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

// Synced is closed once everything that was there at the beginning is among the routes. It stays open where they end before;
// WaitSynced does not.
func (r *Routes) Synced() <-chan struct{} { return r.synced }

// WaitSynced waits until everything that was there at the beginning is among the routes. When ctx ends before, the error is
// its own and ErrNotSynced, with what is in the way (ErrForbidden: who follows waits for the right to come); when the routes
// do, it is what ended them.
func (r *Routes) WaitSynced(ctx context.Context) error {
	select {
	case <-r.synced:
		return nil
	default:
	}
	select {
	case <-r.synced:
		return nil
	case <-r.over:
		return r.ended()
	case <-ctx.Done():
		return r.notSynced(ctx)
	}
}

// WaitReady waits until at least one instance is ready. When ctx ends before, the error is its own and says how many there
// are, or as WaitSynced's what is in the way of knowing; when the routes do, it is what ended them.
func (r *Routes) WaitReady(ctx context.Context) error {
	r.mu.Lock()
	some := r.some
	r.mu.Unlock()
	select {
	case <-some:
		return nil
	default:
	}
	select {
	case <-some:
		return nil
	case <-r.over:
		return r.ended()
	case <-ctx.Done():
	}
	select {
	case <-r.synced:
		return fmt.Errorf("no instance of %s/%s is ready, and %d are not: %w",
			r.namespace, r.component, len(r.Snapshot().Instances), ctx.Err())
	default:
		return r.notSynced(ctx)
	}
}

// notSynced asks the backend for the cause.
func (r *Routes) notSynced(ctx context.Context) error {
	_, err := r.discovery.ListInstances(context.WithoutCancel(ctx), r.namespace, r.component, NoWait())
	if err == nil { // observe has yet to be told
		err = fmt.Errorf("follow %s/%s: %w", r.namespace, r.component, ErrNotSynced)
	}
	return fmt.Errorf("%w: %w", err, ctx.Err())
}

func (r *Routes) ended() error {
	err := r.sub.Err()
	if err == nil {
		err = ErrClosed
	}
	return fmt.Errorf("follow %s/%s: %w", r.namespace, r.component, err)
}

// Snapshot is all instances, ready or not, and how current that is.
func (r *Routes) Snapshot() Snapshot { return r.sub.Snapshot() }

// Wait returns when the routes are over: nil after Close or the end of ctx, else what ended them.
func (r *Routes) Wait() error {
	<-r.over
	return r.sub.Err()
}

// Close lets go of the component and waits for observe to return. It may be called more than once, but not from observe.
func (r *Routes) Close() error {
	err := r.sub.Close()
	<-r.over
	return err
}
