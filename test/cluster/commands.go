package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/dynawire/dynawire/test/cluster/internal/local"
	"github.com/dynawire/dynawire/test/cluster/internal/repo"
)

// options are the flags that all commands share.
type options struct {
	cache string
	name  string
}

func (o *options) paths() (repo.Paths, error) {
	dir, err := os.Getwd()
	if err != nil {
		return repo.Paths{}, fmt.Errorf("find the working directory: %w", err)
	}
	return repo.Find(dir, o.cache)
}

func (o *options) open(cmd *cobra.Command) (*local.Cluster, error) {
	paths, err := o.paths()
	if err != nil {
		return nil, err
	}
	return local.Open(paths, o.name, cmd.ErrOrStderr())
}

func (o *options) addName(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&o.name, "name", "dynawire", "name of the cluster")
	return cmd
}

func newRootCommand() *cobra.Command {
	o := &options{}
	root := &cobra.Command{
		Use:   "cluster",
		Short: "A local Kubernetes, built from Go modules",
		Long: `Builds Kubernetes from the Go modules that go.mod pins and runs it on this machine:
etcd, API server, controller manager and scheduler, and on Linux as root a node
(kubelet, containerd, kube-proxy) in a network namespace of its own.

  cluster up                            build what is missing and start
  export KUBECONFIG=$(cluster kubeconfig)
  cluster image go --tag local/app:dev --output app.tar ./cmd/app
  cluster load-image app.tar
  cluster down                          stop and remove everything but the cache

What commands print for other programs goes to standard output, all else to
standard error. The exit status is 0 on success and 1 on failure.`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.PersistentFlags().StringVar(&o.cache, "cache-dir", "",
		"directory for binaries, images and clusters (default $"+repo.CacheEnv+", else .cache at the root of the checkout)")
	root.AddCommand(newUp(o), newDown(o), newStatus(o), newKubeconfig(o), newLoadImage(o), newBuild(o), newDeps(), newImage(o), newForward())
	return root
}
