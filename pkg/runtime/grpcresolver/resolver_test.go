package grpcresolver_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
	"google.golang.org/grpc/status"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/grpcresolver"
	"github.com/dynawire/dynawire/pkg/runtime/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 10 * time.Second

// grpcServer listens on an address of the loopback and answers health checks.
func grpcServer(t *testing.T, address string) string {
	t.Helper()
	l, err := net.Listen("tcp", address)
	require.NoError(t, err)
	s := grpc.NewServer()
	healthpb.RegisterHealthServer(s, health.NewServer())
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return l.Addr().String()
}

type worker struct {
	*memory.Client
	self runtime.Instance
}

func newWorker(t *testing.T, world *memory.World, name string, transport runtime.Transport) *worker {
	t.Helper()
	c, err := world.Start(runtime.Identity{PodName: name, PodNamespace: "llm", Namespace: "dynamo", Component: "backend"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	self, err := c.CreateInstance(t.Context(), runtime.Registration{
		Endpoints: []runtime.RegisterEndpoint{{Name: "generate", Transport: transport}},
	})
	require.NoError(t, err)
	return &worker{c, self}
}

func (w *worker) set(t *testing.T, s runtime.Status) {
	t.Helper()
	require.NoError(t, w.SetStatus(t.Context(), w.self, s))
}

func router(t *testing.T, world *memory.World) runtime.Discovery {
	t.Helper()
	c, err := world.Start(runtime.Identity{PodName: "router", PodNamespace: "llm"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func dial(t *testing.T, d runtime.Discovery, balancer string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("dynamo:///dynamo/backend",
		grpc.WithResolvers(grpcresolver.New(d, grpcresolver.Config{})),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"`+balancer+`":{}}]}`))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// call returns who answered.
func call(ctx context.Context, conn *grpc.ClientConn, opts ...grpc.CallOption) (string, error) {
	var who peer.Peer
	_, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{}, append(opts, grpc.Peer(&who))...)
	if err != nil {
		return "", err
	}
	return who.Addr.String(), nil
}

func TestCallsFollowTheReadyInstances(t *testing.T) {
	for _, balancer := range []string{"round_robin", "pick_first"} {
		t.Run(balancer, func(t *testing.T) {
			world := memory.NewWorld()
			a, b := grpcServer(t, "127.0.0.1:0"), grpcServer(t, "127.0.0.1:0")
			first := newWorker(t, world, "worker-0", runtime.TCP(a+"/1f/generate"))
			second := newWorker(t, world, "worker-1", runtime.TCP(b))
			first.set(t, runtime.StatusReady)
			conn := dial(t, router(t, world), balancer)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			who, err := call(ctx, conn)
			require.NoError(t, err)
			assert.Equal(t, a, who)

			second.set(t, runtime.StatusReady)
			first.set(t, runtime.StatusNotReady)
			require.Eventually(t, func() bool { who, err := call(ctx, conn); return err == nil && who == b }, patience, time.Millisecond)

			second.set(t, runtime.StatusNotReady)
			require.Eventually(t, func() bool {
				_, err := call(ctx, conn)
				return status.Code(err) == codes.Unavailable
			}, patience, time.Millisecond, "none is ready: the old addresses are not held on to")
			_, err = call(ctx, conn)
			if balancer == "pick_first" { // round_robin has words of its own
				assert.ErrorContains(t, err, "no instance of dynamo/backend is ready")
			}

			// A call that waits is answered when one is there again.
			time.AfterFunc(50*time.Millisecond, func() { first.set(t, runtime.StatusReady) })
			who, err = call(ctx, conn, grpc.WaitForReady(true))
			require.NoError(t, err)
			assert.Equal(t, a, who)
		})
	}
}

func TestCallsGoToAllInTurn(t *testing.T) {
	world := memory.NewWorld()
	seen := map[string]bool{}
	for _, name := range []string{"worker-0", "worker-1", "worker-2"} {
		newWorker(t, world, name, runtime.TCP(grpcServer(t, "127.0.0.1:0"))).set(t, runtime.StatusReady)
	}
	conn := dial(t, router(t, world), "round_robin")
	require.Eventually(t, func() bool {
		who, err := call(t.Context(), conn)
		seen[who] = err == nil
		return len(seen) == 3
	}, patience, time.Millisecond)
}

// unsynced is a discovery whose first synchronisation is the test's to make.
type unsynced struct {
	runtime.Discovery
	table *runtime.Table
}

func (u unsynced) Subscribe(context.Context, string, string, ...runtime.SubscribeOption) (*runtime.Subscription, error) {
	return u.table.Subscribe(nil)
}

func TestNotSyncedIsNotEmpty(t *testing.T) {
	u := unsynced{table: runtime.NewTable(nil)}
	conn := dial(t, u, "round_robin")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := call(ctx, conn)
	assert.Equal(t, codes.DeadlineExceeded, status.Code(err), "nothing is known yet: the call waits")

	u.table.MarkSynced()
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		_, err := call(ctx, conn)
		return status.Code(err) == codes.Unavailable
	}, patience, time.Millisecond, "there is none: the call fails")
	u.table.Close(runtime.ErrClosed)
}

// recorder is the channel's side.
type recorder struct {
	resolver.ClientConn
	mu     sync.Mutex
	states []resolver.State
	errs   []error
}

func (r *recorder) UpdateState(s resolver.State) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.states = append(r.states, s)
	return nil
}

func (r *recorder) ReportError(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, err)
}

func (r *recorder) ParseServiceConfig(string) *serviceconfig.ParseResult { return nil }

func (r *recorder) last() (resolver.State, int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.states) == 0 {
		return resolver.State{}, 0
	}
	return r.states[len(r.states)-1], len(r.states)
}

func (r *recorder) errors() (n int, last error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.errs) == 0 {
		return 0, nil
	}
	return len(r.errs), r.errs[len(r.errs)-1]
}

func build(t *testing.T, d runtime.Discovery, c grpcresolver.Config, target string) (*recorder, resolver.Resolver, error) {
	t.Helper()
	var parsed resolver.Target
	u, err := parsed.URL.Parse(target)
	require.NoError(t, err)
	parsed.URL = *u
	rec := &recorder{}
	r, err := grpcresolver.New(d, c).Build(parsed, rec, resolver.BuildOptions{})
	return rec, r, err
}

func TestEndpointsSayWhoTheyAre(t *testing.T) {
	table := runtime.NewTable(nil)
	rec, r, err := build(t, unsynced{table: table}, grpcresolver.Config{Port: 9000}, "dynamo:///dynamo/backend")
	require.NoError(t, err)
	id := runtime.InstanceID{Namespace: "llm", PodName: "worker-0", UID: "uid-0"}
	table.Apply(runtime.Change{Instance: &runtime.Instance{
		ID: id, Namespace: "dynamo", Component: "backend", Ready: true, Zone: "zone-a",
		Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")},
	}}, runtime.Change{Instance: &runtime.Instance{
		ID: runtime.InstanceID{Namespace: "llm", PodName: "worker-1", UID: "uid-1"}, Namespace: "dynamo", Component: "backend", Ready: true,
	}})
	_, n := rec.last()
	assert.Zero(t, n, "not synced")
	table.MarkSynced()
	require.Eventually(t, func() bool { _, n := rec.last(); return n > 0 }, patience, time.Millisecond)
	state, _ := rec.last()
	require.Len(t, state.Endpoints, 1, "one without an address is left out")
	e := state.Endpoints[0]
	assert.Equal(t, []resolver.Address{{Addr: "192.0.2.1:9000"}, {Addr: "[2001:db8::1]:9000"}}, e.Addresses)
	got, ok := grpcresolver.InstanceOf(e.Attributes)
	assert.True(t, ok)
	assert.Equal(t, id, got)
	assert.Equal(t, "zone-a", grpcresolver.ZoneOf(e.Attributes))
	r.ResolveNow(resolver.ResolveNowOptions{})
	r.Close()
	assert.Empty(t, rec.errs, "closing is no error")
}

// busy is a channel that takes its time with each state, as one of thousands of addresses does.
type busy struct {
	*recorder
	updates chan struct{} // one for each that may go on
}

func (b busy) UpdateState(s resolver.State) error {
	err := b.recorder.UpdateState(s)
	<-b.updates
	return err
}

func TestWhatHappensMeanwhileIsToldAtOnce(t *testing.T) {
	table := runtime.NewTable(nil)
	table.MarkSynced()
	target := resolver.Target{}
	u, err := target.URL.Parse("dynamo:///dynamo/backend")
	require.NoError(t, err)
	target.URL = *u
	cc := busy{&recorder{}, make(chan struct{})}
	r, err := grpcresolver.New(unsynced{table: table}, grpcresolver.Config{Port: 9000}).Build(target, cc, resolver.BuildOptions{})
	require.NoError(t, err)
	told := func() int { _, n := cc.last(); return n }
	require.Eventually(t, func() bool { return told() == 1 }, patience, time.Millisecond)
	const workers = 500
	for n := range workers {
		name := fmt.Sprintf("worker-%03d", n)
		table.Apply(runtime.Change{Instance: &runtime.Instance{
			ID: runtime.InstanceID{Namespace: "llm", PodName: name, UID: name}, Namespace: "dynamo", Component: "backend", Ready: true,
			Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.1")},
		}})
	}
	time.Sleep(100 * time.Millisecond) // the resolver hears of them while the channel is at work
	close(cc.updates)
	require.Eventually(t, func() bool { s, _ := cc.last(); return len(s.Endpoints) == workers }, patience, time.Millisecond)
	assert.Less(t, told(), 5, "not once for each")
	r.Close()
}

func TestTransportsThatAreNoAddressAreLeftOut(t *testing.T) {
	world := memory.NewWorld()
	newWorker(t, world, "nats", runtime.Transport{Kind: "nats_tcp", Address: "dynamo.backend.generate"}).set(t, runtime.StatusReady)
	good := newWorker(t, world, "good", runtime.TCP("192.0.2.1:9000/1f/generate"))
	good.set(t, runtime.StatusReady)
	d := router(t, world)
	rec, r, err := build(t, d, grpcresolver.Config{}, "dynamo:///dynamo/backend")
	require.NoError(t, err)
	defer r.Close()
	require.Eventually(t, func() bool { _, n := rec.last(); return n > 0 }, patience, time.Millisecond)
	state, _ := rec.last()
	require.Len(t, state.Endpoints, 1)
	assert.Equal(t, "192.0.2.1:9000", state.Endpoints[0].Addresses[0].Addr)

	good.Remove()
	require.Eventually(t, func() bool { n, _ := rec.errors(); return n == 1 }, patience, time.Millisecond)
	state, _ = rec.last()
	assert.Empty(t, state.Endpoints)
	_, last := rec.errors()
	require.ErrorContains(t, last, `none of 1 ready instances of dynamo/backend has an endpoint "generate"`)
	require.NoError(t, d.Close())
	require.Eventually(t, func() bool { _, last := rec.errors(); return errors.Is(last, runtime.ErrClosed) }, patience, time.Millisecond)
}

func TestTargets(t *testing.T) {
	d := router(t, memory.NewWorld())
	for target, says := range map[string]string{
		"dynamo:///backend":          "want dynamo:///NAMESPACE/COMPONENT",
		"dynamo://host/dynamo/b":     "want dynamo:///NAMESPACE/COMPONENT",
		"dynamo:///dynamo/backend/x": "cannot be a label value",
		"dynamo:///dynamo/":          "no component is given",
	} {
		_, _, err := build(t, d, grpcresolver.Config{}, target)
		require.ErrorContains(t, err, says, target)
	}
}
