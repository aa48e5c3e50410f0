package kube

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/internal/row"
	"github.com/dynawire/dynawire/pkg/runtime/kube/join"
	"github.com/dynawire/dynawire/pkg/runtime/wire"
)

// metadataWatch follows the metadata objects of the Kubernetes namespace, once for all components: the objects carry
// no label that would tell one component's from another's.
type metadataWatch struct {
	client   *Client
	follower *follower
	cancel   context.CancelFunc
	running  sync.WaitGroup

	users int // guarded by client.mu

	// Guarded by client.join.
	registry   *join.Registry
	components map[*component]struct{}
	synced     bool
	staleSince time.Time
}

// startMetadata is called with mu held.
func (c *Client) startMetadata() *metadataWatch {
	m := c.newMetadata()
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	m.running.Go(func() { m.follower.run(ctx) })
	return m
}

// newMetadata is a watch that does not run yet.
func (c *Client) newMetadata() *metadataWatch {
	m := &metadataWatch{
		client:   c,
		registry: join.NewRegistry(), components: map[*component]struct{}{},
		staleSince: c.clock.Now(),
	}
	m.follower = &follower{from: c.store.collection(c.api, c.identity.PodNamespace), to: m, clock: c.clock, log: c.log}
	return m
}

func (m *metadataWatch) stop() {
	m.cancel()
	m.running.Wait()
}

// locked runs f, which returns the pods whose metadata changed, and tells the components.
func (m *metadataWatch) locked(f func() (touched []row.UID)) {
	m.client.join.Lock()
	defer m.client.join.Unlock()
	touched := f()
	if len(touched) == 0 {
		return
	}
	for comp := range m.components {
		comp.apply(comp.state.Touch(touched))
	}
}

func (m *metadataWatch) begin() {
	m.locked(func() []row.UID {
		m.registry.BeginReplace()
		return nil
	})
}

func (m *metadataWatch) end() {
	m.client.join.Lock()
	defer m.client.join.Unlock()
	touched := m.registry.EndReplace()
	for comp := range m.components {
		if m.synced {
			comp.apply(comp.state.Touch(touched))
		} else {
			comp.apply(comp.state.TouchAll())
		}
	}
	m.synced = true
	for comp := range m.components {
		comp.markSynced()
	}
}

func (m *metadataWatch) set(object string) (string, error) {
	o, version, err := m.client.store.read(object) // outside the lock: most of the work is here
	if err != nil {
		return "", err
	}
	if err := wire.Check(o.Document); err != nil {
		m.client.log.Warn("unreadable worker metadata, the last readable one of the same pod counts", "name", o.Name, "error", err)
		o.Document = ""
	}
	m.locked(func() []row.UID {
		touched := m.registry.Set(o)
		if !m.synced {
			return nil // nobody sees anything before everything was told: one look at all pods then
		}
		return touched
	})
	return version, nil
}

func (m *metadataWatch) remove(object string) (string, error) {
	o, version, err := m.client.store.read(object)
	if err != nil {
		return "", err
	}
	m.locked(func() []row.UID { return m.registry.Delete(o.Name) })
	return version, nil
}

func (m *metadataWatch) contact(ok bool) {
	m.client.join.Lock()
	defer m.client.join.Unlock()
	m.staleSince = staleSince(m.staleSince, ok, m.client.clock.Now())
	for comp := range m.components {
		comp.refreshStale()
	}
}

// Metadata implements runtime.Discovery. While a component is followed the answer comes from the watch; else, and for
// what the watch does not know, it costs one read.
func (c *Client) Metadata(ctx context.Context, id runtime.InstanceID) (*runtime.Metadata, error) {
	c.mu.Lock()
	m, closed := c.metadata, c.closed
	c.mu.Unlock()
	if closed {
		return nil, runtime.ErrClosed
	}
	if id.Namespace == "" {
		id.Namespace = c.identity.PodNamespace
	}
	if m != nil && id.UID != "" && id.Namespace == c.identity.PodNamespace {
		uid, _ := row.ParseUID(id.UID)
		c.join.Lock()
		known := m.registry.Lookup(id.PodName, uid)
		c.join.Unlock()
		if known != nil {
			return &known.Metadata, nil
		}
	}
	text, err := c.store.collection(c.api, id.Namespace).object(ctx, c.store.prefix+id.PodName)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("metadata of %s: %w", id, runtime.ErrNotFound)
	case err != nil:
		return nil, fmt.Errorf("metadata of %s: %w", id, explain(err))
	}
	o, _, err := c.store.read(text)
	if err == nil && id.UID != "" && o.PodUID != id.UID {
		return nil, fmt.Errorf("metadata of %s: %w: it belongs to another pod of that name (UID %s, not %s)",
			id, runtime.ErrNotFound, o.PodUID, id.UID)
	}
	if err == nil {
		err = wire.Check(o.Document)
	}
	if err != nil {
		return nil, fmt.Errorf("metadata of %s: %w", id, err)
	}
	metadata := wire.Labelled("", o.Document)
	return &metadata, nil
}
