// Package instances prints what discovery finds, once or as it changes, for people and for programs.
package instances

import (
	"context"
	"slices"
	"sync"

	"github.com/dynawire/dynawire/pkg/runtime"
)

// List is the instances of the components, in their order, each sorted by pod name.
func List(ctx context.Context, d runtime.Discovery, components []Component) ([]runtime.Instance, error) {
	var all []runtime.Instance
	for _, c := range components {
		some, err := d.ListInstances(ctx, c.Namespace, c.Name)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// Watch passes on what happens to the components of a source until ctx ends, or the source fails, or a subscription does.
// Synced is not passed on. A component that goes is followed until its last instance was told to be Deleted.
func Watch(ctx context.Context, d runtime.Discovery, source Source, tell func(runtime.Event) error) error {
	w := &watching{discovery: d, tell: tell, all: map[Component]*following{}, events: make(chan heard)}
	defer w.running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer w.close()
	sets := make(chan []Component)
	w.running.Go(func() {
		err := source(ctx, func(all []Component) {
			select {
			case sets <- all:
			case <-ctx.Done():
			}
		})
		if err != nil {
			w.pass(ctx, heard{err: err})
		}
	})
	for {
		var err error
		select {
		case set := <-sets:
			err = w.follow(ctx, set)
		case h := <-w.events:
			err = w.hear(h)
		case <-ctx.Done():
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// watching is a Watch at work.
type watching struct {
	discovery runtime.Discovery
	tell      func(runtime.Event) error
	all       map[Component]*following
	events    chan heard
	running   sync.WaitGroup
}

// following is one component that is followed.
type following struct {
	component Component
	sub       *runtime.Subscription
	known     int  // instances that were announced and not Deleted
	gone      bool // the source does not name it any more
}

// heard is what a subscription said, or why there is nothing more to hear.
type heard struct {
	from  *following
	event runtime.Event
	err   error
}

func (w *watching) pass(ctx context.Context, h heard) {
	select {
	case w.events <- h:
	case <-ctx.Done():
	}
}

// follow follows these components, and no others for longer than there is something to tell of them.
func (w *watching) follow(ctx context.Context, set []Component) error {
	for _, c := range set {
		if w.all[c] != nil {
			continue
		}
		sub, err := w.discovery.Subscribe(ctx, c.Namespace, c.Name)
		if err != nil {
			return err
		}
		f := &following{component: c, sub: sub}
		w.all[c] = f
		w.running.Go(func() {
			for ev, err := range sub.Events(ctx) {
				w.pass(ctx, heard{f, ev, err})
			}
		})
	}
	for _, f := range w.all {
		f.gone = !slices.Contains(set, f.component)
		w.drop(f)
	}
	return nil
}

func (w *watching) hear(h heard) error {
	if h.err != nil {
		return h.err
	}
	if w.all[h.from.component] != h.from {
		return nil // it was on its way when its component went
	}
	switch h.event.Type {
	case runtime.Synced:
		return nil
	case runtime.NewReady:
		h.from.known++
	case runtime.Deleted:
		h.from.known--
	}
	defer w.drop(h.from)
	return w.tell(h.event)
}

// drop lets go of a component that is gone, when all that was told of it is.
func (w *watching) drop(f *following) {
	if f.gone && f.known == 0 {
		delete(w.all, f.component)
		_ = f.sub.Close()
	}
}

func (w *watching) close() {
	for _, f := range w.all {
		_ = f.sub.Close()
	}
}
