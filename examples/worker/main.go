// Command worker is a Dynamo worker in Go: it registers an endpoint, "loads a model", becomes ready and answers POST
// /generate. See README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/kube"
)

type options struct {
	namespace, component, endpoint string
	port                           int
	model                          string
	loadTime, drainTime            time.Duration
}

func main() {
	log := slog.New(slog.NewJSONHandler(os.Stdout, nil))
	ctx, stop := runtime.UntilTerminated(context.Background())
	err := run(ctx, log, os.Args[1:])
	stop()
	if err != nil {
		log.Error("worker failed", "error", err)
		os.Exit(1)
	}
}

func parse(args []string, id runtime.Identity) (options, error) {
	var o options
	flags := flag.NewFlagSet("worker", flag.ContinueOnError)
	flags.StringVar(&o.namespace, "namespace", id.Namespace, "Dynamo namespace (DYN_NAMESPACE)")
	flags.StringVar(&o.component, "component", id.Component, "component (DYN_COMPONENT)")
	flags.StringVar(&o.endpoint, "endpoint", id.Endpoint, "endpoint (DYN_ENDPOINT)")
	flags.IntVar(&o.port, "port", 8080, "port of /generate; 0 for any")
	flags.StringVar(&o.model, "model", "echo", "name of the model in answers and metadata")
	flags.DurationVar(&o.loadTime, "load-time", 2*time.Second, "how long the model takes to load")
	flags.DurationVar(&o.drainTime, "drain-time", 5*time.Second, "how long to go on serving after SIGTERM while peers notice")
	err := flags.Parse(args)
	return o, err
}

func run(ctx context.Context, log *slog.Logger, args []string) error {
	id, err := runtime.IdentityFromEnv()
	if err != nil {
		return err
	}
	o, err := parse(args, id)
	if err != nil {
		return err
	}
	d, err := kube.New(kube.Config{Identity: id, Logger: log})
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()

	// Bind first: the port goes into the metadata.
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", net.JoinHostPort("", strconv.Itoa(o.port)))
	if err != nil {
		return err
	}
	host, err := ownAddress()
	if err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	number := id.InstanceID().Number()
	w := &worker{discovery: d, model: o.model, log: log}
	life := runtime.Worker{
		Registration: runtime.Registration{
			Namespace: o.namespace,
			Component: o.component,
			Endpoints: []runtime.RegisterEndpoint{{
				Name: o.endpoint,
				// The form of Dynamo's TCP transport. Our frontend speaks HTTP to HOST:PORT; Dynamo's would speak its own protocol.
				Transport: runtime.TCP(fmt.Sprintf("%s/%x/%s", net.JoinHostPort(host, port), number, o.endpoint)),
			}},
			Metadata: fmt.Appendf(nil, `{"Model":{"name":%q}}`, o.model),
		},
		Load:   func(ctx context.Context, _ runtime.Instance) error { return w.load(ctx, o.loadTime) },
		Serve:  func(ctx context.Context, self runtime.Instance) error { return w.serve(ctx, self, listener) },
		Drain:  o.drainTime,
		Logger: log,
	}
	return life.Run(ctx, d)
}

// ownAddress is the pod's: the first that is not the loopback's.
func ownAddress() (string, error) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return "", err
	}
	for _, a := range addrs {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.IsGlobalUnicast() {
			return ip.IP.String(), nil
		}
	}
	return "", errors.New("no address but the loopback's")
}
