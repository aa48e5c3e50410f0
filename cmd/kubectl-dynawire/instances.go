package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
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
has at the moment.

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
				return at.discover(ctx, args, func(d runtime.Discovery, all []instances.Component) error {
					return instances.Watch(ctx, d, all, printer.Event)
				})
			}
			ctx, cancel := context.WithTimeout(ctx, askTimeout)
			defer cancel()
			return at.discover(ctx, args, func(d runtime.Discovery, all []instances.Component) error {
				list, err := instances.List(ctx, d, all)
				if err != nil {
					return err
				}
				return printer.List(list)
			})
		},
	}
	at.flags(c.Flags())
	c.Flags().StringVarP(&format, "output", "o", "", "wide, json or yaml; else a table")
	c.Flags().BoolVarP(&watch, "watch", "w", false, "tell what happens until interrupted")
	return c
}

// discover finds the components that were asked for and looks at them with the library.
func (c *cluster) discover(ctx context.Context, args []string, f func(runtime.Discovery, []instances.Component) error) error {
	all := make([]instances.Component, 0, len(args))
	for _, arg := range args {
		one, err := instances.ParseComponent(arg)
		if err != nil {
			return err
		}
		all = append(all, one)
	}
	config, namespace, err := c.connect()
	if err != nil {
		return err
	}
	if len(all) == 0 {
		if all, err = instances.Components(ctx, config, namespace); err != nil {
			return err
		}
	}
	if len(all) == 0 {
		return errors.New("no component has a Service for discovery in the Kubernetes namespace " + namespace +
			": is this the right one (-n)? Ask kubectl dynawire diagnose about a pod or component")
	}
	d, err := kube.New(kube.Config{REST: config, Identity: runtime.Identity{PodNamespace: namespace}})
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	return f(d, all)
}
