package kube

import (
	"context"
	"fmt"

	"github.com/dynawire/dynawire/pkg/runtime"
)

// fieldManager is Dynamo's own, so that a pod that changes from one runtime to the other leaves nothing behind
// (ai-dynamo/dynamo lib/runtime/src/discovery/kube/crd.rs).
const fieldManager = "dynamo-worker"

// CreateInstance implements runtime.Discovery. In this order: it starts to answer the kubelet (not ready), asserts that
// the pod's labels say what the registration says, waits for a Service to select the pod (in container mode there need be
// none), and writes the metadata.
func (c *Client) CreateInstance(ctx context.Context, r runtime.Registration) (runtime.Instance, error) {
	var self runtime.Instance
	err := c.whileOpen(ctx, func(ctx context.Context) (err error) {
		self, err = c.create(ctx, r)
		return err
	})
	if err != nil {
		return runtime.Instance{}, fmt.Errorf("create instance %s/%s: %w", c.identity.PodNamespace, c.identity.PodName, err)
	}
	return self, nil
}

func (c *Client) create(ctx context.Context, r runtime.Registration) (runtime.Instance, error) {
	self, data, err := r.Resolve(c.identity)
	if err != nil {
		return self, err
	}
	key := componentKey{self.Namespace, self.Component}
	if err := c.startHealth(ctx, r); err != nil {
		return self, err
	}
	if err := c.assertLabels(ctx, key); err != nil {
		return self, err
	}
	if c.identity.Container == "" {
		if err := c.assertService(ctx, key); err != nil {
			return self, err
		}
	}
	if err := c.publish(ctx, data); err != nil {
		return self, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.self = &self
	return self, nil
}
