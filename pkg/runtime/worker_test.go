package runtime_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/memory"
)

// diary is what happened, in order.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) note(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
}

func (d *diary) has(line string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Contains(d.lines, line)
}

func (d *diary) all() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.lines)
}

const soon = 10 * time.Second

// newWorkerWorld has a worker's client, and a router that keeps a diary of its events.
func newWorkerWorld(t *testing.T) (*memory.Client, *runtime.Routes, *diary) {
	t.Helper()
	world, d := memory.NewWorld(), &diary{}
	w, err := world.Start(runtime.Identity{PodName: "worker-0", PodNamespace: "llm", Namespace: "dynamo", Component: "backend"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.Close() })
	r, err := world.Start(runtime.Identity{PodName: "router-0", PodNamespace: "llm"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	routes, err := runtime.Follow(context.Background(), r, "dynamo", "backend", func(ev runtime.Event) { d.note(string(ev.Type)) })
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, routes.Close()) })
	<-routes.Synced()
	return w, routes, d
}

func worker(d *diary) runtime.Worker {
	return runtime.Worker{
		Registration: runtime.Registration{Endpoints: []runtime.RegisterEndpoint{{Name: "generate", Transport: runtime.TCP("192.0.2.1:80")}}},
		Load: func(context.Context, runtime.Instance) error {
			d.note("load")
			return nil
		},
		Serve: func(ctx context.Context, _ runtime.Instance) error {
			<-ctx.Done()
			d.note("served")
			return nil
		},
		Drain:  50 * time.Millisecond,
		Logger: slog.New(slog.DiscardHandler),
	}
}

func TestWorkerLivesInOrder(t *testing.T) {
	client, routes, d := newWorkerWorld(t)
	ctx, term := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- worker(d).Run(ctx, client) }()
	require.Eventually(t, func() bool { return len(routes.Ready()) == 1 }, soon, time.Millisecond)
	at := time.Now()
	term()
	require.Eventually(t, func() bool { return d.has("NotReady") }, soon, time.Millisecond)
	require.NoError(t, <-done)
	assert.GreaterOrEqual(t, time.Since(at), 50*time.Millisecond, "it goes on serving while peers notice")
	assert.Equal(t, []string{"Synced", "load", "NewReady", "NotReady", "served"}, d.all())
	assert.Empty(t, routes.Ready())
	assert.Len(t, routes.Snapshot().Instances, 1, "not ready is not gone")
}

func TestWorkerThatFails(t *testing.T) {
	broken := errors.New("broken")
	for name, tc := range map[string]struct {
		change func(w *runtime.Worker, term func())
		want   error
		events []string
	}{
		"to register": {func(w *runtime.Worker, _ func()) { w.Registration.Component = "other" }, runtime.ErrLabelMismatch, []string{"Synced"}},
		"to load": {func(w *runtime.Worker, _ func()) {
			w.Load = func(context.Context, runtime.Instance) error { return broken }
		}, broken, []string{"Synced", "served"}},
		"to serve while it loads": {func(w *runtime.Worker, _ func()) {
			w.Load = func(ctx context.Context, _ runtime.Instance) error { <-ctx.Done(); return ctx.Err() }
			w.Serve = func(context.Context, runtime.Instance) error { return broken }
		}, broken, []string{"Synced"}},
		"to serve once ready": {func(w *runtime.Worker, _ func()) {
			w.Load = nil
			w.Serve = func(context.Context, runtime.Instance) error { time.Sleep(50 * time.Millisecond); return broken }
		}, broken, []string{"Synced", "NewReady", "NotReady"}},
		"to live long enough": {func(w *runtime.Worker, term func()) {
			w.Load = func(ctx context.Context, _ runtime.Instance) error { term(); <-ctx.Done(); return ctx.Err() }
		}, nil, []string{"Synced", "served"}},
		"to finish": {func(w *runtime.Worker, term func()) {
			w.Load, w.Drain = func(context.Context, runtime.Instance) error { time.AfterFunc(50*time.Millisecond, term); return nil }, -1
			w.Serve = func(ctx context.Context, _ runtime.Instance) error { <-ctx.Done(); return broken }
		}, broken, []string{"Synced", "NewReady", "NotReady"}},
	} {
		t.Run(name, func(t *testing.T) {
			client, _, d := newWorkerWorld(t)
			ctx, term := context.WithCancel(t.Context())
			defer term()
			w := worker(d)
			tc.change(&w, term)
			err := w.Run(ctx, client)
			if tc.want == nil {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, tc.want)
			}
			require.Eventually(t, func() bool { return slices.Equal(tc.events, d.all()) }, soon, time.Millisecond, "%v", tc.events)
		})
	}
}

