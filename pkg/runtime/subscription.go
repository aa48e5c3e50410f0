package runtime

import (
	"context"
	"iter"
	"sync"
)

// Subscription is one reader's view of a component. What has changed since it last read is kept as a set of instances, not
// as a list of events: a slow reader skips intermediate states, costs memory in proportion to the component, and delays
// nobody. It never misses a last state, nor that one instance went and another of its name came.
//
// The events of an instance come in order: NewReady, then NotReady and Ready in turn, with Updated in between, then
// Deleted. There is no order between instances, but for one: an instance is Deleted before one with the same pod name is
// NewReady. An instance that was never ready is never told of.
//
// A subscription has one reader: one loop over Events at a time, or one receiver of C.
type Subscription struct {
	table   *Table
	onClose func()
	wake    chan struct{}
	done    chan struct{}
	synced  chan struct{}

	// Guarded by table.mu.
	told    map[string]*Instance // by UID: what the reader was last told
	pending map[string]due       // by UID: changed since
	queue   []place              // the pending ones in the order of their first change; places of others are void
	places  uint64

	endOnce sync.Once
	err     error // set before done is closed
	chOnce  sync.Once
	ch      chan Event
	chDone  chan struct{}
}

// Events returns the events as they come. The loop ends when ctx ends, when the subscription is closed, or with an error
// when the client is closed; the error comes once, with a zero Event.
func (s *Subscription) Events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			ev, ok := s.next(ctx)
			switch {
			case ok:
				if !yield(ev, nil) {
					return
				}
			case ctx.Err() == nil && s.Err() != nil:
				yield(Event{}, s.Err())
				return
			default:
				return
			}
		}
	}
}

// C returns the events as a channel, for select. It is closed when the subscription ends; Err then says why. The first
// call starts a goroutine, which Close ends.
func (s *Subscription) C() <-chan Event {
	s.chOnce.Do(func() {
		s.ch, s.chDone = make(chan Event), make(chan struct{})
		go s.pump()
	})
	return s.ch
}

func (s *Subscription) pump() {
	defer close(s.chDone)
	defer close(s.ch)
	for {
		ev, ok := s.next(context.Background())
		if !ok {
			return
		}
		select {
		case s.ch <- ev:
		case <-s.done:
			return
		}
	}
}

// Synced is closed when the reader has been told everything that was there when the subscription began.
func (s *Subscription) Synced() <-chan struct{} { return s.synced }

// Snapshot is the component's state as it is now, which may be ahead of the events that were read.
func (s *Subscription) Snapshot() Snapshot { return s.table.Snapshot() }

// Err is nil while the subscription runs and after its own Close; else what ended it.
func (s *Subscription) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// Close ends the subscription and lets go of the watch if it was the last one. It waits for what it stops, and may be
// called more than once and from any goroutine.
func (s *Subscription) Close() error {
	s.end(nil)
	s.chOnce.Do(func() { // so that C after Close is a closed channel
		s.ch, s.chDone = make(chan Event), make(chan struct{})
		close(s.ch)
		close(s.chDone)
	})
	<-s.chDone
	return nil
}

func (s *Subscription) end(err error) {
	s.endOnce.Do(func() {
		s.err = err
		t := s.table
		t.mu.Lock()
		delete(t.subscribers, s)
		s.told, s.pending, s.queue = nil, nil, nil
		t.mu.Unlock()
		close(s.done)
		if s.onClose != nil {
			s.onClose()
		}
	})
}

// next waits for an event. It is not ok when ctx or the subscription ended.
func (s *Subscription) next(ctx context.Context) (Event, bool) {
	for {
		if ctx.Err() != nil {
			return Event{}, false
		}
		if ev, ok := s.take(); ok {
			if ev.Type == Synced {
				close(s.synced)
			}
			return ev, true
		}
		select {
		case <-s.wake:
		case <-s.done:
			return Event{}, false
		case <-ctx.Done():
			return Event{}, false
		}
	}
}
