// Package controller makes what the webhooks rely on: the ServiceAccount, Roles and RoleBindings of opted-in namespaces,
// and a Service for every Dynamo component that has pods.
package controller

import (
	"strings"
	"sync"
	"unique"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dynawire/dynawire/pkg/wiring"
)

// CachedObjects are what the reconcilers and admission read from the cache, and no more of it than they need: metadata
// wherever that will do, and only objects that carry the label in question. Five thousand pods take a few megabytes.
func CachedObjects() map[client.Object]cache.ByObject {
	optedIn := labels.SelectorFromSet(labels.Set{wiring.LabelDiscoveryEnabled: "true"})
	managed := labels.SelectorFromSet(labels.Set{wiring.LabelManagedBy: wiring.ManagedBy})
	readOnly := true // nobody here changes what comes from the cache, so nothing needs to be copied
	return map[client.Object]cache.ByObject{
		namespaceMetadata(): {Label: optedIn, Transform: slim, UnsafeDisableDeepCopy: &readOnly},
		podMetadata():       {Label: wiredPods(), Transform: slimPods(), UnsafeDisableDeepCopy: &readOnly},
		// By name, not by label: an account that the user made is as good as ours.
		accountMetadata():     {Field: fields.OneTermEqualSelector("metadata.name", wiring.ServiceAccount), Transform: slim, UnsafeDisableDeepCopy: &readOnly},
		&rbacv1.Role{}:        {Label: managed, Transform: cache.TransformStripManagedFields()},
		&rbacv1.RoleBinding{}: {Label: managed, Transform: cache.TransformStripManagedFields()},
		// Users' Services too: one that already does the job is left in charge.
		&corev1.Service{}: {Label: optedIn, Transform: cache.TransformStripManagedFields()},
	}
}

// wiredPods selects what dynawire wired. The Dynamo operator gives its pods the same labels, and Services of its own.
func wiredPods() labels.Selector {
	selector := labels.SelectorFromSet(labels.Set{wiring.LabelDiscoveryEnabled: "true"})
	for _, label := range []string{wiring.LabelGraphDeployment, wiring.LabelOperatorSelector} {
		if r, err := labels.NewRequirement(label, selection.DoesNotExist, nil); err == nil {
			selector = selector.Add(*r)
		}
	}
	return selector
}

// slim drops what nobody here reads from an object's metadata.
func slim(in any) (any, error) {
	o, ok := in.(*metav1.PartialObjectMetadata)
	if !ok {
		return in, nil
	}
	o.ManagedFields = nil
	o.OwnerReferences = nil
	kept := make(map[string]string)
	for key, v := range o.Annotations {
		if key == wiring.AnnotationDynamoNamespace || strings.HasPrefix(key, wiring.AnnotationPrefix) {
			kept[key] = v
		}
	}
	o.Annotations = kept
	return o, nil
}

// slimPods returns the same for pods, of which there are many: they keep the labels that say which component they belong
// to, and the account to bind. All pods of a component share one copy of that, which must not be changed.
func slimPods() func(any) (any, error) {
	var shared sync.Map // one entry for each component
	share := func(keys []string, from map[string]string) map[string]string {
		kept := make(map[string]string, len(keys))
		id := ""
		for _, key := range keys {
			if v, ok := from[key]; ok {
				kept[key] = v
				id += key + "\x00" + v + "\x00"
			}
		}
		one, _ := shared.LoadOrStore(id, kept)
		return one.(map[string]string)
	}
	labels := []string{wiring.LabelNamespace, wiring.LabelComponent, wiring.LabelComponentType}
	annotations := []string{wiring.AnnotationServiceAccount}
	return func(in any) (any, error) {
		o, ok := in.(*metav1.PartialObjectMetadata)
		if !ok {
			return in, nil
		}
		o.TypeMeta = podType
		o.ObjectMeta = metav1.ObjectMeta{
			Name: o.Name, Namespace: unique.Make(o.Namespace).Value(), UID: o.UID, ResourceVersion: o.ResourceVersion,
			Labels: share(labels, o.Labels), Annotations: share(annotations, o.Annotations),
		}
		return o, nil
	}
}

// podType saves every pod in the cache two strings.
var podType = podMetadata().TypeMeta

func namespaceMetadata() *metav1.PartialObjectMetadata { return metadata("Namespace") }
func podMetadata() *metav1.PartialObjectMetadata       { return metadata("Pod") }
func accountMetadata() *metav1.PartialObjectMetadata   { return metadata("ServiceAccount") }

func metadata(kind string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: kind}}
}

func podMetadataList() *metav1.PartialObjectMetadataList {
	return &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
}

// AdmissionObjects are those of CachedObjects that admission reads, in every replica.
func AdmissionObjects() []client.Object {
	return []client.Object{namespaceMetadata(), accountMetadata()}
}
