// Dynawire is hello with the library: it registers and follows a component.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/kube"
)

func main() {
	d, err := kube.New(kube.Config{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ctx := context.Background()
	routes, err := runtime.Follow(ctx, d, "dynamo", "backend", func(ev runtime.Event) { fmt.Println(ev.Type, ev.Instance.ID) })
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	defer func() { _ = routes.Close() }()
	err = runtime.Worker{
		Registration: runtime.Registration{Endpoints: []runtime.RegisterEndpoint{{Name: "generate", Transport: runtime.TCP("192.0.2.1:8080")}}},
		Serve: func(context.Context, runtime.Instance) error {
			return http.ListenAndServe(":8080", http.NotFoundHandler())
		},
	}.Run(ctx, d)
	fmt.Fprintln(os.Stderr, err)
}
