package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
)

// sink takes what a follower hears, from the follower's goroutine, one call at a time.
type sink interface {
	// begin and end enclose a telling of everything that there is; what was not set in between is gone. A begin may follow a
	// begin: the telling before was cut off.
	begin()
	end()
	// set and remove take an object as it is encoded, valid until the second flush after it, or end, and return its resource
	// version. An error is one of the encoding.
	set(object string) (version string, err error)
	remove(object string) (version string, err error)
	// flush says that the memory of what was set before the last flush is needed for something else; outside of a telling
	// that of what was set until now.
	flush()
	// contact says that the follower hears the API server from now on, or does not since now.
	contact(ok bool)
}

// follower keeps a sink up to date with a collection: it streams the initial state, watches on from there, resumes after
// every interruption, and starts over where the API server has forgotten its place. Unlike client-go's Reflector it
// puts objects into the sink as they come and undecoded, so that there is never a second copy of the collection; its waits
// end with its context; and it knows whether it is in contact.
type follower struct {
	from  collection
	to    sink
	clock clock.WithDelayedExecution
	log   *slog.Logger

	version   []byte // where to resume; empty: from the beginning
	listing   bool   // the API server cannot stream the initial state
	failures  int
	forgotten bool // told that the version is too old, and nothing else since

	mu        sync.Mutex // held while the sink hears of contact
	lastErr   error
	contactAt time.Time // when this session came into contact; zero before
}

const (
	// The API server ends no watch before that; random, so that a fleet's do not end together (as client-go's Reflector).
	minWatch, maxWatch = 5 * time.Minute, 10 * time.Minute
	minDelay, maxDelay = 250 * time.Millisecond, 5 * time.Second
	// steady is how long contact must hold for the next failure to count as a first one.
	steady = 5 * time.Second
	// quiet is how long an API server that was asked to go on must have said nothing to be heard: that it has forgotten the
	// place comes after an answer like any other.
	quiet = 250 * time.Millisecond
	// endWait is how long an end that was asked for may be late.
	endWait = 30 * time.Second
	// An API server older than 1.27 ignores the request for the initial state, and never ends telling it.
	initialStateWait = time.Minute
	// Twenty pages of a large component: each is held in memory as a whole.
	pageSize = 1000
)

var errNoInitialState = errors.New("the API server does not stream the initial state")

// err is what went wrong last, nil while there is contact.
func (f *follower) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lastErr
}

// run follows until ctx ends.
func (f *follower) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := f.session(ctx)
		if ctx.Err() != nil {
			return
		}
		contact, held := f.sessionEnded()
		if held > steady {
			f.failures, f.forgotten = 0, false
		}
		if err == nil && contact && f.failures == 0 {
			f.failures++ // as agreed: the next one goes on at once, and should that end at once too, something is wrong
			continue
		}
		f.outOfContact()
		if delay := f.assess(err); delay > 0 {
			timer := f.clock.NewTimer(delay)
			select {
			case <-timer.C():
			case <-ctx.Done():
				timer.Stop()
			}
		}
	}
}

// assess notes what a session's end means and says how long to wait for the next.
func (f *follower) assess(err error) time.Duration {
	switch {
	case errors.Is(err, errNoInitialState):
		f.listing, f.version = true, nil
		return 0
	case apierrors.IsResourceExpired(err), apierrors.IsGone(err), isTooLargeVersion(err):
		f.version = nil
		if !f.forgotten {
			f.forgotten, f.failures = true, 0 // it is there, and has answered
		}
	}
	f.mu.Lock()
	first := f.lastErr == nil
	f.lastErr = err
	f.mu.Unlock()
	f.failures++
	switch {
	case err == nil:
	case first:
		f.log.Warn("no contact with the API server, serving what is known", "resource", f.from.resource, "error", err)
	default:
		f.log.Debug("still no contact with the API server", "resource", f.from.resource, "failures", f.failures, "error", err)
	}
	delay := min(maxDelay, minDelay<<min(f.failures-1, 8)) / 2
	if s, ok := apierrors.SuggestsClientDelay(err); ok {
		delay = max(delay, time.Duration(s)*time.Second)
	}
	// Half of it is random: when an API server goes, all its watchers come back at once.
	return delay + rand.N(delay)
}

