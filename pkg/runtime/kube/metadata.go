package kube

import (
	"context"
	"fmt"
	"strings"
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

	// The follower's: while everything is told, objects are joined by the bufferful, and the next buffer is read meanwhile.
	telling bool
	batch   []join.Object
	joining sync.WaitGroup

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
	m.joining.Wait()
}

// change runs f, which returns the pods whose metadata changed, and tells the components.
func (m *metadataWatch) change(f func() (touched []row.UID)) {
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
	m.joining.Wait()
	m.telling, m.batch = true, nil
	m.client.join.Lock()
	defer m.client.join.Unlock()
	m.registry.BeginReplace()
}

func (m *metadataWatch) end() {
	m.flush()
	m.joining.Wait()
	m.telling, m.batch = false, nil
	m.change(m.registry.EndReplace)
	m.client.join.Lock()
	defer m.client.join.Unlock()
	m.synced, m.staleSince = true, time.Time{} // as for a component's slices
	for comp := range m.components {
		comp.refreshStale()
		comp.markSynced()
	}
}

func (m *metadataWatch) set(object string) (string, error) {
	o, version, err := m.client.store.read(object) // outside the lock: most of the work is here
	if err != nil {
		return "", err
	}
	if err := wire.Check(o.Document); err != nil {
		m.client.log.Warn("unreadable worker metadata, the last readable one of the same pod counts", "name", strings.Clone(o.Name), "error", err)
		o.Document = ""
	}
	m.batch = append(m.batch, o)
	if !m.telling {
		m.flush()
	}
	return version, nil
}

// flush joins what was set, while everything is told no earlier than what was set before has been.
func (m *metadataWatch) flush() {
	m.joining.Wait()
	if len(m.batch) == 0 {
		return
	}
	if !m.telling {
		m.joinAll(m.batch)
		clear(m.batch)
		m.batch = m.batch[:0]
		return
	}
	batch := m.batch
	m.batch = make([]join.Object, 0, len(batch))
	m.joining.Go(func() { m.joinAll(batch) })
}

func (m *metadataWatch) joinAll(batch []join.Object) {
	m.change(func() (touched []row.UID) {
		for _, o := range batch {
			touched = append(touched, m.registry.Set(o)...)
		}
		return touched
	})
}

func (m *metadataWatch) remove(object string) (string, error) {
	o, version, err := m.client.store.read(object)
	if err != nil {
		return "", err
	}
	m.flush()
	m.joining.Wait()
	m.change(func() []row.UID { return m.registry.Delete(o.Name) })
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
	if id.Namespace == "" {
		id.Namespace = c.identity.PodNamespace
	}
	if known := c.known(id); known != nil {
		return known, nil
	}
	var read *runtime.Metadata
	err := c.whileOpen(ctx, func(ctx context.Context) (err error) {
		read, err = c.readMetadata(ctx, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("metadata of %s: %w", id, err)
	}
	return read, nil
}

// known is the metadata if a watch has it.
func (c *Client) known(id runtime.InstanceID) *runtime.Metadata {
	c.mu.Lock()
	m := c.metadata // nil once the client is closed
	c.mu.Unlock()
	if m == nil || id.UID == "" || id.Namespace != c.identity.PodNamespace {
		return nil
	}
	uid, _ := row.ParseUID(id.UID)
	c.join.Lock()
	defer c.join.Unlock()
	if self := m.registry.Lookup(id.PodName, uid); self != nil {
		return &self.Metadata
	}
	return nil
}

func (c *Client) readMetadata(ctx context.Context, id runtime.InstanceID) (*runtime.Metadata, error) {
	text, err := c.store.collection(c.api, id.Namespace).object(ctx, c.store.prefix+id.PodName)
	switch {
	case apierrors.IsNotFound(err):
		return nil, runtime.ErrNotFound
	case err != nil:
		return nil, explain(err)
	}
	o, _, err := c.store.read(text)
	if err != nil {
		return nil, err
	}
	if id.UID != "" && o.PodUID != id.UID {
		return nil, fmt.Errorf("%w: it belongs to another pod of that name (UID %s, not %s)", runtime.ErrNotFound, o.PodUID, id.UID)
	}
	if err := wire.Check(o.Document); err != nil {
		return nil, err
	}
	metadata := wire.Labelled("", o.Document)
	return &metadata, nil
}
