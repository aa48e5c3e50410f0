package runtime

import "time"

// EventType is what happened to an instance.
type EventType string

const (
	// NewReady says: an instance is ready that this subscription has not seen ready before (or not since it was Deleted).
	NewReady EventType = "NewReady"
	// Ready says: an instance that was NotReady is ready again.
	Ready EventType = "Ready"
	// NotReady says: a ready instance is not ready any more, or is terminating. It is still there.
	NotReady EventType = "NotReady"
	// Deleted says: an instance that was announced is gone. The event carries the state in which it was last told, but that
	// it is not ready any more.
	Deleted EventType = "Deleted"
	// Updated says: an announced instance has other addresses, endpoints or metadata and the same readiness. A container that
	// restarts between two probes comes back on another port this way.
	Updated EventType = "Updated"
	// Synced says: everything that was there when the subscription began has been told. It has no instance and comes once.
	Synced EventType = "Synced"
)

// Event is one change of a component, as one subscription sees it.
type Event struct {
	Type EventType `json:"type"`
	// Instance is the state that the event leads to.
	Instance Instance `json:"instance,omitzero"`
	// At is when this process learned of the change.
	At time.Time `json:"at"`
}

// Snapshot is the state of a component at one moment.
type Snapshot struct {
	// Instances are sorted by pod name.
	Instances []Instance
	// Synced is false until the source has told everything once; Instances is then not to be relied on.
	Synced bool
	// StaleSince is when contact with the source was lost; zero while there is contact. A connection that dies silently is
	// noticed within 45 s where it speaks HTTP/2, as API servers do; on HTTP/1.1, behind some proxies or with
	// DISABLE_HTTP2, the operating system decides, which takes minutes. What was closed is stale from then on.
	StaleSince time.Time
}
