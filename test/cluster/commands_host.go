package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dynawire/dynawire/test/cluster/internal/build"
	"github.com/dynawire/dynawire/test/cluster/internal/local"
)

func newBuild(o *options) *cobra.Command {
	var envtest bool
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Build the binaries and print their directory",
		Long: `Builds the binaries that the cache lacks and prints the directory that holds them,
which is also what controller-runtime's envtest wants:

  export KUBEBUILDER_ASSETS=$(cluster build --envtest)`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			paths, err := o.paths()
			if err != nil {
				return err
			}
			set := build.Largest()
			if envtest {
				set = build.Envtest
			}
			dir, _, err := build.Ensure(cmd.Context(), paths, set, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), dir)
			return err
		},
	}
	cmd.Flags().BoolVar(&envtest, "envtest", false, "only etcd, kube-apiserver and kubectl")
	return cmd
}

func newDeps() *cobra.Command {
	var images bool
	cmd := &cobra.Command{
		Use:   "deps",
		Short: "Print the Debian packages that a node needs",
		Long: `Prints the Debian packages that a node needs, one per line:

  apt-get install --no-install-recommends -y $(cluster deps)`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list := local.NodeDependencies()
			if images {
				list = append(list, local.ImageDependencies()...)
			}
			var lines strings.Builder
			for _, dependency := range list {
				lines.WriteString(dependency.Package + "\n")
			}
			_, err := fmt.Fprint(cmd.OutOrStdout(), lines.String())
			return err
		},
	}
	cmd.Flags().BoolVar(&images, "images", false, "and those that `image dynamo` needs")
	return cmd
}

// newForward is what a cluster runs for its clients on the host.
func newForward() *cobra.Command {
	var listen, netns, to string
	cmd := &cobra.Command{
		Use:    local.ForwardCommand,
		Short:  "Pass connections on into a network namespace",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return local.Forward(cmd.Context(), listen, netns, to)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "", "address on this host")
	cmd.Flags().StringVar(&netns, "netns", "", "path of the network namespace")
	cmd.Flags().StringVar(&to, "to", "", "address inside it")
	return cmd
}
