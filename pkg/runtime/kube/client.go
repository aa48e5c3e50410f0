// Package kube is the Kubernetes backend of pkg/runtime. An instance is a pod: its readiness comes from the EndpointSlices
// of the component's Service, its metadata from the DynamoWorkerMetadata of its name, as NVIDIA Dynamo's own runtime has
// it, so that either finds the other's instances.
//
// What a pod's account needs: get, list and watch on pods and endpointslices; get, list, watch, create and patch on
// dynamoworkermetadatas; for the key-value store get, create and update on configmaps. dynawire binds it.
package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"k8s.io/utils/clock"

	"github.com/dynawire/dynawire/pkg/runtime"
)

// Client is a runtime.Discovery on Kubernetes. One per process is enough: subscriptions to the same component share a
// watch.
type Client struct {
	cfg      Config
	identity runtime.Identity
	api      *api
	store    *store
	log      *slog.Logger
	clock    clock.WithDelayedExecution

	// mu guards who uses what. It is never held while something is waited for.
	mu         sync.Mutex
	components map[componentKey]*component
	metadata   *metadataWatch
	health     *runtime.Health
	server     *runtime.HealthServer
	self       *runtime.Instance
	stopping   sync.WaitGroup // watches that the last user has let go of; added to with mu held

	// life ends with Close, while mu is held.
	life context.Context //nolint:containedctx // it is the client's, not a call's
	end  context.CancelFunc

	// join guards the joined state of all components, and is held for the length of one object. Where both are held, mu was
	// first; a table's own lock is the innermost.
	join sync.Mutex
}

var _ runtime.Discovery = (*Client)(nil)

// New returns a client. It speaks to nobody yet.
func New(cfg Config) (*Client, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("discovery: %w", err)
	}
	a, err := newAPI(cfg.REST)
	if err != nil {
		return nil, fmt.Errorf("discovery: %w", err)
	}
	st, err := newStore(a, cfg.MetadataStore)
	if err != nil {
		return nil, fmt.Errorf("discovery: %w", err)
	}
	if cfg.Identity.Container != "" {
		st.read = ofContainers(st.read)
	}
	life, end := context.WithCancel(context.Background())
	return &Client{
		life: life, end: end,
		cfg:        cfg,
		identity:   cfg.Identity,
		api:        a,
		store:      st,
		log:        cfg.Logger.With("namespace", cfg.Identity.PodNamespace),
		clock:      cfg.Clock,
		components: map[componentKey]*component{},
		health:     cfg.Health,
	}, nil
}

func (c *Client) isClosed() bool { return c.life.Err() != nil }

// whileOpen runs f with a context that ends with the client as well: a closed client writes nothing, and nobody waits for
// one.
func (c *Client) whileOpen(ctx context.Context, f func(context.Context) error) error {
	if c.isClosed() {
		return runtime.ErrClosed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.life, func() { cancel(runtime.ErrClosed) })() //nolint:contextcheck // the end of the client, not of the call
	err := f(ctx)
	if err != nil && errors.Is(context.Cause(ctx), runtime.ErrClosed) {
		return fmt.Errorf("%w: %w", runtime.ErrClosed, err)
	}
	return err
}

// Identity is who the process is.
func (c *Client) Identity() runtime.Identity { return c.identity }

// ListInstances implements runtime.Discovery.
func (c *Client) ListInstances(
	ctx context.Context, namespace, componentName string, opts ...runtime.ListOption,
) ([]runtime.Instance, error) {
	var o runtime.ListOptions
	for _, opt := range opts {
		opt(&o)
	}
	comp, err := c.acquire(componentKey{namespace, componentName}) //nolint:contextcheck // the watch is shared and outlives this call
	if err != nil {
		return nil, fmt.Errorf("list instances of %s/%s: %w", namespace, componentName, err)
	}
	defer c.linger(comp)
	if err := comp.wait(ctx, o.NoWait); err != nil {
		return nil, fmt.Errorf("list instances of %s/%s: %w", namespace, componentName, err)
	}
	all := comp.table.Snapshot().Instances
	if !o.ReadyOnly {
		return all, nil
	}
	ready := all[:0]
	for _, i := range all {
		if i.Ready {
			ready = append(ready, i)
		}
	}
	return ready, nil
}

// Subscribe implements runtime.Discovery.
func (c *Client) Subscribe(
	ctx context.Context, namespace, componentName string, opts ...runtime.SubscribeOption,
) (*runtime.Subscription, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	comp, err := c.acquire(componentKey{namespace, componentName}) //nolint:contextcheck // the watch is shared and outlives this call
	if err != nil {
		return nil, fmt.Errorf("subscribe to %s/%s: %w", namespace, componentName, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	sub, err := comp.table.Subscribe(func() {
		cancel()
		c.release(comp)
	}, opts...)
	if err != nil {
		cancel()
		c.release(comp)
		return nil, fmt.Errorf("subscribe to %s/%s: %w", namespace, componentName, err)
	}
	context.AfterFunc(ctx, func() { _ = sub.Close() })
	return sub, nil
}

// Close implements runtime.Discovery.
func (c *Client) Close() error {
	c.mu.Lock()
	c.end()
	components, metadata, server := c.components, c.metadata, c.server
	c.components, c.metadata, c.server = nil, nil, nil
	c.mu.Unlock()

	for _, comp := range components {
		comp.table.Close(runtime.ErrClosed)
		comp.stop()
	}
	if metadata != nil {
		metadata.stop()
	}
	c.stopping.Wait()
	var err error
	if server != nil {
		err = server.Close()
	}
	c.api.http.CloseIdleConnections()
	return err
}
