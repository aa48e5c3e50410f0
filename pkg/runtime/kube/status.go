package kube

import (
	"context"
	"fmt"

	"github.com/dynawire/dynawire/pkg/runtime"
)

// startHealth makes the process answer the kubelet, if it does not yet.
func (c *Client) startHealth(ctx context.Context, r runtime.Registration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isClosed() {
		return runtime.ErrClosed
	}
	if c.health == nil {
		health := runtime.NewHealth()
		if c.identity.SystemPort >= 0 {
			server, err := runtime.StartHealthServer(ctx, health, c.identity.SystemPort)
			if err != nil {
				return err
			}
			c.server = server
		}
		c.health = health
	}
	names := make([]string, len(r.Endpoints))
	for i, e := range r.Endpoints {
		names[i] = e.Name
	}
	c.health.SetEndpoints(names...)
	return nil
}

// Health is what the kubelet asks: Config.Health, or the client's own from the first CreateInstance on, nil before.
func (c *Client) Health() *runtime.Health {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.health
}

// own returns the health that speaks for the instance, if it is the one that this client created.
func (c *Client) own(i runtime.Instance) (*runtime.Health, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isClosed() {
		return nil, false, runtime.ErrClosed
	}
	return c.health, c.self != nil && c.self.ID == i.ID, nil
}

// SetStatus implements runtime.Discovery: the kubelet's next probe sees it, and the EndpointSlice follows.
func (c *Client) SetStatus(_ context.Context, self runtime.Instance, s runtime.Status) error {
	health, own, err := c.own(self)
	if err == nil && !own {
		err = runtime.ErrNotOwn
	}
	if err == nil {
		err = health.SetStatus(s)
	}
	if err != nil {
		return fmt.Errorf("set status of %s: %w", self.ID, err)
	}
	return nil
}

// Status implements runtime.Discovery.
func (c *Client) Status(ctx context.Context, i runtime.Instance) (runtime.Status, error) {
	health, own, err := c.own(i)
	if err != nil {
		return "", fmt.Errorf("status of %s: %w", i.ID, err)
	}
	if own {
		return health.Status(), nil
	}
	all, err := c.ListInstances(ctx, i.Namespace, i.Component)
	if err != nil {
		return "", fmt.Errorf("status of %s: %w", i.ID, err)
	}
	for _, other := range all {
		if other.ID != i.ID {
			continue
		}
		if other.Ready {
			return runtime.StatusReady, nil
		}
		return runtime.StatusNotReady, nil
	}
	return "", fmt.Errorf("status of %s: %w", i.ID, runtime.ErrNotFound)
}
