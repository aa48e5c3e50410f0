package kube_test

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/kube"
)

func load() {}

// ownAddress is where peers reach this process. The pod's specification sets POD_IP from the fieldRef status.podIP.
func ownAddress() string { return net.JoinHostPort(os.Getenv("POD_IP"), "8080") }

// A worker registers, loads its model, becomes ready, and leaves in good order.
func Example_worker() {
	ctx, stop := runtime.UntilTerminated(context.Background())
	d, err := kube.New(kube.Config{})
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Addr: ":8080", ReadHeaderTimeout: time.Second}
	err = runtime.Worker{
		Registration: runtime.Registration{
			Component: "backend",
			Endpoints: []runtime.RegisterEndpoint{{Name: "generate", Transport: runtime.TCP(ownAddress())}},
			Metadata:  []byte(`{"Model": {"name": "Qwen3-32B"}}`),
		},
		Load: func(context.Context, runtime.Instance) error {
			load()
			return nil
		},
		Serve: func(ctx context.Context, _ runtime.Instance) error {
			serving := make(chan error, 1)
			go func() { serving <- server.ListenAndServe() }()
			select {
			case err := <-serving:
				return err
			case <-ctx.Done(): // peers have noticed
				return server.Shutdown(context.WithoutCancel(ctx))
			}
		},
	}.Run(ctx, d)
	_ = d.Close()
	stop()
	switch {
	case errors.Is(err, runtime.ErrLabelMismatch), errors.Is(err, runtime.ErrNoService):
		log.Fatalf("nobody would find this pod: %v", err)
	case err != nil:
		log.Fatal(err)
	}
}

// The steps of a worker one by one, for programs with an order of their own.
func ExampleClient_CreateInstance() {
	worker := func(ctx context.Context) error {
		d, err := kube.New(kube.Config{})
		if err != nil {
			return err
		}
		defer func() { _ = d.Close() }()
		self, err := d.CreateInstance(ctx, runtime.Registration{
			Component: "backend",
			Endpoints: []runtime.RegisterEndpoint{{Name: "generate", Transport: runtime.TCP(ownAddress())}},
		})
		if err != nil {
			return err
		}
		load()
		if err := d.SetStatus(ctx, self, runtime.StatusReady); err != nil {
			return err
		}
		<-ctx.Done() // SIGTERM
		d.Health().Drain()
		time.Sleep(5 * time.Second) // requests still come until the peers have noticed
		return nil
	}
	if err := worker(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// A frontend keeps a table of the instances that it may route to.
func Example_frontend() {
	frontend := func(ctx context.Context) error {
		d, err := kube.New(kube.Config{})
		if err != nil {
			return err
		}
		defer func() { _ = d.Close() }()
		sub, err := d.Subscribe(ctx, "dynamo", "backend")
		if err != nil {
			return err
		}
		defer func() { _ = sub.Close() }()

		routes := map[runtime.InstanceID]string{}
		for ev, err := range sub.Events(ctx) {
			if err != nil {
				return err
			}
			switch ev.Type {
			case runtime.NewReady, runtime.Ready, runtime.Updated:
				if e, ok := ev.Instance.Endpoint("generate"); ok && ev.Instance.Ready {
					routes[ev.Instance.ID] = e.Transport.HostPort()
				}
			case runtime.NotReady, runtime.Deleted:
				delete(routes, ev.Instance.ID)
			case runtime.Synced:
				log.Printf("%d instances to begin with", len(routes))
			}
		}
		return nil
	}
	if err := frontend(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// A program with a mux of its own serves the kubelet's probes there.
func ExampleConfig_health() {
	health := runtime.NewHealth()
	mux := http.NewServeMux()
	mux.Handle("/health", health)
	mux.Handle("/live", health)
	d, err := kube.New(kube.Config{Health: health})
	if err != nil {
		log.Fatal(err)
	}
	_ = d.Close()
}

// Values that belong to no instance, such as a model card that all replicas share, go under a key.
func ExampleClient_WriteKV() {
	publish := func(ctx context.Context, d runtime.Discovery, card []byte) error {
		if err := d.WriteKV(ctx, "mdc/Qwen3-32B", card); err != nil { // no write where it is there already
			return err
		}
		kv, err := d.ReadKV(ctx, "mdc/Qwen3-32B")
		if err != nil {
			return err
		}
		err = d.WriteKV(ctx, kv.Key, card, runtime.IfVersion(kv.Version))
		if errors.Is(err, runtime.ErrConflict) {
			log.Print("another writer was faster")
		}
		return err
	}
	d, err := kube.New(kube.Config{})
	if err != nil {
		log.Fatal(err)
	}
	if err := publish(context.Background(), d, []byte(`{"display_name": "Qwen3-32B"}`)); err != nil {
		log.Print(err)
	}
	_ = d.Close()
}
