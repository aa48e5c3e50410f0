package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/dynawire/dynawire/test/cluster/internal/local"
)

// Bounds of what commands wait for, where no flag says it.
const (
	downTimeout = 2 * time.Minute
	loadTimeout = 10 * time.Minute
)

func newUp(o *options) *cobra.Command {
	var up local.UpOptions
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a cluster, or repair what is missing of it",
		Long: `Builds the binaries that the cache lacks (minutes the first time), starts what does
not run, and returns when pods can be deployed. On a running cluster it does nothing.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := o.open(cmd)
			if err != nil {
				return err
			}
			if err := c.Up(cmd.Context(), up); err != nil {
				return err
			}
			_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "export KUBECONFIG=%s\n", c.Kubeconfig())
			return nil
		},
	}
	cmd.Flags().BoolVar(&up.ControlPlaneOnly, "control-plane-only", false, "no node: needs neither root nor Linux, and runs no pods")
	cmd.Flags().DurationVar(&up.Timeout, "timeout", 3*time.Minute, "how long the start may take, besides building binaries")
	return o.addName(cmd)
}

func newDown(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop a cluster and remove all of it",
		Long: `Ends every process of the cluster and removes its data, mounts, namespaces and cgroups,
also after a crash. Cached binaries and image archives stay.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			paths, err := o.paths()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), downTimeout)
			defer cancel()
			return local.Down(ctx, paths, o.name, cmd.ErrOrStderr())
		},
	}
	return o.addName(cmd)
}

func newStatus(o *options) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say how each component of a cluster is",
		Long:  `Says how each component is. Exits with 0 when all are well, else with 1.`,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "" && output != "json" {
				return fmt.Errorf("output format %q: use json, or none for a table", output)
			}
			c, err := o.open(cmd)
			if err != nil {
				return err
			}
			status, err := c.Status(cmd.Context())
			if err != nil {
				return err
			}
			if err := printStatus(cmd, output, status); err != nil {
				return err
			}
			if !status.Running {
				return fmt.Errorf("cluster %s is not well; `up --name %s` repairs it", c.Name, c.Name)
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "json for programs")
	return o.addName(cmd)
}

func printStatus(cmd *cobra.Command, output string, status local.Status) error {
	if output == "json" {
		encoder := json.NewEncoder(cmd.OutOrStdout())
		encoder.SetIndent("", "  ")
		return encoder.Encode(status)
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(w, "COMPONENT\tSTATE\tPID\tDETAIL\n")
	for _, s := range status.Components {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", s.Name, s.State, s.PID, strings.ReplaceAll(s.Detail, "\n", " "))
	}
	return w.Flush()
}

func newKubeconfig(o *options) *cobra.Command {
	var raw bool
	cmd := &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the path of a cluster's kubeconfig",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := o.open(cmd)
			if err != nil {
				return err
			}
			if err := c.RequireExists(); err != nil {
				return err
			}
			if !raw {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), c.Kubeconfig())
				return err
			}
			data, err := os.ReadFile(c.Kubeconfig())
			if err != nil {
				return fmt.Errorf("read the kubeconfig of cluster %s: %w", c.Name, err)
			}
			_, err = cmd.OutOrStdout().Write(data)
			return err
		},
	}
	cmd.Flags().BoolVar(&raw, "raw", false, "print the file's content instead")
	return o.addName(cmd)
}

func newLoadImage(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "load-image TAR...",
		Short: "Load image archives into a cluster's node",
		Long: `Imports docker-archives, such as "cluster image" writes, into the node's containerd.
Pods use them with imagePullPolicy: Never. An image that is loaded already is skipped.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, archives []string) error {
			c, err := o.open(cmd)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), loadTimeout)
			defer cancel()
			return c.LoadImages(ctx, archives)
		},
	}
	return o.addName(cmd)
}
