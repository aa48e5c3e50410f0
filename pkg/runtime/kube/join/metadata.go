package join

import (
	"bytes"

	"github.com/dynawire/dynawire/pkg/runtime/wire"
)

// Object is what matters of one DynamoWorkerMetadata.
type Object struct {
	// Name is the pod's name: that is what a worker names its object.
	Name string
	// UID is the object's own.
	UID string
	// PodUID is that of the first owner that is a pod; empty where there is none, and then it joins nothing.
	PodUID string
	// Metadata is spec.data, read; nil where it cannot be read.
	Metadata *wire.Metadata
}

// Registry holds the metadata of a Kubernetes namespace. The States of all components look into the same one. It is not
// safe for concurrent use.
type Registry struct {
	records    map[string]*record // by name
	generation uint64
	sweeping   bool
}

type record struct {
	uid, podUID string
	generation  uint64
	metadata    *wire.Metadata
}

// NewRegistry returns an empty registry.
func NewRegistry() *Registry { return &Registry{records: map[string]*record{}} }

// Set takes an object as it is now. It returns the pod UIDs whose metadata is another one than before, those that lost it
// first; States that know them must be Touched. Where the metadata cannot be read, or is what it was, the last that could
// be read of the same object and owner stays.
func (r *Registry) Set(o Object) (touched []string) {
	old := r.records[o.Name]
	next := &record{uid: o.UID, podUID: o.PodUID, generation: r.generation, metadata: o.Metadata}
	if old != nil && old.uid == o.UID && old.podUID == o.PodUID && sameMetadata(old.metadata, o.Metadata) {
		next.metadata = old.metadata
	}
	r.records[o.Name] = next
	return changed(old, next)
}

// sameMetadata says whether there is nothing new: most writes of an object change its managedFields only, or nothing.
func sameMetadata(old, next *wire.Metadata) bool {
	return next == nil || old != nil && bytes.Equal(old.Raw, next.Raw)
}

// Delete takes an object away and returns the pod UIDs that lost their metadata.
func (r *Registry) Delete(name string) (touched []string) {
	old := r.records[name]
	delete(r.records, name)
	return changed(old, nil)
}

// BeginReplace starts a list of everything that there is: between it and EndReplace each object is Set.
func (r *Registry) BeginReplace() {
	r.generation++
	r.sweeping = true
}

// EndReplace deletes what was not Set since BeginReplace and returns the pod UIDs that lost their metadata.
func (r *Registry) EndReplace() (touched []string) {
	if !r.sweeping {
		return nil
	}
	r.sweeping = false
	for name, rec := range r.records {
		if rec.generation != r.generation {
			touched = append(touched, r.Delete(name)...)
		}
	}
	return touched
}

// Lookup returns the metadata that belongs to that very pod, or nil.
func (r *Registry) Lookup(podName, podUID string) *wire.Metadata {
	rec := r.records[podName]
	if rec == nil || rec.podUID == "" || rec.podUID != podUID {
		return nil
	}
	return rec.metadata
}

func changed(old, next *record) []string {
	var touched []string
	if old != nil && old.podUID != "" && old.metadata != nil && (next == nil || next.podUID != old.podUID) {
		touched = append(touched, old.podUID)
	}
	if next != nil && next.podUID != "" {
		if old == nil || old.podUID != next.podUID || old.metadata != next.metadata {
			touched = append(touched, next.podUID)
		}
	}
	return touched
}
