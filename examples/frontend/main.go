// Command frontend follows a component, prints what happens to it as JSON lines, and sends POST /generate to its ready
// instances in turn. See README.md.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/kube"
	"github.com/dynawire/dynawire/pkg/wiring"
)

type options struct {
	namespace, component, endpoint string
	kubeconfig, kubeNamespace      string
	port                           int
	list                           bool
}

func main() {
	ctx, stop := runtime.UntilTerminated(context.Background())
	err := run(ctx, os.Stdout, os.Args[1:])
	stop()
	if err != nil {
		slog.New(slog.NewJSONHandler(os.Stderr, nil)).Error("frontend failed", "error", err)
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	var o options
	namespace := os.Getenv(wiring.EnvNamespace)
	if namespace == "" {
		namespace = wiring.DefaultNamespace
	}
	port := wiring.HTTPPort
	if n, err := strconv.Atoi(os.Getenv(wiring.EnvHTTPPort)); err == nil {
		port = n
	}
	flags := flag.NewFlagSet("frontend", flag.ContinueOnError)
	flags.StringVar(&o.namespace, "namespace", namespace, "Dynamo namespace of the component to follow (DYN_NAMESPACE)")
	flags.StringVar(&o.component, "component", "go-backend", "component to follow")
	flags.StringVar(&o.endpoint, "endpoint", wiring.DefaultEndpoint, "endpoint to send requests to")
	flags.IntVar(&o.port, "port", port, "HTTP port (DYN_HTTP_PORT)")
	flags.BoolVar(&o.list, "list", false, "print the instances and exit")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "outside a pod: how to reach the API server")
	flags.StringVar(&o.kubeNamespace, "kube-namespace", "", "outside a pod: the Kubernetes namespace to look in")
	err := flags.Parse(args)
	return o, err
}

// config is the zero one in a pod.
func (o options) config(log *slog.Logger) (kube.Config, error) {
	cfg := kube.Config{Logger: log}
	if o.kubeNamespace != "" {
		cfg.Identity = runtime.Identity{PodNamespace: o.kubeNamespace}
	}
	if o.kubeconfig == "" {
		return cfg, nil
	}
	var err error
	cfg.REST, err = clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	return cfg, err
}

func run(ctx context.Context, out io.Writer, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	cfg, err := o.config(slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	if err != nil {
		return err
	}
	d, err := kube.New(cfg)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	if o.list {
		return list(ctx, d, o, out)
	}
	return serve(ctx, d, o, out)
}

func list(ctx context.Context, d runtime.Discovery, o options, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	instances, err := d.ListInstances(ctx, o.namespace, o.component)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(out)
	for _, i := range instances {
		if err := enc.Encode(i); err != nil {
			return err
		}
	}
	return nil
}

func serve(ctx context.Context, d runtime.Discovery, o options, out io.Writer) error {
	enc := json.NewEncoder(out)
	routes, err := runtime.Follow(ctx, d, o.namespace, o.component, func(ev runtime.Event) {
		_ = enc.Encode(line(ev)) // nobody to tell
	})
	if err != nil {
		return err
	}
	defer func() { _ = routes.Close() }()
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", net.JoinHostPort("", strconv.Itoa(o.port)))
	if err != nil {
		return err
	}
	f := newFrontend(routes, o.endpoint)
	server := &http.Server{Handler: f.handler(), ReadHeaderTimeout: 5 * time.Second}
	serving := make(chan error, 1)
	go func() { serving <- server.Serve(listener) }()
	select {
	case err := <-serving:
		return fmt.Errorf("serve HTTP: %w", err)
	case <-ctx.Done():
	}
	f.stopping.Store(true)
	shutdown, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return server.Shutdown(shutdown)
}

// eventLine is an event as it is printed.
type eventLine struct {
	Type      runtime.EventType `json:"type"`
	Time      time.Time         `json:"time"`
	Instance  string            `json:"instance,omitempty"`
	Pod       string            `json:"pod,omitempty"`
	UID       string            `json:"uid,omitempty"`
	Ready     bool              `json:"ready"`
	Addresses []string          `json:"addresses,omitempty"`
	Transport string            `json:"transport,omitempty"`
}

func line(ev runtime.Event) eventLine {
	i := ev.Instance
	l := eventLine{Type: ev.Type, Time: ev.At, Pod: i.ID.PodName, UID: i.ID.UID, Ready: i.Ready}
	if ev.Type == runtime.Synced {
		return l
	}
	l.Instance = fmt.Sprintf("%x", i.ID.Number())
	for _, a := range i.Addresses {
		l.Addresses = append(l.Addresses, a.String())
	}
	if endpoints := i.Endpoints(); len(endpoints) > 0 {
		l.Transport = endpoints[0].Transport.Address
	}
	return l
}
