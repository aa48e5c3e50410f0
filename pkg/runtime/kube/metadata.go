package kube

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/dynawire/dynawire/api/v1alpha1"
	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/kube/join"
)

// metadataWatch follows the DynamoWorkerMetadata of the Kubernetes namespace, once for all components: the objects carry
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
	ctx, cancel := context.WithCancel(context.Background())
	m := &metadataWatch{
		client: c, cancel: cancel,
		registry: join.NewRegistry(), components: map[*component]struct{}{},
		staleSince: c.clock.Now(),
	}
	m.follower = &follower{from: c.api.workerMetadata(c.identity.PodNamespace), to: m, clock: c.clock, log: c.log}
	m.running.Go(func() { m.follower.run(ctx) })
	return m
}

func (m *metadataWatch) stop() {
	m.cancel()
	m.running.Wait()
}

// locked runs f, which returns the pods whose metadata changed, and tells the components.
func (m *metadataWatch) locked(f func() (touched []string)) {
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
	m.locked(func() []string {
		m.registry.BeginReplace()
		return nil
	})
}

func (m *metadataWatch) end() {
	m.locked(m.registry.EndReplace)
	m.client.join.Lock()
	defer m.client.join.Unlock()
	m.synced = true
	for comp := range m.components {
		comp.markSynced()
	}
}

func (m *metadataWatch) set(obj k8sruntime.Object) {
	dwm, ok := obj.(*v1alpha1.DynamoWorkerMetadata)
	if !ok {
		return
	}
	o, err := compactMetadata(dwm) // outside the lock: most of the work is here
	if err != nil {
		m.client.log.Warn("unreadable worker metadata, the last readable one of the same pod counts", "name", dwm.Name, "error", err)
	}
	m.locked(func() []string { return m.registry.Set(o) })
}

func (m *metadataWatch) remove(obj k8sruntime.Object) {
	if dwm, ok := obj.(*v1alpha1.DynamoWorkerMetadata); ok {
		m.locked(func() []string { return m.registry.Delete(dwm.Name) })
	}
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
	if m != nil && id.Namespace == c.identity.PodNamespace {
		c.join.Lock()
		known := m.registry.Lookup(id.PodName, id.UID)
		c.join.Unlock()
		if known != nil {
			return known, nil
		}
	}
	var dwm v1alpha1.DynamoWorkerMetadata
	err := c.api.dynamo.Get().Namespace(id.Namespace).Resource(v1alpha1.Resource).Name(id.PodName).Do(ctx).Into(&dwm)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("metadata of %s: %w", id, runtime.ErrNotFound)
	case err != nil:
		return nil, fmt.Errorf("metadata of %s: %w", id, explain(err))
	}
	o, err := compactMetadata(&dwm)
	if id.UID != "" && o.PodUID != id.UID {
		return nil, fmt.Errorf("metadata of %s: %w: it belongs to another pod of that name (UID %s, not %s)",
			id, runtime.ErrNotFound, o.PodUID, id.UID)
	}
	if err != nil {
		return nil, fmt.Errorf("metadata of %s: %w", id, err)
	}
	return o.Metadata, nil
}
