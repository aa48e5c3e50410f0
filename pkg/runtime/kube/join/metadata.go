package join

import (
	"github.com/dynawire/dynawire/pkg/runtime/internal/row"
	"github.com/dynawire/dynawire/pkg/runtime/wire"
)

// Object is what matters of one DynamoWorkerMetadata. Its strings are not kept.
type Object struct {
	// Name is the pod's name: that is what a worker names its object.
	Name string
	// UID is the object's own.
	UID string
	// PodUID is that of the first owner that is a pod; empty where there is none, and then it joins nothing.
	PodUID string
	// Document is spec.data; empty where it cannot be read.
	Document string
}

// Registry holds the metadata of a Kubernetes namespace. The States of all components look into the same one. It is not
// safe for concurrent use.
type Registry struct {
	records    row.Index[string, row.Self]
	generation uint16
	sweeping   bool
	pile       *wire.Pile // while everything is told
}

// NewRegistry returns an empty registry.
func NewRegistry() *Registry { return &Registry{records: row.ByName()} }

// Set takes an object as it is now. It returns the pods whose metadata is another one than before, those that lost it
// first; States that know them must be Touched. Where the metadata cannot be read, or is what it was, the last that could
// be read of the same object and owner stays.
func (r *Registry) Set(o Object) (touched []row.UID) {
	old := r.records.Get(o.Name)
	owner, _ := row.ParseUID(o.PodUID)
	sum := row.Sum(o.UID)
	if old != nil && old.Sum == sum && old.UID() == owner &&
		(o.Document == "" || old.Metadata.Publishes(o.Document)) {
		// Most writes of an object change its managedFields only, or nothing.
		old.Generation = r.generation
		return nil
	}
	next := row.NewSelf(o.Name, o.PodUID, o.Document, r.pile)
	next.Sum, next.Generation = sum, r.generation
	r.records.Put(next)
	return changed(old, next)
}

// Delete takes an object away and returns the pods that lost their metadata.
func (r *Registry) Delete(name string) (touched []row.UID) {
	old := r.records.Get(name)
	r.records.Delete(name)
	return changed(old, nil)
}

// BeginReplace starts a list of everything that there is: between it and EndReplace each object is Set.
func (r *Registry) BeginReplace() {
	r.generation++
	r.sweeping = true
	r.pile = &wire.Pile{}
}

// EndReplace deletes what was not Set since BeginReplace and returns the pods that lost their metadata.
func (r *Registry) EndReplace() (touched []row.UID) {
	if !r.sweeping {
		return nil
	}
	r.sweeping, r.pile = false, nil
	var gone []string
	for self := range r.records.All() {
		if self.Generation != r.generation {
			gone = append(gone, self.Name())
		}
	}
	for _, name := range gone {
		touched = append(touched, r.Delete(name)...)
	}
	return touched
}

// Lookup returns what the pod published if that very pod did, or nil.
func (r *Registry) Lookup(podName string, pod row.UID) *row.Self {
	self := r.records.Get(podName)
	if !published(self) || self.UID() != pod {
		return nil
	}
	return self
}

// published says whether there is a document with an owner.
func published(self *row.Self) bool {
	return self != nil && !self.Metadata.Publishes("") && self.UID() != nobody
}

// nobody is the owner of an object without one.
var nobody, _ = row.ParseUID("")

func changed(old, next *row.Self) []row.UID {
	var touched []row.UID
	if published(old) && (next == nil || next.UID() != old.UID()) {
		touched = append(touched, old.UID())
	}
	if next != nil && next.UID() != nobody && (published(next) || published(old) && old.UID() == next.UID()) {
		touched = append(touched, next.UID())
	}
	return touched
}
