package kube

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/kube/join"
	"github.com/dynawire/dynawire/pkg/wiring"
)

type componentKey struct{ namespace, component string }

// selector is the labels that dynawire gives a component's Service, and that its slices inherit.
func (k componentKey) selector() string {
	return wiring.LabelDiscoveryEnabled + "=true," +
		wiring.LabelNamespace + "=" + k.namespace + "," + wiring.LabelComponent + "=" + k.component
}

// component is one component that somebody follows: its slices, joined with the metadata of the whole namespace.
type component struct {
	client   *Client
	key      componentKey
	table    *runtime.Table
	slices   *follower
	reader   reader
	metadata *metadataWatch
	cancel   context.CancelFunc
	running  sync.WaitGroup

	users int         // guarded by client.mu
	idle  clock.Timer // holds one use, after ListInstances; guarded by client.mu

	endpoints []join.Endpoint // the follower's, lent to one slice after the other

	// Guarded by client.join.
	state        *join.State
	slicesSynced bool
	stopped      bool
	armed        uint64 // the newest State.Missing that a timer waits for
	staleSince   time.Time
	contactSince time.Time // when it came back last
}

// acquire returns the component, started if nobody followed it, and counts the caller as a user.
func (c *Client) acquire(key componentKey) (*component, error) {
	if err := key.check(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isClosed() {
		return nil, runtime.ErrClosed
	}
	comp := c.components[key]
	if comp == nil {
		if c.metadata == nil {
			c.metadata = c.startMetadata()
		}
		c.metadata.users++
		comp = c.startComponent(key, c.metadata)
		c.components[key] = comp
	}
	comp.users++
	return comp, nil
}

// release takes a use back. The last one stops the watches and waits for them.
func (c *Client) release(comp *component) {
	var metadata *metadataWatch
	c.mu.Lock()
	comp.users--
	last := comp.users == 0 && c.components[comp.key] == comp
	if last {
		c.stopping.Add(1)
		delete(c.components, comp.key)
		if comp.metadata.users--; comp.metadata.users == 0 && c.metadata == comp.metadata {
			metadata, c.metadata = c.metadata, nil
		}
	}
	c.mu.Unlock()
	if !last {
		return
	}
	defer c.stopping.Done()
	comp.stop()
	if metadata != nil {
		metadata.stop()
	}
}

// linger hands a use over to a timer, so that a program that lists now and then keeps its watch.
func (c *Client) linger(comp *component) {
	c.mu.Lock()
	if c.isClosed() {
		c.mu.Unlock()
		return
	}
	before := comp.idle
	comp.idle = c.clock.AfterFunc(c.cfg.ListIdle, func() { c.release(comp) })
	surplus := before != nil && before.Stop()
	c.mu.Unlock()
	if surplus {
		c.release(comp)
	}
}

func (c *Client) startComponent(key componentKey, m *metadataWatch) *component {
	comp := c.newComponent(key, m)
	ctx, cancel := context.WithCancel(context.Background())
	comp.cancel = cancel
	comp.running.Go(func() { comp.slices.run(ctx) })
	return comp
}

// newComponent is a component whose watch does not run yet.
func (c *Client) newComponent(key componentKey, m *metadataWatch) *component {
	comp := &component{
		client: c, key: key, metadata: m,
		table: runtime.NewTable(c.clock.Now),
		state: join.NewState(join.Owner{
			KubeNamespace: c.identity.PodNamespace, Namespace: key.namespace, Component: key.component,
		}, m.registry),
		staleSince: c.clock.Now(),
	}
	var from collection
	from, comp.reader = c.readiness(key)
	comp.slices = &follower{
		from: from, to: comp, clock: c.clock, log: c.log.With("component", key.namespace+"/"+key.component),
	}
	c.join.Lock()
	m.components[comp] = struct{}{}
	comp.refreshStale()
	c.join.Unlock()
	return comp
}

// stop ends the watch and waits for it.
func (comp *component) stop() {
	c := comp.client
	comp.cancel()
	c.join.Lock()
	comp.stopped = true
	delete(comp.metadata.components, comp)
	c.join.Unlock()
	c.mu.Lock()
	if comp.idle != nil {
		comp.idle.Stop()
	}
	c.mu.Unlock()
	comp.running.Wait()
	comp.table.Close(runtime.ErrClosed) // what is known is not current any more
}

// wait returns when the component is synced.
func (comp *component) wait(ctx context.Context, now bool) error {
	select {
	case <-comp.table.Synced():
		return nil
	default:
	}
	if now {
		return comp.notSynced(nil)
	}
	closed := comp.table.Done()
	select {
	case <-comp.table.Synced():
		return nil
	case <-closed:
		return runtime.ErrClosed
	case <-ctx.Done():
		return comp.notSynced(ctx.Err())
	}
}

// notSynced says why as well as that.
func (comp *component) notSynced(cause error) error {
	err := comp.slices.err()
	if err == nil {
		err = comp.metadata.follower.err()
	}
	switch {
	case err == nil && cause == nil:
		return runtime.ErrNotSynced
	case err == nil:
		return fmt.Errorf("%w: %w", runtime.ErrNotSynced, cause)
	case cause == nil:
		return fmt.Errorf("%w: %w", runtime.ErrNotSynced, explain(err))
	default:
		return fmt.Errorf("%w: %w: %w", runtime.ErrNotSynced, cause, explain(err))
	}
}
