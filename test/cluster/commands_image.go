package main

import (
	"context"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/dynawire/dynawire/test/cluster/internal/image"
	"github.com/dynawire/dynawire/test/cluster/internal/local"
)

// imageTimeout bounds the making of one image, downloads included.
const imageTimeout = 30 * time.Minute

func newImage(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "image",
		Short: "Build image archives without a registry or a container engine",
		Args:  cobra.NoArgs,
	}
	cmd.AddCommand(newImageGo(o), newImageDynamo(o))
	return cmd
}

func newImageGo(o *options) *cobra.Command {
	var opts image.GoOptions
	cmd := &cobra.Command{
		Use:   "go PKGDIR...",
		Short: "Build an image of Go programs",
		Long: `Builds each package directory into a static program at the image's root, named as the
directory, and writes a docker-archive. A relative directory is one of the checkout,
from its root; an absolute one is built in the module that it is in:

  cluster image go --tag local/webhook:dev --output webhook.tar ./cmd/webhook
  cluster image go --tag local/app:dev --output app.tar ~/app/cmd/app`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, packages []string) error {
			paths, err := o.paths()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), imageTimeout)
			defer cancel()
			opts.Root, opts.Packages = paths.Root, packages
			return image.BuildGo(ctx, opts, cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVar(&opts.Entrypoint, "entrypoint", "", "program that the image runs (default the first)")
	return addImageFlags(cmd, &opts.Tag, &opts.Output)
}

func newImageDynamo(o *options) *cobra.Command {
	var opts image.DynamoOptions
	cmd := &cobra.Command{
		Use:   "dynamo",
		Short: "Build an image of a release of NVIDIA Dynamo",
		Long: `Makes a docker-archive of Debian with Python, Dynamo's own packages of a release and a
tiny model at /models/tiny, which dynamo.mocker can serve. Debian packages and
wheels come from where the host's apt and pip are configured to find them.

  cluster image dynamo --version 1.6.1 --tag local/dynamo:1.6.1 --output dynamo.tar`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := local.Require("an image of Dynamo", local.ImageDependencies()); err != nil {
				return err
			}
			paths, err := o.paths()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), imageTimeout)
			defer cancel()
			opts.Model = filepath.Join(paths.Module, "testdata", "tiny-model")
			return image.BuildDynamo(ctx, opts, image.Cache{Dir: paths.Layers(), Out: cmd.ErrOrStderr()})
		},
	}
	cmd.Flags().StringVar(&opts.Version, "version", "", "release of the packages ai-dynamo and ai-dynamo-runtime (required)")
	_ = cmd.MarkFlagRequired("version")
	return addImageFlags(cmd, &opts.Tag, &opts.Output)
}

func addImageFlags(cmd *cobra.Command, tag, output *string) *cobra.Command {
	cmd.Flags().StringVar(tag, "tag", "", "name of the image, as local/NAME:TAG (required)")
	cmd.Flags().StringVar(output, "output", "", "archive to write (required)")
	_ = cmd.MarkFlagRequired("tag")
	_ = cmd.MarkFlagRequired("output")
	return cmd
}
