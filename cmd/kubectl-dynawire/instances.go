package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/dynawire/dynawire/internal/cli/instances"
	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/kube"
)

// askTimeout bounds what is asked once.
const askTimeout = 30 * time.Second

func newInstances() *cobra.Command {
	var at cluster
	var format string
	var watch bool
	c := &cobra.Command{
		Use:   "instances [NAMESPACE/COMPONENT…]",
		Short: "List the instances that discovery finds, or tell what happens to them",
		Long: `List the instances of components as pods on dynawire's library see them: pods of the component's
Service, joined with what they published about themselves. NAMESPACE and COMPONENT are Dynamo's;
COMPONENT alone is of the namespace "dynamo". Without arguments: all that the Kubernetes namespace
has, with -w also those that come later.

With -w: the ready instances first, then every change as it comes (NewReady, Ready, NotReady, Updated,
Deleted), until interrupted. With -o json one object for each event, in a line.

Nothing is listed that should be? kubectl dynawire diagnose NAMESPACE/COMPONENT`,
		Example: `  kubectl dynawire instances -n llm
  kubectl dynawire instances -n llm dynamo/backend -o wide
  kubectl dynawire instances -n llm backend -w`,
		RunE: func(c *cobra.Command, args []string) error {
			printer, err := instances.NewPrinter(c.OutOrStdout(), format)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			if watch {
				return at.watch(ctx, c.ErrOrStderr(), args, printer.Event)
			}
			ctx, cancel := context.WithTimeout(ctx, askTimeout)
			defer cancel()
			list, err := at.instances(ctx, c.ErrOrStderr(), args)
			if err != nil {
				return err
			}
			return printer.List(list)
		},
	}
	at.flags(c.Flags())
	c.Flags().StringVarP(&format, "output", "o", "", "wide, json or yaml; else a table")
	c.Flags().BoolVarP(&watch, "watch", "w", false, "tell what happens until interrupted")
	return c
}

// discovery is a client that looks at the cluster, and the components that were asked for: none for all.
func (c *cluster) discovery(args []string) (d *kube.Client, asked []instances.Component, all *instances.All, err error) {
	for _, arg := range args {
		one, err := instances.ParseComponent(arg)
		if err != nil {
			return nil, nil, nil, err
		}
		asked = append(asked, one)
	}
	config, namespace, err := c.connect()
	if err != nil {
		return nil, nil, nil, err
	}
	if all, err = instances.NewAll(config, namespace); err != nil {
		return nil, nil, nil, err
	}
	d, err = kube.New(kube.Config{REST: config, Identity: runtime.Identity{PodNamespace: namespace}})
	return d, asked, all, err
}

func (c *cluster) instances(ctx context.Context, stderr io.Writer, args []string) ([]runtime.Instance, error) {
	d, asked, all, err := c.discovery(args)
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }()
	if len(args) == 0 {
		if asked, err = all.List(ctx); err != nil {
			return nil, err
		}
		if len(asked) == 0 {
			return nil, errors.New(noComponent(d) + ": is this the right one (-n)? Ask kubectl dynawire diagnose about a pod or component")
		}
	}
	list, err := instances.List(ctx, d, asked)
	if err != nil {
		return nil, err
	}
	for _, one := range asked {
		if len(args) == 0 && len(list) > 0 {
			break // a frontend that only looks has none, and nobody asked about it
		}
		if !slices.ContainsFunc(list, func(i runtime.Instance) bool { return i.Namespace == one.Namespace && i.Component == one.Name }) {
			in := d.Identity().PodNamespace
			_, _ = fmt.Fprintf(stderr, "no instance of %s in the Kubernetes namespace %s; kubectl dynawire diagnose -n %s %s tells why.\n", one, in, in, one)
		}
	}
	return list, nil
}

func (c *cluster) watch(ctx context.Context, stderr io.Writer, args []string, tell func(runtime.Event) error) error {
	d, asked, all, err := c.discovery(args)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	if len(args) > 0 {
		return instances.Watch(ctx, d, instances.These(asked), tell)
	}
	return instances.Watch(ctx, d, func(ctx context.Context, tell func([]instances.Component)) error {
		return all.Follow(ctx, func(now []instances.Component) {
			if len(now) == 0 {
				_, _ = fmt.Fprintln(stderr, noComponent(d)+"; waiting for one.")
			}
			tell(now)
		})
	}, tell)
}

func noComponent(d *kube.Client) string {
	return "no component has a Service for discovery in the Kubernetes namespace " + d.Identity().PodNamespace
}
