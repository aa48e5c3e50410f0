package kube

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/dynawire/dynawire/api/v1alpha1"
	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/wire"
)

const (
	// fieldManager is Dynamo's own, so that a pod that changes from one runtime to the other leaves nothing behind
	// (ai-dynamo/dynamo lib/runtime/src/discovery/kube/crd.rs).
	fieldManager = "dynamo-worker"
	// maxMetadata bounds spec.data. etcd takes 1.5 MiB; of a worker's object as it is stored 43 % was managedFields.
	maxMetadata = 768 << 10
)

// CreateInstance implements runtime.Discovery. In this order: it starts to answer the kubelet (not ready), asserts that
// the pod's labels say what the registration says, waits for a Service to select the pod, and writes the
// DynamoWorkerMetadata.
func (c *Client) CreateInstance(ctx context.Context, r runtime.Registration) (runtime.Instance, error) {
	fail := func(err error) (runtime.Instance, error) {
		return runtime.Instance{}, fmt.Errorf("create instance %s/%s: %w", c.identity.PodNamespace, c.identity.PodName, err)
	}
	if c.identity.PodName == "" || c.identity.PodUID == "" {
		return fail(fmt.Errorf("Config.Identity has no PodName or PodUID: only a pod can register"))
	}
	key, err := c.registrationKey(r)
	if err != nil {
		return fail(err)
	}
	self, data, err := c.document(key, r)
	if err != nil {
		return fail(err)
	}
	if err := c.startHealth(ctx, r); err != nil {
		return fail(err)
	}
	if err := c.assertLabels(ctx, key); err != nil {
		return fail(err)
	}
	if err := c.assertService(ctx, key); err != nil {
		return fail(err)
	}
	if err := c.applyMetadata(ctx, data); err != nil {
		return fail(err)
	}
	c.mu.Lock()
	c.self = &self
	c.mu.Unlock()
	return self, nil
}

// registrationKey fills in what the registration leaves to the environment.
func (c *Client) registrationKey(r runtime.Registration) (componentKey, error) {
	key := componentKey{r.Namespace, r.Component}
	if key.namespace == "" {
		key.namespace = c.identity.Namespace
	}
	if key.component == "" {
		key.component = c.identity.Component
	}
	return key, key.check()
}

// document is what will be published, and the instance as it then is.
func (c *Client) document(key componentKey, r runtime.Registration) (runtime.Instance, json.RawMessage, error) {
	self := runtime.Instance{
		ID: runtime.InstanceID{
			Namespace: c.identity.PodNamespace, PodName: c.identity.PodName, UID: c.identity.PodUID,
		},
		Namespace: key.namespace, Component: key.component,
	}
	namespace := key.namespace
	if c.identity.WorkerSuffix != "" {
		namespace += "-" + c.identity.WorkerSuffix
	}
	doc := wire.Document{InstanceID: self.ID.Number(), Values: r.Metadata}
	for _, e := range r.Endpoints {
		doc.Endpoints = append(doc.Endpoints, wire.Endpoint{
			Namespace: namespace, Component: key.component, Name: e.Name,
			Transport: e.Transport, DeviceType: e.DeviceType, Codec: e.Codec,
		})
		if len(e.ModelCard) > 0 {
			doc.ModelCards = append(doc.ModelCards, wire.ModelCard{
				Namespace: namespace, Component: key.component, Endpoint: e.Name, Card: e.ModelCard,
			})
		}
	}
	data, err := wire.Encode(doc)
	if err != nil {
		return self, nil, err
	}
	if len(data) > maxMetadata {
		return self, nil, fmt.Errorf("metadata: %w: %d bytes, at most %d; keep what is large under a key (WriteKV)",
			runtime.ErrTooLarge, len(data), maxMetadata)
	}
	self.Metadata, err = wire.Parse(data)
	if err != nil {
		return self, nil, err
	}
	self.Endpoints = self.Metadata.Endpoints
	return self, data, nil
}

// applyMetadata writes the object the way Dynamo's runtime does: the whole of it, by server-side apply, owned by the pod.
func (c *Client) applyMetadata(ctx context.Context, data json.RawMessage) error {
	yes, no := true, false
	object := v1alpha1.DynamoWorkerMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion().String(), Kind: "DynamoWorkerMetadata"},
		ObjectMeta: metav1.ObjectMeta{
			Name:      c.identity.PodName,
			Namespace: c.identity.PodNamespace,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: corev1.SchemeGroupVersion.String(), Kind: "Pod",
				Name: c.identity.PodName, UID: types.UID(c.identity.PodUID),
				// As releases 1.3 to 1.6 write it.
				Controller: &yes, BlockOwnerDeletion: &no,
			}},
		},
		Spec: v1alpha1.DynamoWorkerMetadataSpec{Data: k8sruntime.RawExtension{Raw: data}},
	}
	body, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("encode worker metadata: %w", err)
	}
	err = c.retry(ctx, func() error {
		return c.api.dynamo.Patch(types.ApplyPatchType).
			Namespace(c.identity.PodNamespace).Resource(v1alpha1.Resource).Name(c.identity.PodName).
			Param("fieldManager", fieldManager).Param("force", "true").
			Body(body).Do(ctx).Error()
	})
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("write worker metadata: %w; is the CustomResourceDefinition %s.%s installed?",
			err, v1alpha1.Resource, v1alpha1.GroupName)
	case apierrors.IsRequestEntityTooLargeError(err):
		return fmt.Errorf("write worker metadata: %w: %w", runtime.ErrTooLarge, err)
	case err != nil:
		return fmt.Errorf("write worker metadata: %w", explain(err))
	}
	return nil
}
