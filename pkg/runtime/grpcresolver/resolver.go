// Package grpcresolver lets a gRPC client dial a component: the addresses are those of its ready instances, and follow
// them.
//
//	conn, err := grpc.NewClient("dynamo:///dynamo/backend",
//		grpc.WithResolvers(grpcresolver.New(d, grpcresolver.Config{})),
//		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}]}`), …)
//
// With TLS, grpc.WithAuthority names whom the workers' certificates are for; else that would be the target.
//
// Nothing is registered globally. Each channel has a subscription of its own, of which discovery shares the watch.
//
// Not known is not empty. Until the first synchronisation nothing is told to the channel, so that calls wait for as long as
// their deadline lets them. Once synchronised, "none is ready" is told as an empty list, and calls fail at once with
// Unavailable (or wait, with WaitForReady); the old addresses are not held on to. While the API server is away the channel
// keeps what was last known.
package grpcresolver

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/resolver"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// Scheme is that of the targets.
const Scheme = "dynamo"

// Config says which of an instance's addresses to dial. The zero value is right where endpoint "generate" is the one that
// speaks gRPC.
type Config struct {
	// Endpoint is the endpoint whose transport begins with the HOST:PORT to dial; empty means "generate". An instance that has
	// no such endpoint, or one whose transport is no HOST:PORT, is left out.
	Endpoint string
	// Port, where it is not 0, is dialled at the pod's own addresses, whatever the instance registered.
	Port uint16
}

// New returns a builder of resolvers for targets dynamo:///NAMESPACE/COMPONENT (Dynamo's names), to be given to
// grpc.WithResolvers. The discovery must stay open for as long as the channels are.
func New(d runtime.Discovery, c Config) resolver.Builder {
	if c.Endpoint == "" {
		c.Endpoint = wiring.DefaultEndpoint
	}
	return &builder{discovery: d, config: c}
}

type builder struct {
	discovery runtime.Discovery
	config    Config
}

func (b *builder) Scheme() string { return Scheme }

func (b *builder) Build(target resolver.Target, cc resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	namespace, component, ok := strings.Cut(target.Endpoint(), "/")
	if !ok || target.URL.Host != "" {
		return nil, fmt.Errorf("target %q: want %s:///NAMESPACE/COMPONENT", target.String(), Scheme)
	}
	ctx, cancel := context.WithCancel(context.Background())
	sub, err := b.discovery.Subscribe(ctx, namespace, component)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("target %q: %w", target.String(), err)
	}
	r := &dynamoResolver{
		config: b.config, what: namespace + "/" + component, cc: cc, sub: sub, cancel: cancel,
		changed: make(chan struct{}, 1), ready: map[runtime.InstanceID]resolver.Endpoint{},
	}
	r.running.Go(r.follow)
	r.running.Go(r.report)
	return r, nil
}

type dynamoResolver struct {
	config  Config
	what    string
	cc      resolver.ClientConn
	sub     *runtime.Subscription
	cancel  context.CancelFunc
	running sync.WaitGroup
	changed chan struct{} // there is something to tell; closed when the subscription has ended

	mu     sync.Mutex
	synced bool
	ready  map[runtime.InstanceID]resolver.Endpoint // without addresses where there is nothing to dial
}

// ResolveNow has nothing to do: what there is to know comes by itself.
func (r *dynamoResolver) ResolveNow(resolver.ResolveNowOptions) {}

func (r *dynamoResolver) Close() {
	r.cancel()
	_ = r.sub.Close() // has no error
	r.running.Wait()
}

// follow keeps up with the component, whatever the channel is doing.
func (r *dynamoResolver) follow() {
	defer close(r.changed)
	for ev := range r.sub.C() {
		r.apply(ev)
		select {
		case r.changed <- struct{}{}:
		default:
		}
	}
}

func (r *dynamoResolver) apply(ev runtime.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case ev.Type == runtime.Synced:
		r.synced = true
	case ev.Instance.Ready:
		r.ready[ev.Instance.ID] = r.endpoint(ev.Instance)
	default:
		delete(r.ready, ev.Instance.ID)
	}
}

// report tells the channel. All that happens while the channel takes in a state, which costs it something for each address,
// is in the next one.
func (r *dynamoResolver) report() {
	for range r.changed {
		if endpoints, known, synced := r.endpoints(); synced {
			r.tell(endpoints, known)
		}
	}
	if err := r.sub.Err(); err != nil {
		r.cc.ReportError(fmt.Errorf("instances of %s: %w", r.what, err))
	}
}

// endpoints returns those that can be dialled, and how many are ready.
func (r *dynamoResolver) endpoints() (endpoints []resolver.Endpoint, ready int, synced bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ids := slices.SortedFunc(maps.Keys(r.ready), func(a, b runtime.InstanceID) int {
		return cmp.Or(cmp.Compare(a.PodName, b.PodName), cmp.Compare(a.UID, b.UID))
	})
	endpoints = make([]resolver.Endpoint, 0, len(ids))
	for _, id := range ids {
		if e := r.ready[id]; len(e.Addresses) > 0 {
			endpoints = append(endpoints, e)
		}
	}
	return endpoints, len(ids), r.synced
}

// tell gives the channel all that there is. Its verdict is of no use: a watch has no other answer to offer.
func (r *dynamoResolver) tell(endpoints []resolver.Endpoint, ready int) {
	_ = r.cc.UpdateState(resolver.State{Endpoints: endpoints})
	if len(endpoints) > 0 {
		return
	}
	// Now that the old addresses are gone calls fail with this, if the balancer passes it on (pick_first does).
	switch {
	case ready == 0:
		r.cc.ReportError(fmt.Errorf("no instance of %s is ready", r.what))
	case r.config.Port != 0:
		r.cc.ReportError(fmt.Errorf("none of %d ready instances of %s has an address", ready, r.what))
	default:
		r.cc.ReportError(fmt.Errorf("none of %d ready instances of %s has an endpoint %q whose transport begins with HOST:PORT; "+
			"set Config.Endpoint or Config.Port", ready, r.what, r.config.Endpoint))
	}
}

// endpoint is where and who an instance is for gRPC.
func (r *dynamoResolver) endpoint(i runtime.Instance) resolver.Endpoint {
	out := resolver.Endpoint{Attributes: attributes.New(instanceKey{}, i.ID).WithValue(zoneKey{}, i.Zone)}
	if r.config.Port != 0 {
		for _, a := range i.Addresses {
			out.Addresses = append(out.Addresses, resolver.Address{Addr: net.JoinHostPort(a.String(), strconv.Itoa(int(r.config.Port)))})
		}
		return out
	}
	e, ok := i.Endpoint(r.config.Endpoint)
	if !ok {
		return out
	}
	addr := e.Transport.HostPort()
	if host, port, err := net.SplitHostPort(addr); err == nil && host != "" && port != "" {
		out.Addresses = []resolver.Address{{Addr: addr}}
	}
	return out
}

type (
	instanceKey struct{}
	zoneKey     struct{}
)

// InstanceOf is the instance that an endpoint stands for: a balancer reads it from resolver.Endpoint.Attributes.
func InstanceOf(a *attributes.Attributes) (runtime.InstanceID, bool) {
	id, ok := a.Value(instanceKey{}).(runtime.InstanceID)
	return id, ok
}

// ZoneOf is the zone that an endpoint's instance runs in; empty where it is not known.
func ZoneOf(a *attributes.Attributes) string {
	zone, _ := a.Value(zoneKey{}).(string)
	return zone
}