// session is one watch, from opening to end. A nil error means that the server ended it as agreed.
func (f *follower) session(ctx context.Context) error {
	if len(f.version) == 0 && f.listing {
		if err := f.list(ctx); err != nil {
			return fmt.Errorf("list %s: %w", f.from.resource, err)
		}
	}
	timeout := int64((minWatch + rand.N(maxWatch-minWatch)) / time.Second)
	opts := metav1.ListOptions{ResourceVersion: string(f.version), AllowWatchBookmarks: true, TimeoutSeconds: &timeout}
	initial := len(f.version) == 0
	if initial {
		yes := true
		opts.SendInitialEvents, opts.ResourceVersionMatch = &yes, metav1.ResourceVersionMatchNotOlderThan
	}
	// The API server ends it before; a proxy between may lose that.
	ctx, cancel := context.WithTimeout(ctx, time.Duration(timeout)*time.Second+endWait)
	body, err := f.from.watch(ctx, opts)
	if err != nil {
		cancel()
		if initial && !f.listing && (apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)) {
			return errNoInitialState
		}
		return fmt.Errorf("watch %s: %w", f.from.resource, err)
	}
	defer func() {
		cancel()
		_ = body.Close()
	}()
	err = f.hear(ctx, body, cancel, initial)
	if err != nil && !errors.Is(err, errNoInitialState) {
		return fmt.Errorf("watch %s: %w", f.from.resource, err)
	}
	return err
}

// list tells the sink everything, page by page.
func (f *follower) list(ctx context.Context) error {
	f.to.begin()
	opts := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := f.from.page(ctx, opts, func(object string) error {
			f.passOver(f.to.set(object))
			return nil
		})
		f.to.flush()
		if err != nil {
			return err
		}
		if opts.Continue = page.Continue; opts.Continue == "" {
			f.to.end()
			f.version = []byte(page.ResourceVersion)
			return nil
		}
	}
}

// hear passes a watch's events on until it ends. Calling off ends it.
func (f *follower) hear(ctx context.Context, body io.Reader, callOff func(), initial bool) error {
	var impatient atomic.Bool
	var stop func() bool
	if initial {
		stop = f.clock.AfterFunc(initialStateWait, func() {
			impatient.Store(true)
			callOff()
		}).Stop
		f.to.begin()
	} else {
		stop = f.clock.AfterFunc(quiet, func() { f.inContact(ctx) }).Stop
	}
	defer stop()
	b := newBuffer(body, initial, f.to.flush)
	defer f.to.flush()
	for heard := false; ; {
		ev, err := f.from.format.event(b)
		switch {
		case impatient.Load():
			return errNoInitialState
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		ended, err := f.event(ev, initial)
		if err != nil {
			return err
		}
		if ended {
			initial = false
			b.shrink()
		}
		if !initial && !heard {
			heard = true
			stop()
			f.inContact(ctx)
		}
	}
}

// event passes one event on; ended says that it ended the initial state.
func (f *follower) event(ev event, initial bool) (ended bool, err error) {
	var version string
	switch ev.kind {
	case watch.Added, watch.Modified:
		version = f.passOver(f.to.set(ev.object))
	case watch.Deleted:
		version = f.passOver(f.to.remove(ev.object))
	case watch.Bookmark:
		var meta metav1.ObjectMeta
		meta, err = f.from.format.bookmark(ev.object)
		version = meta.ResourceVersion
		if err == nil && initial && meta.Annotations[metav1.InitialEventsAnnotationKey] == "true" {
			f.to.end()
			ended = true
		}
	case watch.Error:
		err = problem(f.from.format, ev.object)
	}
	if err == nil && version != "" && (!initial || ended) {
		f.version = append(f.version[:0], version...)
	}
	return ended, err
}

// passOver says that an object cannot be read. It came whole, and must not keep the others from being heard.
func (f *follower) passOver(version string, err error) string {
	if err != nil {
		f.log.Error("an object that cannot be read is passed over", "resource", f.from.resource, "error", err)
	}
	return version
}

// inContact tells the sink, unless the watch that ctx is of has ended.
func (f *follower) inContact(ctx context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	if f.lastErr != nil {
		f.log.Info("in contact with the API server", "resource", f.from.resource)
	}
	f.lastErr, f.contactAt = nil, f.clock.Now()
	f.to.contact(true)
}

// sessionEnded says whether there was contact in it, and for how long.
func (f *follower) sessionEnded() (contact bool, held time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if contact = !f.contactAt.IsZero(); contact {
		held = f.clock.Since(f.contactAt)
	}
	f.contactAt = time.Time{}
	return contact, held
}

func (f *follower) outOfContact() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.to.contact(false)
}

// isTooLargeVersion recognises an API server that is behind the one we heard before.
func isTooLargeVersion(err error) bool {
	return apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
}
