package runtime_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/memory"
)

// A worker lives from registration to drain while a router follows it. In pods the two discoveries come from kube.New, and
// the worker's context from UntilTerminated.
func ExampleWorker_Run() {
	world := memory.NewWorld()
	inWorker, err := world.Start(runtime.Identity{PodName: "worker-0", PodNamespace: "llm", Namespace: "dynamo", Component: "backend"})
	if err != nil {
		panic(err)
	}
	inRouter, err := world.Start(runtime.Identity{PodName: "router-0", PodNamespace: "llm"})
	if err != nil {
		panic(err)
	}

	terminate := make(chan struct{})
	gone := make(chan struct{})
	routes, err := runtime.Follow(context.Background(), inRouter, "dynamo", "backend", func(ev runtime.Event) {
		fmt.Println("router:", ev.Type)
		switch ev.Type {
		case runtime.NewReady:
			close(terminate)
		case runtime.NotReady:
			close(gone)
		}
	})
	if err != nil {
		panic(err)
	}
	defer func() { _ = routes.Close() }()
	if err := routes.WaitSynced(context.Background()); err != nil {
		panic(err)
	}

	ctx, sigterm := context.WithCancel(context.Background())
	go func() {
		<-terminate
		sigterm()
	}()
	err = runtime.Worker{
		Registration: runtime.Registration{
			Endpoints: []runtime.RegisterEndpoint{{Name: "generate", Transport: runtime.TCP("192.0.2.7:8080")}},
		},
		Load: func(context.Context, runtime.Instance) error {
			fmt.Println("load the model")
			return nil
		},
		Serve: func(ctx context.Context, _ runtime.Instance) error {
			<-ctx.Done() // peers have noticed
			<-gone
			fmt.Println("finish what is under way")
			return nil
		},
		Drain:  -1,
		Logger: slog.New(slog.DiscardHandler),
	}.Run(ctx, inWorker)
	fmt.Println(err)
	// Output:
	// router: Synced
	// load the model
	// router: NewReady
	// router: NotReady
	// finish what is under way
	// <nil>
}

// A router sends a request to the ready instances in turn, and to the next one where an instance fails.
func ExampleFollow() {
	ctx := context.Background()
	world := memory.NewWorld()
	for _, name := range []string{"worker-0", "worker-1"} {
		d, err := world.Start(runtime.Identity{PodName: name, PodNamespace: "llm", Namespace: "dynamo", Component: "backend"})
		if err != nil {
			panic(err)
		}
		self, err := d.CreateInstance(ctx, runtime.Registration{
			Endpoints: []runtime.RegisterEndpoint{{Name: "generate", Transport: runtime.TCP(name + ".example:8080/1f/generate")}},
		})
		if err != nil {
			panic(err)
		}
		if err := d.SetStatus(ctx, self, runtime.StatusReady); err != nil {
			panic(err)
		}
	}
	d, err := world.Start(runtime.Identity{PodName: "router-0", PodNamespace: "llm"})
	if err != nil {
		panic(err)
	}
	routes, err := runtime.Follow(ctx, d, "dynamo", "backend", nil)
	if err != nil {
		panic(err)
	}
	defer func() { _ = routes.Close() }()
	waiting, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := routes.WaitSynced(waiting); err != nil { // it says why; to begin with whoever comes first, WaitReady
		panic(err)
	}
	for range 3 {
		for instance := range routes.InTurn() {
			e, _ := instance.Endpoint("generate")
			fmt.Println("call", e.Transport.HostPort())
			break // it answered
		}
	}
	// Output:
	// call worker-0.example:8080
	// call worker-1.example:8080
	// call worker-0.example:8080
}
