package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/dynawire/dynawire/test/cluster/internal/build"
	"github.com/dynawire/dynawire/test/cluster/internal/progress"
)

// UpOptions say what kind of cluster is wanted.
type UpOptions struct {
	// ControlPlaneOnly leaves out the node, and with it all need for root.
	ControlPlaneOnly bool
	// Timeout bounds everything but the building of binaries.
	Timeout time.Duration
}

// Up brings the cluster up, or repairs what is missing of it.
func (c *Cluster) Up(ctx context.Context, opts UpOptions) error {
	if !opts.ControlPlaneOnly {
		if err := checkNodeHost(); err != nil {
			return err
		}
	}
	set := build.Node
	if opts.ControlPlaneOnly {
		set = build.ControlPlane
	}
	binaries, versions, err := build.Ensure(ctx, c.paths, set, c.out)
	if err != nil {
		return err
	}
	c.binaries = binaries
	ctx, cancel := context.WithTimeoutCause(ctx, opts.Timeout, fmt.Errorf("cluster %s is not up after %s (--timeout)", c.Name, opts.Timeout))
	defer cancel()
	release, err := c.hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	began := time.Now()
	if err := c.prepare(ctx, opts, versions); err != nil {
		return err
	}
	started, err := c.startAll(ctx)
	if err != nil {
		return err
	}
	if started == 0 {
		c.say("cluster %s is running already", c.Name)
		return nil
	}
	c.say("cluster %s is up after %s", c.Name, progress.Elapsed(began))
	return nil
}

// prepare makes the files that the components read.
func (c *Cluster) prepare(ctx context.Context, opts UpOptions, versions build.Versions) error {
	switch {
	case c.state == nil:
		// What an earlier one may have left behind without its state.
		if err := c.clear(ctx); err != nil {
			return err
		}
		state, err := newState(opts.ControlPlaneOnly, versions.Kubernetes)
		if err != nil {
			return err
		}
		c.state = state
		if err := c.saveState(state); err != nil {
			return err
		}
	case c.state.ControlPlaneOnly != opts.ControlPlaneOnly:
		return fmt.Errorf("cluster %s exists %s: take it down first, or choose another --name", c.Name, kindOf(c.state.ControlPlaneOnly))
	case c.state.Kubernetes != versions.Kubernetes:
		return fmt.Errorf("cluster %s runs Kubernetes %s and go.mod now says %s: take it down first, or choose another --name",
			c.Name, c.state.Kubernetes, versions.Kubernetes)
	}
	if err := c.ensurePKI(); err != nil {
		return err
	}
	return c.writeConfig()
}

func kindOf(controlPlaneOnly bool) string {
	if controlPlaneOnly {
		return "as a control plane without a node"
	}
	return "with a node"
}

// startAll starts what does not run and returns how many that were.
func (c *Cluster) startAll(ctx context.Context) (started int, err error) {
	if !c.state.ControlPlaneOnly {
		if err := c.prepareNode(ctx); err != nil {
			return 0, err
		}
	}
	components, err := c.components()
	if err != nil {
		return 0, err
	}
	for _, comp := range components {
		fresh, err := c.ensure(ctx, comp)
		if err != nil {
			return started, err
		}
		if fresh {
			started++
		}
		if comp.then != nil {
			if err := comp.then(ctx); err != nil {
				return started, err
			}
		}
	}
	if started == 0 {
		return 0, nil
	}
	return started, c.waitUsable(ctx)
}

// prepareNode makes namespaces and cgroups. A namespace that had to be made means
// that what still runs is cut off in an old one: it ends, and all starts anew.
func (c *Cluster) prepareNode(ctx context.Context) error {
	created, err := c.ensureNamespaces(ctx)
	if err != nil {
		return err
	}
	if created {
		if err := c.killAll(ctx); err != nil {
			return err
		}
	}
	for _, dir := range []string{c.Run, filepath.Join(c.Data, "logs"), filepath.Join(c.Data, "volume-plugins")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make a directory of the node: %w", err)
		}
	}
	return c.ensureCgroups()
}

// waitUsable returns when a client can deploy: the namespace has its service
// account and the node takes pods.
func (c *Cluster) waitUsable(ctx context.Context) error {
	line := progress.Start(c.out, "waiting until pods can be deployed")
	err := c.poll(ctx, c.usable)
	line.Done(err)
	if err != nil && !c.state.ControlPlaneOnly {
		return c.failure("kubelet", "does not make the node ready", err)
	}
	return err
}

// poll repeats a check until it passes or time is up, and then says why.
func (c *Cluster) poll(ctx context.Context, ok check) error {
	for {
		err := ok(ctx)
		if err == nil {
			return nil
		}
		if late := wait(ctx); late != nil {
			return errors.Join(late, err)
		}
	}
}
