package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/dynawire/dynawire/api/v1alpha1"
	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/internal/scan"
	"github.com/dynawire/dynawire/pkg/runtime/kube/join"
)

// MetadataStore is the kind of object in which instances publish what they are. All processes that are to find each other
// use the same.
type MetadataStore string

const (
	// WorkerMetadata is Dynamo's own: one DynamoWorkerMetadata for each instance. It is the default, and the only one by which
	// Dynamo's runtime and this library find each other.
	WorkerMetadata MetadataStore = "DynamoWorkerMetadata"
	// ConfigMaps needs no CustomResourceDefinition: one ConfigMap for each instance, as the ServiceDiscovery proposal has it,
	// with the same document under the key "metadata". The account needs get, list, watch, create and patch on configmaps, which
	// dynawire does not bind: it lets every pod that has it read and write all ConfigMaps of the Kubernetes namespace.
	ConfigMaps MetadataStore = "ConfigMap"
)

const (
	// instanceLabel is on the ConfigMaps that are an instance's metadata, so that no other is ever read.
	instanceLabel = "dynawire.io/instance"
	// instancePrefix keeps clear of other ConfigMaps that bear a pod's name.
	instancePrefix  = "dynawire-instance-"
	instanceDataKey = "metadata"
)

// store is a MetadataStore at work.
type store struct {
	client   rest.Interface
	kind     metav1.TypeMeta
	resource string
	selector string
	prefix   string // of an object's name before the name under which it joins
	read     func(text string) (o join.Object, version string, err error)
	object   func(metav1.TypeMeta, metav1.ObjectMeta, json.RawMessage) any
	missing  string // what an API server lacks that answers 404 to a write
}

func newStore(a *api, kind MetadataStore) (*store, error) {
	switch kind {
	case WorkerMetadata, "":
		return &store{
			client: a.dynamo, resource: v1alpha1.Resource,
			kind: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion().String(), Kind: "DynamoWorkerMetadata"},
			read: readWorkerMetadata,
			object: func(kind metav1.TypeMeta, meta metav1.ObjectMeta, document json.RawMessage) any {
				return v1alpha1.DynamoWorkerMetadata{TypeMeta: kind, ObjectMeta: meta, Spec: v1alpha1.DynamoWorkerMetadataSpec{
					Data: k8sruntime.RawExtension{Raw: document},
				}}
			},
			missing: "the CustomResourceDefinition " + v1alpha1.Resource + "." + v1alpha1.GroupName,
		}, nil
	case ConfigMaps:
		return &store{
			client: a.core, resource: "configmaps", selector: instanceLabel + "=true", prefix: instancePrefix,
			kind: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			read: readInstanceConfigMap,
			object: func(kind metav1.TypeMeta, meta metav1.ObjectMeta, document json.RawMessage) any {
				meta.Labels = map[string]string{instanceLabel: "true"}
				return corev1.ConfigMap{TypeMeta: kind, ObjectMeta: meta, Data: map[string]string{instanceDataKey: string(document)}}
			},
			missing: "the Kubernetes namespace",
		}, nil
	}
	return nil, fmt.Errorf("config: MetadataStore is %q: want %q or %q", kind, WorkerMetadata, ConfigMaps)
}

// collection is the metadata of a Kubernetes namespace.
func (s *store) collection(a *api, namespace string) collection {
	return collection{
		client: s.client, params: a.params, format: jsonFormat{}, resource: s.resource, namespace: namespace, selector: s.selector,
	}
}

// readInstanceConfigMap is readWorkerMetadata for ConfigMaps.
func readInstanceConfigMap(text string) (o join.Object, version string, err error) {
	s := scan.New(text)
	for s.Enter('{'); s.More('}'); {
		switch s.Key() {
		case "metadata":
			version = readObjectMeta(s, &o, false)
		case "data":
			for s.Enter('{'); s.More('}'); {
				if s.Key() == instanceDataKey {
					o.Document = s.String()
				} else {
					s.Skip()
				}
			}
		default:
			s.Skip()
		}
	}
	name, ours := strings.CutPrefix(o.Name, instancePrefix)
	if !s.Done() || !ours || name == "" {
		return join.Object{}, "", errMalformed
	}
	o.Name = name
	return o, version, nil
}

// publish writes an instance's object the way Dynamo's runtime does: the whole of it, by server-side apply, owned by the pod.
func (c *Client) publish(ctx context.Context, document json.RawMessage) error {
	name := c.store.prefix + c.identity.ObjectName()
	body, err := json.Marshal(c.store.object(c.store.kind, metav1.ObjectMeta{
		Name: name, Namespace: c.identity.PodNamespace,
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: corev1.SchemeGroupVersion.String(), Kind: "Pod",
			Name: c.identity.PodName, UID: types.UID(c.identity.PodUID),
			// As releases 1.3 to 1.6 write it: the pod controls the object of its own name, and none of its other containers'.
			Controller: new(c.identity.ObjectName() == c.identity.PodName), BlockOwnerDeletion: new(false),
		}},
	}, document))
	if err != nil {
		return fmt.Errorf("encode metadata: %w", err)
	}
	err = c.retry(ctx, func() error {
		return c.store.client.Patch(types.ApplyPatchType).
			Namespace(c.identity.PodNamespace).Resource(c.store.resource).Name(name).
			Param("fieldManager", fieldManager).Param("force", "true").
			Body(body).Do(ctx).Error()
	})
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("write %s %s: %w; is there %s?", c.store.kind.Kind, name, err, c.store.missing)
	case apierrors.IsRequestEntityTooLargeError(err):
		return fmt.Errorf("write %s %s: %w: %w", c.store.kind.Kind, name, runtime.ErrTooLarge, err)
	case err != nil:
		return fmt.Errorf("write %s %s: %w", c.store.kind.Kind, name, explain(err))
	}
	return nil
}
