package local

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/dynawire/dynawire/test/cluster/internal/image"
	"github.com/dynawire/dynawire/test/cluster/internal/progress"
)

// digestLabel on an image in containerd says which archive it came from.
const digestLabel = "dynawire.io/config"

func (c *Cluster) containerdHealthy(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	_, err := c.ctr(ctx, "version")
	return err
}

// ctr talks to the cluster's containerd. A path is the same in every network
// namespace, so there is none to enter.
func (c *Cluster) ctr(ctx context.Context, args ...string) (string, error) {
	args = append([]string{"--address", c.containerdSocket(), "--namespace", "k8s.io"}, args...)
	out, err := exec.CommandContext(ctx, "ctr", args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("ctr %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}

// LoadImages imports image archives into the node, but for those that it has.
func (c *Cluster) LoadImages(ctx context.Context, archives []string) error {
	if err := c.RequireExists(); err != nil {
		return err
	}
	if c.state.ControlPlaneOnly {
		return fmt.Errorf("cluster %s has no node to load images into: it was brought up with --control-plane-only", c.Name)
	}
	if err := c.containerdHealthy(ctx); err != nil {
		return fmt.Errorf("containerd of cluster %s does not answer; `up --name %s` repairs it: %w", c.Name, c.Name, err)
	}
	for _, archive := range archives {
		if err := c.loadImage(ctx, archive); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) loadImage(ctx context.Context, archive string) error {
	info, err := image.ReadInfo(archive)
	if err != nil {
		return err
	}
	name := info.Reference()
	found, err := c.ctr(ctx, "images", "list", "-q", fmt.Sprintf("name==%q,labels.%q==%q", name, digestLabel, info.Config))
	if err != nil {
		return err
	}
	if strings.TrimSpace(found) != "" {
		c.say("image %s is loaded already", name)
		return nil
	}
	line := progress.Start(c.out, "loading image "+name)
	_, err = c.ctr(ctx, "images", "import", archive)
	if err == nil {
		_, err = c.ctr(ctx, "images", "label", name, digestLabel+"="+info.Config)
	}
	line.Done(err)
	return err
}

// ensurePauseImage loads the image of pod sandboxes, made from the pause binary.
func (c *Cluster) ensurePauseImage(ctx context.Context) error {
	found, err := c.ctr(ctx, "images", "list", "-q", fmt.Sprintf("name==%q", pauseImage))
	if err != nil || strings.TrimSpace(found) != "" {
		return err
	}
	archive := filepath.Join(c.State, "pause.tar")
	defer os.Remove(archive) //nolint:errcheck // it is removed with the state at the latest
	if err := image.WriteBinary(archive, strings.TrimPrefix(pauseImage, "docker.io/"), c.binary("pause"), io.Discard); err != nil {
		return err
	}
	return c.loadImage(ctx, archive)
}
