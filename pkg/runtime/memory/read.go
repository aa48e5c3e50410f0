package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/dynawire/dynawire/pkg/runtime"
)

// tell passes a change on to who reads the component. Called with world.mu held.
func (c *Client) tell(ch runtime.Change) {
	if t := c.tables[keyOf(ch.Instance)]; t != nil {
		t.Apply(change(ch.Instance, ch.Removed))
	}
}

// table is the component as this client sees it.
func (c *Client) table(namespace, component string) (*runtime.Table, error) {
	if err := runtime.CheckComponent(namespace, component); err != nil {
		return nil, err
	}
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	if c.closed {
		return nil, runtime.ErrClosed
	}
	key := componentKey{namespace, component}
	t := c.tables[key]
	if t == nil {
		t = runtime.NewTable(nil)
		t.Apply(c.world.instances(c.identity.PodNamespace, key)...)
		t.MarkSynced()
		c.tables[key] = t
	}
	return t, nil
}

// ListInstances implements runtime.Discovery. It is always synced.
func (c *Client) ListInstances(
	_ context.Context, namespace, component string, opts ...runtime.ListOption,
) ([]runtime.Instance, error) {
	var o runtime.ListOptions
	for _, opt := range opts {
		opt(&o)
	}
	t, err := c.table(namespace, component)
	if err != nil {
		return nil, fmt.Errorf("list instances of %s/%s: %w", namespace, component, err)
	}
	all := t.Snapshot().Instances
	if o.ReadyOnly {
		all = slices.DeleteFunc(all, func(i runtime.Instance) bool { return !i.Ready })
	}
	return all, nil
}

// Subscribe implements runtime.Discovery.
func (c *Client) Subscribe(ctx context.Context, namespace, component string, opts ...runtime.SubscribeOption) (*runtime.Subscription, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t, err := c.table(namespace, component)
	if err != nil {
		return nil, fmt.Errorf("subscribe to %s/%s: %w", namespace, component, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	sub, err := t.Subscribe(cancel, opts...)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("subscribe to %s/%s: %w", namespace, component, err)
	}
	context.AfterFunc(ctx, func() { _ = sub.Close() })
	return sub, nil
}
