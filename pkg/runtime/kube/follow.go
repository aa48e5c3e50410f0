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
	// set and remove take an object as it is encoded, valid during the call, and return its resource version. An error is one
	// of the encoding.
	set(object string) (version string, err error)
	remove(object string) (version string, err error)
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

	version  []byte // where to resume; empty: from the beginning
	listing  bool   // the API server cannot stream the initial state
	failures int

	mu      sync.Mutex
	lastErr error
}

const (
	// The API server ends no watch before that; random, so that a fleet's do not end together (as client-go's Reflector).
	minWatch, maxWatch = 5 * time.Minute, 10 * time.Minute
	minDelay, maxDelay = 250 * time.Millisecond, 10 * time.Second
	// steady is how long a connection must hold for the next failure to count as a first one.
	steady = 5 * time.Second
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
		started := f.clock.Now()
		err := f.session(ctx)
		if ctx.Err() != nil {
			return
		}
		f.to.contact(false)
		if f.clock.Since(started) > steady {
			f.failures = 0
		}
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
		f.failures = 0 // it is there, and has answered
	}
	f.mu.Lock()
	f.lastErr = err
	f.mu.Unlock()
	f.failures++
	switch {
	case err == nil:
	case f.failures == 1:
		f.log.Warn("no contact with the API server, serving what is known", "resource", f.from.resource, "error", err)
	default:
		f.log.Debug("still no contact with the API server", "resource", f.from.resource, "failures", f.failures, "error", err)
	}
	delay := min(maxDelay, minDelay<<min(f.failures-1, 8))
	if s, ok := apierrors.SuggestsClientDelay(err); ok {
		delay = max(delay, time.Duration(s)*time.Second)
	}
	// Half of it is random: when an API server goes, all its watchers come back at once.
	return delay/2 + rand.N(delay/2)
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
	ctx, cancel := context.WithCancel(ctx)
	body, err := f.from.watch(ctx, opts)
	if err != nil {
		cancel()
		if initial && (apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)) {
			return errNoInitialState
		}
		return fmt.Errorf("watch %s: %w", f.from.resource, err)
	}
	defer func() {
		cancel()
		_ = body.Close()
	}()
	err = f.hear(body, cancel, initial)
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
			_, err := f.to.set(object)
			return err
		})
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
func (f *follower) hear(body io.Reader, callOff func(), initial bool) error {
	var impatient atomic.Bool
	stop := func() bool { return true }
	if initial {
		stop = f.clock.AfterFunc(initialStateWait, func() {
			impatient.Store(true)
			callOff()
		}).Stop
		f.to.begin()
	} else {
		f.inContact()
	}
	defer stop()
	b := newBuffer(body, initial)
	for {
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
			stop()
			b.shrink()
			f.inContact()
		}
	}
}

// event passes one event on; ended says that it ended the initial state.
func (f *follower) event(ev event, initial bool) (ended bool, err error) {
	var version string
	switch ev.kind {
	case watch.Added, watch.Modified:
		version, err = f.to.set(ev.object)
	case watch.Deleted:
		version, err = f.to.remove(ev.object)
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

func (f *follower) inContact() {
	f.mu.Lock()
	lost := f.lastErr != nil
	f.lastErr = nil
	f.mu.Unlock()
	if lost {
		f.log.Info("in contact with the API server", "resource", f.from.resource)
	}
	f.to.contact(true)
}

// isTooLargeVersion recognises an API server that is behind the one we heard before.
func isTooLargeVersion(err error) bool {
	return apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
}
