package runtime

import (
	"context"
	"strings"
)

// Discovery registers this process as an instance of a component and finds the instances of components. It mirrors the
// eight methods of the ServiceDiscovery proposal (ai-dynamo/enhancements). Backends implement it; all methods may be
// called from any goroutine.
//
// What holds for every backend:
//
//   - An instance is known by the UID of its pod. A pod of the same name with another UID is another instance: the old one
//     is Deleted before the new one is NewReady.
//   - An instance exists once both its endpoint and its metadata are there. Not ready is not gone: such an instance is
//     listed with Ready false. A terminating instance is not ready.
//   - Nothing is watched before it is asked for, and nothing once nobody asks any more.
//   - While the source is away the last state is served; Snapshot.StaleSince says since when.
//   - Namespace and component are Dynamo's, not Kubernetes' namespace.
type Discovery interface {
	// CreateInstance registers this process and persists its metadata for as long as its pod lives. It does not mark the
	// instance as ready. A second call replaces what the first registered: a container that restarts in its pod registers
	// anew. It fails with ErrLabelMismatch or ErrNoService where nobody would ever find the instance, and with ErrTooLarge.
	CreateInstance(ctx context.Context, r Registration) (Instance, error)

	// ListInstances returns the instances of a component, sorted by pod name, whether ready or not. It waits for the first
	// synchronisation until ctx ends; then, or at once with NoWait, the error is ErrNotSynced. An empty result with a nil
	// error means that there are none.
	ListInstances(ctx context.Context, namespace, component string, opts ...ListOption) ([]Instance, error)

	// Metadata returns what an instance published about itself; ErrNotFound where there is no such instance. An empty UID in
	// the id stands for whatever pod has the name now.
	Metadata(ctx context.Context, id InstanceID) (*Metadata, error)

	// Subscribe follows a component: its ready instances as NewReady, then Synced, then every change. It returns at once;
	// events arrive when the source has answered. Close the subscription, or end its context, to let go of the watch. The
	// options say what becomes of a reader that falls behind; without one it skips intermediate states (Coalesce).
	Subscribe(ctx context.Context, namespace, component string, opts ...SubscribeOption) (*Subscription, error)

	// SetStatus marks the instance that this process created as ready or not ready for traffic. Its peers learn of it the
	// way readiness travels: through the pod's probe. Another status than the two is refused.
	SetStatus(ctx context.Context, self Instance, s Status) error

	// Status returns the status of an instance: for the own one what SetStatus said, for others what ListInstances would
	// say now; ErrNotFound where it is gone.
	Status(ctx context.Context, i Instance) (Status, error)

	// WriteKV stores a value under a key that is bound to no instance. The last writer wins unless an option says otherwise;
	// writing the value that is already there is no write. ErrTooLarge and ErrInvalidKey come before anything is sent.
	WriteKV(ctx context.Context, key string, value []byte, opts ...WriteOption) error

	// ReadKV returns what is stored under a key, or ErrNotFound.
	ReadKV(ctx context.Context, key string) (KV, error)

	// Close ends every subscription with ErrClosed, stops the watches and waits for them. It does not unregister the
	// instance. It may be called more than once; every other method returns ErrClosed afterwards.
	Close() error
}

// ListOption narrows or hastens ListInstances.
type ListOption func(*ListOptions)

// ListOptions is what backends read of ListOption.
type ListOptions struct {
	// ReadyOnly leaves out what is not ready.
	ReadyOnly bool
	// NoWait returns ErrNotSynced instead of waiting for the first synchronisation.
	NoWait bool
}

// ReadyOnly leaves out instances that are not ready.
func ReadyOnly() ListOption { return func(o *ListOptions) { o.ReadyOnly = true } }

// NoWait returns ErrNotSynced instead of waiting for the first synchronisation. It starts it all the same.
func NoWait() ListOption { return func(o *ListOptions) { o.NoWait = true } }

// KV is a stored value.
type KV struct {
	Key   string
	Value []byte
	// Version changes with every write; IfVersion takes it.
	Version string
}

// WriteOption changes what WriteKV does about a value that is already there.
type WriteOption func(*WriteOptions)

// WriteOptions is what backends read of WriteOption.
type WriteOptions struct {
	// CreateOnly refuses to overwrite.
	CreateOnly bool
	// IfVersion is the version to replace; nil for any.
	IfVersion *string
	// Owner is what the value is to go with; the zero value is nothing.
	Owner Owner
}

// Owner is an object of the pod's own Kubernetes namespace with which a stored value goes.
type Owner struct {
	APIVersion string // "apps/v1"
	Kind       string // "Deployment"
	Name       string
	UID        string
}

// OwnedBy makes the value go when the owner does. Each write that names another owner adds it, even where the value is the
// same already; the value goes with the last of them. Many replicas better name what they have in common, their Deployment,
// than a pod each. Without any owner a value stays until somebody deletes it. Backends that know no such objects heed
// owners that are pods, and no others.
func OwnedBy(o Owner) WriteOption { return func(w *WriteOptions) { w.Owner = o } }

// Owner is the instance's pod as an owner.
func (id InstanceID) Owner() Owner {
	uid, container, _ := strings.Cut(id.UID, "/") // ContainerUID
	return Owner{APIVersion: "v1", Kind: "Pod", Name: strings.TrimSuffix(id.PodName, "-"+container), UID: uid}
}

// CreateOnly makes WriteKV return ErrAlreadyExists where the key is already there, whatever its value.
func CreateOnly() WriteOption { return func(o *WriteOptions) { o.CreateOnly = true } }

// IfVersion makes WriteKV return ErrConflict unless the stored value still has that version, one that ReadKV returned. An
// empty one is refused: it is that of a KV that nobody has read.
func IfVersion(version string) WriteOption { return func(o *WriteOptions) { o.IfVersion = &version } }
