package runtime

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/dynawire/dynawire/pkg/runtime/internal/row"
)

// Subscription is one reader's view of a component. What has changed since it last read is kept as a set of instances, not
// as a list of events: a slow reader skips intermediate states, costs memory in proportion to the component, and delays
// nobody. It never misses a last state, nor that one instance went and another of its name came. Block and Fail are for
// readers that need to be told more, or would rather be told nothing.
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

	policy policy

	// Guarded by table.mu.
	snapshot []*row.Row           // what is left to tell of it
	untold   map[row.UID]struct{} // the same by UID, from the first change on that comes meanwhile
	since    time.Time            // when it was what the table had
	began    bool                 // Synced is due once the snapshot is told
	behind   map[row.UID]due      // what the reader knows otherwise than it is
	queue    []place              // those with something to tell in the order of their first change; other places are void
	places   uint64
	pending  int
	log      []happened // told before the queue; only with Block
	paused   bool       // the log was full, and what happened since has not been read to its end

	over   bool  // guarded by table.mu
	err    error // set before done is closed
	ended  chan struct{}
	chOnce sync.Once
	ch     chan Event
	chDone chan struct{}
}

// Events returns the events as they come. The loop ends when ctx ends, when the subscription is closed, or with an error
// when the client is closed or with ErrSlowSubscriber (Fail); the error comes once, with a zero Event.
func (s *Subscription) Events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			ev, ok := s.wait(ctx)
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
		ev, ok := s.wait(context.Background())
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

// Synced is closed when the reader has been told everything that was there when the subscription began: it is the reading of
// Events or C that closes it. Nobody who only waits for it sees it close; Routes read by themselves.
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

// end ends the subscription unless it is over, and waits until all that it held is let go of.
func (s *Subscription) end(err error) {
	s.table.mu.Lock()
	first := s.letGo(err)
	s.table.mu.Unlock()
	if first {
		s.finish()
	}
	<-s.ended
}

// fail ends the subscription from within the table, with table.mu held. What onClose has to wait for may be the very
// goroutine that feeds the table.
func (s *Subscription) fail() {
	if s.letGo(ErrSlowSubscriber) {
		go s.finish()
	}
}

// letGo takes the reader out of the table; it is false where somebody else has. Called with table.mu held.
func (s *Subscription) letGo(err error) bool {
	if s.over {
		return false
	}
	s.over, s.err = true, err
	delete(s.table.subscribers, s)
	s.snapshot, s.untold, s.began, s.behind, s.queue, s.log = nil, nil, false, nil, nil, nil
	close(s.done)
	return true
}

func (s *Subscription) finish() {
	if s.onClose != nil {
		s.onClose()
	}
	close(s.ended)
}

// wait waits for an event. It is not ok when ctx or the subscription ended.
func (s *Subscription) wait(ctx context.Context) (Event, bool) {
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
