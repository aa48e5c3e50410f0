package memory_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/discoverytest"
	"github.com/dynawire/dynawire/pkg/runtime/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pods is a World as the suite wants it.
type pods struct {
	world *memory.World
	byPod map[string]*memory.Client
}

func (p pods) Start(t testing.TB, pod discoverytest.Pod) runtime.Discovery {
	c, err := p.world.Start(runtime.Identity{
		PodName: pod.Name, PodNamespace: "llm", Namespace: pod.Namespace, Component: pod.Component,
	})
	require.NoError(t, err)
	p.byPod[pod.Name] = c
	return c
}

func (p pods) Terminate(_ testing.TB, name string) { p.byPod[name].Terminate() }
func (p pods) Delete(_ testing.TB, name string)    { p.byPod[name].Remove() }

func TestConformance(t *testing.T) {
	discoverytest.Run(t, func(*testing.T) discoverytest.World {
		return pods{memory.NewWorld(), map[string]*memory.Client{}}
	})
}

func TestNamesAreTakenWhileTheirPodIsThere(t *testing.T) {
	world := memory.NewWorld()
	id := runtime.Identity{PodName: "worker-0", PodNamespace: "llm"}
	first, err := world.Start(id)
	require.NoError(t, err)
	_, err = world.Start(id)
	require.ErrorContains(t, err, "pod llm/worker-0 (UID memory-1) is still there")
	first.Remove()
	second, err := world.Start(id)
	require.NoError(t, err)
	require.NotEqual(t, first.Identity().PodUID, second.Identity().PodUID)
	first.Remove() // a second time is none
	_, err = world.Start(id)
	require.ErrorContains(t, err, "is still there")
	_, err = world.Start(runtime.Identity{PodName: "worker-1"})
	require.ErrorContains(t, err, "PodNamespace is empty")
}

func ExampleWorld() {
	ctx := context.Background()
	world := memory.NewWorld()
	worker, err := world.Start(runtime.Identity{PodName: "worker-0", PodNamespace: "llm", Namespace: "dynamo", Component: "backend"})
	if err != nil {
		panic(err)
	}
	router, err := world.Start(runtime.Identity{PodName: "router-0", PodNamespace: "llm"})
	if err != nil {
		panic(err)
	}
	self, err := worker.CreateInstance(ctx, runtime.Registration{
		Endpoints: []runtime.RegisterEndpoint{{Name: "generate", Transport: runtime.TCP("192.0.2.7:8080")}},
	})
	if err != nil {
		panic(err)
	}
	if err := worker.SetStatus(ctx, self, runtime.StatusReady); err != nil {
		panic(err)
	}
	instances, err := router.ListInstances(ctx, "dynamo", "backend")
	if err != nil {
		panic(err)
	}
	for _, i := range instances {
		e, _ := i.Endpoint("generate")
		fmt.Println(i.ID, i.Ready, e.Transport.HostPort())
	}
	// Output: llm/worker-0 true 192.0.2.7:8080
}

// The replicas of a rollout all publish the same card at the same moment.
func TestSameValueOfAThousandWritersIsOneWrite(t *testing.T) {
	world := memory.NewWorld()
	clients := make([]*memory.Client, 10)
	for i := range clients {
		c, err := world.Start(runtime.Identity{PodName: fmt.Sprint("worker-", i), PodNamespace: "llm"})
		require.NoError(t, err)
		clients[i] = c
	}
	require.NoError(t, clients[0].WriteKV(t.Context(), "before", nil))
	before, err := clients[0].ReadKV(t.Context(), "before")
	require.NoError(t, err)
	var running sync.WaitGroup
	for i := range 1000 {
		running.Go(func() { assert.NoError(t, clients[i%len(clients)].WriteKV(context.Background(), "k", []byte("card"))) })
	}
	running.Wait()
	require.NoError(t, clients[0].WriteKV(t.Context(), "after", nil))
	after, err := clients[0].ReadKV(t.Context(), "after")
	require.NoError(t, err)
	versions := [2]int{}
	for i, kv := range []runtime.KV{before, after} {
		versions[i], err = strconv.Atoi(kv.Version)
		require.NoError(t, err)
	}
	assert.Equal(t, versions[0]+2, versions[1], "one write between the two")
}
