package validate

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// WorkerMetadata is the part of a DynamoWorkerMetadata that is judged.
type WorkerMetadata struct {
	Metadata pod.Metadata   `json:"metadata"`
	Spec     jsontext.Value `json:"spec"`
}

// MetadataWrite is someone writing a DynamoWorkerMetadata.
type MetadataWrite struct {
	// Namespace that the object is in.
	Namespace string
	// User who writes.
	User string
	// PodName and PodUID are those of the pod that the user's token is bound to; empty where it is bound to none.
	PodName, PodUID string
	// Containers of that pod; nil where they are not known.
	Containers []string
	// Gone: that pod is there no more, though its processes may still run on a node. Only asked where Claims.
	Gone bool
	// Object as it will be, and as it was: Old is nil on CREATE.
	Object, Old *WorkerMetadata
}

// RuleMetadataImpersonation is the id of the rule about DynamoWorkerMetadata.
const RuleMetadataImpersonation = "metadata-impersonation"

// Findings is what is wrong with a write.
//
// metadata-impersonation: the object is written by someone other than the pod that it speaks for.
//
// Restricted, on CREATE, and on UPDATE where it changes what the object says (spec, metadata.ownerReferences, the identity
// labels): who writes. A ServiceAccount's token must be bound to a pod of the object's namespace; the object must have
// exactly one owner reference, to that pod by name and UID; its name must be the pod's, or in container mode the pod's, "-"
// and one of its containers; an object that is there already must not belong to a pod of another name. (A pod that was
// recreated under its name takes over what its predecessor left.)
//
// So is a pod that is gone, deleted by force, whose processes still run: what it writes goes to the garbage collector, and
// with it what its successor of the same name has registered.
//
// Allowed: the cluster's own controllers (ServiceAccounts of kube-system, system:kube-controller-manager), of which the
// garbage collector takes owner references off; whoever changes labels of others, annotations or finalizers. A person, or
// anyone else who is no ServiceAccount, has been given the right to write these objects by an administrator: let in and
// recorded, as a warning.
//
// DELETE is not judged: whoever cleans up must not be stopped, and an object that is gone says nothing wrong.
func (w *MetadataWrite) Findings() []Finding {
	if isController(w.User) || w.Old != nil && saysTheSame(w.Old, w.Object) {
		return nil
	}
	owners := w.Object.Metadata.OwnerReferences
	claim := "that it is named after, " + quoted(w.Object.Metadata.Name)
	if len(owners) > 0 {
		claim = "that owns it, " + quoted(owners[0].Name)
	}
	home, account := serviceAccount(w.User)
	switch {
	case !account:
		return []Finding{impersonation(Warning, "metadata.ownerReferences", "user "+quoted(w.User)+" writes it, and not the pod "+claim+
			"; peers would send requests wherever it says. Let the pod write it, or delete it once it has served.")}
	case w.PodName == "" || w.PodUID == "":
		return []Finding{impersonation(Deny, "metadata.ownerReferences", w.User+" writes it with a token that is bound to no pod, "+
			"and so not as the pod "+claim+"; peers would send that pod's requests wherever it says. "+
			"Write it from within the pod, with the token that the kubelet mounts there.")}
	}
	return w.asPod(home)
}

// asPod compares the object with the pod that writes it.
func (w *MetadataWrite) asPod(home string) []Finding {
	var out []Finding
	find := func(field, message string) { out = append(out, impersonation(Deny, field, message)) }
	writer := "Pod " + quoted(w.PodName) + " (UID " + w.PodUID + ")"
	if home != w.Namespace {
		find("metadata.namespace", "the object is in namespace "+quoted(w.Namespace)+", but "+writer+" that writes it is in "+quoted(home)+
			"; no pod would ever belong to it. Write it in namespace "+quoted(home)+".")
	}
	if w.Gone && w.Claims() {
		find("metadata.ownerReferences", writer+" writes it, but that pod is gone; the garbage collector would take the object, and with it what a pod "+
			"that has the name now registers. End the processes of the old pod on its node.")
		return out
	}
	owners := w.Object.Metadata.OwnerReferences
	remedy := ". Set the only owner reference to " + writer + "."
	switch {
	case len(owners) != 1:
		find("metadata.ownerReferences", "there are "+strconv.Itoa(len(owners))+", but it speaks for one pod, "+writer+
			" that writes it; it would outlive that pod or speak for another"+remedy)
	case !w.is(owners[0]):
		find("metadata.ownerReferences[0]", "the owner is "+ownerText(owners[0])+", but "+writer+" writes it; peers would send the owner's requests wherever "+
			quoted(w.PodName)+" says"+remedy)
	}
	if name := w.Object.Metadata.Name; !w.named(name) {
		find("metadata.name", "the name is "+quoted(name)+", but "+writer+" writes it; instance ids are made of the name, so peers would take one pod for another. "+
			"Set the name to "+quoted(w.PodName)+", or in container mode to that, "+`"-" and the container's name.`)
	}
	if w.Old == nil || !w.Claims() {
		return out
	}
	for i, o := range w.Old.Metadata.OwnerReferences {
		if o.Kind == "Pod" && o.Name != w.PodName {
			find("metadata.ownerReferences["+strconv.Itoa(i)+"]", "the object belongs to "+ownerText(o)+", but "+writer+" writes it; what the owner has registered would be gone. "+
				"Write an object of the pod's own name, "+quoted(w.PodName)+".")
		}
	}
	return out
}

// Claims reports whether the write makes the object, or changes whose it is.
func (w *MetadataWrite) Claims() bool {
	return w.Old == nil || !slices.Equal(w.Old.Metadata.OwnerReferences, w.Object.Metadata.OwnerReferences)
}

func impersonation(severity Severity, field, message string) Finding {
	return Finding{Rule: RuleMetadataImpersonation, Severity: severity, Field: field, Message: message}
}

// is reports whether an owner reference is to the pod that writes.
func (w *MetadataWrite) is(o pod.OwnerReference) bool {
	return o.APIVersion == "v1" && o.Kind == "Pod" && o.Name == w.PodName && o.UID == w.PodUID
}

// named reports whether an object of the pod that writes may have the name.
func (w *MetadataWrite) named(name string) bool {
	if name == w.PodName {
		return true
	}
	container, ok := strings.CutPrefix(name, w.PodName+"-")
	return ok && (w.Containers == nil || slices.Contains(w.Containers, container))
}

// saysTheSame reports whether an update leaves alone what peers read. The API server writes both objects in the same way,
// so equal values are equal bytes.
func saysTheSame(old, updated *WorkerMetadata) bool {
	for _, label := range [...]string{wiring.LabelNamespace, wiring.LabelComponent, wiring.LabelComponentType} {
		if old.Metadata.Labels[label] != updated.Metadata.Labels[label] {
			return false
		}
	}
	return slices.Equal(old.Metadata.OwnerReferences, updated.Metadata.OwnerReferences) && bytes.Equal(old.Spec, updated.Spec)
}

const accountPrefix = "system:serviceaccount:"

// serviceAccount is the namespace of a user that is a ServiceAccount.
func serviceAccount(user string) (namespace string, ok bool) {
	rest, ok := strings.CutPrefix(user, accountPrefix)
	namespace, _, _ = strings.Cut(rest, ":")
	return namespace, ok
}

func isController(user string) bool {
	return strings.HasPrefix(user, accountPrefix+"kube-system:") || user == "system:kube-controller-manager"
}

func ownerText(o pod.OwnerReference) string {
	return o.Kind + " " + quoted(o.Name) + " (UID " + o.UID + ")"
}