// terminated makes the test a process that is told to end and takes its time.
const terminated = "DYNAWIRE_TEST_TERMINATED"

func TestSecondSignalEndsTheProcess(t *testing.T) {
	if os.Getenv(terminated) != "" {
		ctx, stop := runtime.UntilTerminated(context.Background())
		defer stop()
		fmt.Println("serving")
		<-ctx.Done()
		fmt.Println("draining")
		time.Sleep(time.Minute)
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$") //nolint:gosec // this test
	cmd.Env = append(os.Environ(), terminated+"=yes")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	next := func() string {
		require.True(t, lines.Scan(), lines.Err())
		return lines.Text()
	}
	assert.Equal(t, "serving", next())
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	assert.Equal(t, "draining", next(), "the first is an end in good order")
	var again sync.WaitGroup
	again.Go(func() {
		for cmd.Process.Signal(syscall.SIGTERM) == nil { // the first signals may still be taken for the same one
			time.Sleep(20 * time.Millisecond)
		}
	})
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	again.Wait()
	assert.Equal(t, syscall.SIGTERM, exit.Sys().(syscall.WaitStatus).Signal())
}

// slowToRegister is one that waits for a Service.
type slowToRegister struct {
	runtime.Discovery
	waits chan struct{}
}

func (s slowToRegister) CreateInstance(ctx context.Context, _ runtime.Registration) (runtime.Instance, error) {
	close(s.waits)
	<-ctx.Done()
	return runtime.Instance{}, fmt.Errorf("wait for a service: %w", ctx.Err())
}

func TestWorkerThatIsToldToEndBeforeItIsRegistered(t *testing.T) {
	ctx, term := context.WithCancel(t.Context())
	s := slowToRegister{waits: make(chan struct{})}
	done := make(chan error, 1)
	go func() { done <- worker(&diary{}).Run(ctx, s) }()
	<-s.waits
	term()
	require.NoError(t, <-done)
}

func TestRoutesInTurn(t *testing.T) {
	world := memory.NewWorld()
	start := func(name string) (*memory.Client, runtime.Instance) {
		c, err := world.Start(runtime.Identity{PodName: name, PodNamespace: "llm", Namespace: "dynamo", Component: "backend"})
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		self, err := c.CreateInstance(t.Context(), runtime.Registration{})
		require.NoError(t, err)
		require.NoError(t, c.SetStatus(t.Context(), self, runtime.StatusReady))
		return c, self
	}
	a, aSelf := start("a")
	start("b")
	c, _ := start("c")
	routes, err := runtime.Follow(t.Context(), c, "dynamo", "backend", nil)
	require.NoError(t, err)
	<-routes.Synced()
	var firsts []string
	for range 6 {
		var order []string
		for i := range routes.InTurn() {
			order = append(order, i.ID.PodName)
		}
		assert.ElementsMatch(t, []string{"a", "b", "c"}, order)
		firsts = append(firsts, order[0])
	}
	assert.Equal(t, []string{"a", "b", "c", "a", "b", "c"}, firsts)
	for range routes.InTurn() {
		break
	}
	require.NoError(t, a.SetStatus(t.Context(), aSelf, runtime.StatusNotReady))
	require.Eventually(t, func() bool { return len(routes.Ready()) == 2 }, soon, time.Millisecond)
	require.NoError(t, c.Close())
	require.ErrorIs(t, routes.Wait(), runtime.ErrClosed)
	require.NoError(t, routes.Close())
}
