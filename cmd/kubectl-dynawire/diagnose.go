package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dynawire/dynawire/internal/cli/diagnose"
	"github.com/dynawire/dynawire/internal/cli/encode"
	"github.com/dynawire/dynawire/internal/cli/instances"
	"github.com/dynawire/dynawire/pkg/runtime"
)

func newDiagnose() *cobra.Command {
	var at cluster
	var format, container string
	var exitCode bool
	c := &cobra.Command{
		Use:   "diagnose POD|[NAMESPACE/]COMPONENT",
		Short: "Tell why a pod or the instances of a component are found, or why not",
		Long: `Follow the way from a pod to the list of instances and tell where it ends: the pod's variables and
labels, the rights to look, the Service and its slices, readiness, metadata. Nothing is written.

What is asked about is a pod of that name, if there is one, else a component (NAMESPACE/COMPONENT are
Dynamo's names; COMPONENT alone is of the namespace "dynamo"). In container mode
(DYN_KUBE_DISCOVERY_MODE=container), where each container is an instance, it is the pod's container
that -c names, else the one that is called main, else the first in that mode.

A line begins with ok, warning, problem or unknown and the check's id; ">" is what to do. Where one
check is a problem, those after it may be consequences.`,
		Example: `  kubectl dynawire diagnose -n llm worker-6d5f7c9b8-abcde
  kubectl dynawire diagnose -n llm dynamo/backend
  kubectl dynawire diagnose -n llm backend -o json --exit-code   # 1 if there is a problem`,
		Args: onePodOrComponent,
		RunE: func(c *cobra.Command, args []string) error {
			write, err := diagnosisWriter(format)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(c.Context(), askTimeout)
			defer cancel()
			d, err := at.diagnose(ctx, c.ErrOrStderr(), args[0], container)
			if err != nil {
				return err
			}
			if err := write(c.OutOrStdout(), d); err != nil {
				return err
			}
			if _, problem := d.Cause(); problem && exitCode {
				return errFound
			}
			return nil
		},
	}
	at.flags(c.Flags())
	c.Flags().StringVarP(&container, "container", "c", "", "the container of the pod to ask about")
	c.Flags().StringVarP(&format, "output", "o", "text", "text, json or yaml")
	c.Flags().BoolVar(&exitCode, "exit-code", false, "exit with 1 if there is a problem")
	return c
}

func onePodOrComponent(c *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return fmt.Errorf("what to ask about is missing: a pod or a component: %s POD, or %s [NAMESPACE/]COMPONENT", c.CommandPath(), c.Name())
	case 1:
		return nil
	}
	return fmt.Errorf("one pod or component at a time, found %d: %q and %q", len(args), args[0], args[1])
}

func (c *cluster) diagnose(ctx context.Context, stderr io.Writer, name, container string) (runtime.Diagnosis, error) {
	component, notAComponent := instances.ParseComponent(name)
	config, namespace, err := c.connect()
	if err != nil {
		return runtime.Diagnosis{}, err
	}
	if !strings.Contains(name, "/") {
		d, of, found, err := diagnose.Pod(ctx, config, namespace, name, container)
		if len(of) > 0 {
			_, _ = fmt.Fprintf(stderr, "This is about container %s; -c asks about another of %s.\n", d.Container, strings.Join(of, ", "))
		}
		if found || err != nil {
			return d, err
		}
	}
	if container != "" {
		return runtime.Diagnosis{}, fmt.Errorf("-c asks about a container, but there is no pod %s in %s", name, namespace)
	}
	if notAComponent != nil {
		return runtime.Diagnosis{}, fmt.Errorf("no pod %s in %s, and as a component %w", name, namespace, notAComponent)
	}
	return diagnose.Component(ctx, config, namespace, component)
}

func diagnosisWriter(format string) (func(io.Writer, runtime.Diagnosis) error, error) {
	switch format {
	case "text":
		return func(w io.Writer, d runtime.Diagnosis) error {
			_, err := io.WriteString(w, d.String())
			return err
		}, nil
	case "json":
		return func(w io.Writer, d runtime.Diagnosis) error { return encode.JSON(w, d) }, nil
	case "yaml":
		return func(w io.Writer, d runtime.Diagnosis) error { return encode.YAML(w, d) }, nil
	}
	return nil, fmt.Errorf("output format %q is unknown: want text, json or yaml", format)
}
