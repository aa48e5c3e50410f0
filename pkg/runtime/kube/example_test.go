package kube_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/kube"
)

func load() {}

// A worker registers, loads its model, becomes ready, and leaves in good order.
func Example_worker() {
	worker := func(ctx context.Context) error {
		d, err := kube.New(kube.Config{})
		if err != nil {
			return err
		}
		defer func() { _ = d.Close() }()
		self, err := d.CreateInstance(ctx, runtime.Registration{
			Component: "backend",
			Endpoints: []runtime.RegisterEndpoint{{Name: "generate", Transport: runtime.TCP("10.0.0.7:8080")}},
			Metadata:  []byte(`{"Model": {"name": "Qwen3-32B"}}`),
		})
		switch {
		case errors.Is(err, runtime.ErrLabelMismatch), errors.Is(err, runtime.ErrNoService):
			return fmt.Errorf("nobody would find this pod: %w", err)
		case err != nil:
			return err
		}
		load()
		if err := d.SetStatus(ctx, self, runtime.StatusReady); err != nil {
			return err
		}
		<-ctx.Done() // SIGTERM
		d.Health().Drain()
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
