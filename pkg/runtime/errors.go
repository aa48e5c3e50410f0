package runtime

import "errors"

// Errors that callers decide on; match them with errors.Is. Backends wrap them with what was attempted and on which
// object, and with their own cause.
var (
	// ErrNotSynced: the first synchronisation has not happened yet.
	ErrNotSynced = errors.New("not synchronised yet")
	// ErrNotFound: no such instance or key.
	ErrNotFound = errors.New("not found")
	// ErrAlreadyExists: CreateOnly met a key that is there.
	ErrAlreadyExists = errors.New("already exists")
	// ErrConflict: IfVersion met another version.
	ErrConflict = errors.New("changed by another writer")
	// ErrKeyCollision: the place where the key would be stored holds something else.
	ErrKeyCollision = errors.New("another object is in the key's place")
	// ErrTooLarge: more than the store takes.
	ErrTooLarge = errors.New("too large")
	// ErrInvalidKey: a key that cannot be stored.
	ErrInvalidKey = errors.New("invalid key")
	// ErrForbidden: the backend refused; the text names the verb and the resource.
	ErrForbidden = errors.New("forbidden")
	// ErrLabelMismatch: the own pod's labels contradict the registration.
	ErrLabelMismatch = errors.New("pod labels do not match the registration")
	// ErrNoService: no Service selects this pod for the component, so that nobody would find it.
	ErrNoService = errors.New("no service selects this pod")
	// ErrNotOwn: the status of an instance is its own process's to set.
	ErrNotOwn = errors.New("not this process's instance")
	// ErrSlowSubscriber: the reader of a subscription with Fail fell too far behind.
	ErrSlowSubscriber = errors.New("the subscriber is too slow")
	// ErrDraining: the process is on its way out and cannot become ready again.
	ErrDraining = errors.New("draining")
	// ErrClosed: the client was closed.
	ErrClosed = errors.New("closed")
)
