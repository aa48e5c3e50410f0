package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
)

// sink takes what a follower hears, from the follower's goroutine, one call at a time.
type sink interface {
	// begin and end enclose a telling of everything that there is; what was not set in between is gone. A begin may follow a
	// begin: the telling before was cut off.
	begin()
	end()
	set(obj k8sruntime.Object)
	remove(obj k8sruntime.Object)
	// contact says that the follower hears the API server from now on, or does not since now.
	contact(ok bool)
}

// follower keeps a sink up to date with a collection: it streams the initial state, watches on from there, resumes after
// every interruption, and starts over where the API server has forgotten its place. Unlike client-go's Reflector it
// puts objects into the sink as they come, so that there is never a second copy of the collection; its waits end with its
// context; and it knows whether it is in contact.
type follower struct {
	from  collection
	to    sink
	clock clock.Clock
	log   *slog.Logger

	version  string // where to resume; empty: from the beginning
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
		f.listing, f.version = true, ""
		return 0
	case apierrors.IsResourceExpired(err), apierrors.IsGone(err), isTooLargeVersion(err):
		f.version = ""
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
	if f.version == "" && f.listing {
		if err := f.list(ctx); err != nil {
			return err
		}
	}
	timeout := int64((minWatch + rand.N(maxWatch-minWatch)) / time.Second)
	opts := metav1.ListOptions{ResourceVersion: f.version, AllowWatchBookmarks: true, TimeoutSeconds: &timeout}
	initial := f.version == ""
	if initial {
		yes := true
		opts.SendInitialEvents, opts.ResourceVersionMatch = &yes, metav1.ResourceVersionMatchNotOlderThan
	}
	w, err := f.from.watch(ctx, opts)
	if err != nil {
		if initial && (apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)) {
			return errNoInitialState
		}
		return fmt.Errorf("watch %s: %w", f.from.resource, err)
	}
	defer func() {
		w.Stop()
		for range w.ResultChan() { // until its goroutine is gone
		}
	}()
	return f.hear(ctx, w, initial)
}

// list tells the sink everything from one list.
func (f *follower) list(ctx context.Context) error {
	list, err := f.from.list(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list %s: %w", f.from.resource, err)
	}
	f.to.begin()
	err = meta.EachListItem(list, func(obj k8sruntime.Object) error {
		f.to.set(obj)
		return nil
	})
	if err != nil {
		return fmt.Errorf("list %s: %w", f.from.resource, err)
	}
	f.to.end()
	m, err := meta.ListAccessor(list)
	if err != nil {
		return fmt.Errorf("list %s: %w", f.from.resource, err)
	}
	f.version = m.GetResourceVersion()
	return nil
}

// hear passes a watch's events on until it ends.
func (f *follower) hear(ctx context.Context, w watch.Interface, initial bool) error {
	patience := f.clock.NewTimer(initialStateWait)
	defer patience.Stop()
	if initial {
		f.to.begin()
	} else {
		patience.Stop()
		f.inContact()
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-patience.C():
			return errNoInitialState
		case ev, ok := <-w.ResultChan():
			if !ok {
				return nil
			}
			ended, err := f.event(ev, initial)
			if err != nil {
				return err
			}
			if ended {
				initial = false
				patience.Stop()
				f.inContact()
			}
		}
	}
}

// event passes one event on; ended says that it ended the initial state.
func (f *follower) event(ev watch.Event, initial bool) (ended bool, err error) {
	if ev.Type == watch.Error {
		return false, fmt.Errorf("watch %s: %w", f.from.resource, apierrors.FromObject(ev.Object))
	}
	m, err := meta.Accessor(ev.Object)
	if err != nil {
		return false, fmt.Errorf("watch %s: %w", f.from.resource, err)
	}
	switch ev.Type {
	case watch.Added, watch.Modified:
		f.to.set(ev.Object)
	case watch.Deleted:
		f.to.remove(ev.Object)
	case watch.Error: // dealt with
	case watch.Bookmark:
		if initial && m.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
			f.to.end()
			ended = true
		}
	}
	if !initial || ended {
		f.version = m.GetResourceVersion()
	}
	return ended, nil
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
