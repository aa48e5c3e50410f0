package memory

import (
	"context"
	"fmt"

	"github.com/dynawire/dynawire/pkg/runtime"
)

// Client is a runtime.Discovery: what the process in one pod of a World has.
type Client struct {
	world    *World
	identity runtime.Identity

	// Guarded by world.mu.
	self   *runtime.Instance // replaced, never changed
	gone   bool
	closed bool
	tables map[componentKey]*runtime.Table // of the components that were asked for, until Close
}

var _ runtime.Discovery = (*Client)(nil)

type componentKey struct{ namespace, component string }

func keyOf(i *runtime.Instance) componentKey { return componentKey{i.Namespace, i.Component} }

// Identity is who the process is.
func (c *Client) Identity() runtime.Identity { return c.identity }

// Terminate begins to end the pod, as deleting it in Kubernetes does: its instance is not ready any more.
func (c *Client) Terminate() {
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	if c.self == nil {
		return
	}
	now := *c.self
	now.Ready, now.Terminating = false, true
	c.world.publish(c, &now)
}

// Remove ends the pod: its instance is gone, and its name is free. What it stored under keys stays, but for what
// it was the last owner of.
func (c *Client) Remove() {
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	if c.gone {
		return
	}
	c.world.publish(c, nil)
	c.gone = true
	delete(c.world.pods, c.identity.PodUID)
	c.world.collect(c.identity.PodNamespace, c.identity.PodUID)
}

// CreateInstance implements runtime.Discovery. The component that the identity names stands for the pod's label.
func (c *Client) CreateInstance(_ context.Context, r runtime.Registration) (runtime.Instance, error) {
	fail := func(err error) (runtime.Instance, error) {
		return runtime.Instance{}, fmt.Errorf("create instance %s/%s: %w", c.identity.PodNamespace, c.identity.PodName, err)
	}
	self, _, err := r.Resolve(c.identity)
	if err != nil {
		return fail(err)
	}
	for _, l := range [...]struct{ what, label, registered string }{
		{"namespace", c.identity.Namespace, self.Namespace}, {"component", c.identity.Component, self.Component},
	} {
		if l.label != "" && l.label != l.registered {
			return fail(fmt.Errorf("%w: the pod's %s is %q, registered is %q", runtime.ErrLabelMismatch, l.what, l.label, l.registered))
		}
	}
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	if c.closed {
		return fail(runtime.ErrClosed)
	}
	if c.gone {
		return fail(fmt.Errorf("the pod is gone: %w", runtime.ErrNotFound))
	}
	if old := c.self; old != nil {
		self.Ready, self.Terminating = old.Ready, old.Terminating
	}
	c.world.publish(c, &self)
	created := self
	created.Ready = false
	return created, nil
}

// SetStatus implements runtime.Discovery; peers see it at once.
func (c *Client) SetStatus(_ context.Context, self runtime.Instance, s runtime.Status) error {
	fail := func(err error) error { return fmt.Errorf("set status of %s: %w", self.ID, err) }
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	switch {
	case c.closed:
		return fail(runtime.ErrClosed)
	case c.self == nil || c.self.ID != self.ID:
		return fail(runtime.ErrNotOwn)
	case c.self.Terminating && s == runtime.StatusReady:
		return fail(runtime.ErrDraining)
	}
	if err := runtime.CheckStatus(s); err != nil {
		return fail(err)
	}
	now := *c.self
	now.Ready = s == runtime.StatusReady
	c.world.publish(c, &now)
	return nil
}

// Status implements runtime.Discovery.
func (c *Client) Status(_ context.Context, i runtime.Instance) (runtime.Status, error) {
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	if c.closed {
		return "", fmt.Errorf("status of %s: %w", i.ID, runtime.ErrClosed)
	}
	switch other := c.world.pods[i.ID.UID]; {
	case other == nil || other.self == nil || other.self.ID != i.ID:
		return "", fmt.Errorf("status of %s: %w", i.ID, runtime.ErrNotFound)
	case other.self.Ready:
		return runtime.StatusReady, nil
	default:
		return runtime.StatusNotReady, nil
	}
}

// Metadata implements runtime.Discovery.
func (c *Client) Metadata(_ context.Context, id runtime.InstanceID) (*runtime.Metadata, error) {
	if id.Namespace == "" {
		id.Namespace = c.identity.PodNamespace
	}
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	if c.closed {
		return nil, fmt.Errorf("metadata of %s: %w", id, runtime.ErrClosed)
	}
	for _, other := range c.world.pods {
		if i := other.self; i != nil && i.ID.Namespace == id.Namespace && i.ID.PodName == id.PodName && (id.UID == "" || id.UID == i.ID.UID) {
			return i.Metadata, nil
		}
	}
	return nil, fmt.Errorf("metadata of %s: %w", id, runtime.ErrNotFound)
}

// Close implements runtime.Discovery. The pod and its instance stay, as they do when a process ends.
func (c *Client) Close() error {
	c.world.mu.Lock()
	c.closed = true
	tables := c.tables
	c.tables = nil
	c.world.mu.Unlock()
	for _, t := range tables {
		t.Close(runtime.ErrClosed)
	}
	return nil
}
