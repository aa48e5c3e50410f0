package local

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/dynawire/dynawire/test/cluster/internal/lock"
	"github.com/dynawire/dynawire/test/cluster/internal/repo"
)

// ForwardCommand is the hidden command of this program that runs Forward.
const ForwardCommand = "forward"

// Cluster is one cluster of this machine. Its methods are for one goroutine; a
// lock keeps other processes from changing the same cluster.
type Cluster struct {
	Layout
	paths    repo.Paths
	out      io.Writer
	state    *State
	binaries string
}

// Open is the named cluster, whether it exists or not. What is being done is
// told to out.
func Open(paths repo.Paths, name string, out io.Writer) (*Cluster, error) {
	layout, err := NewLayout(paths, name)
	if err != nil {
		return nil, err
	}
	state, err := layout.loadState()
	if err != nil {
		return nil, err
	}
	return &Cluster{Layout: layout, paths: paths, out: out, state: state}, nil
}

// Exists reports whether the cluster was brought up and not down since.
func (c *Cluster) Exists() bool { return c.state != nil }

// RequireExists is the error of a command that needs the cluster.
func (c *Cluster) RequireExists() error {
	if c.Exists() {
		return nil
	}
	return fmt.Errorf("there is no cluster %q in %s: start it with `up --name %s`", c.Name, c.paths.Clusters(), c.Name)
}

// lock keeps other processes from changing the cluster.
func (c *Cluster) lock(ctx context.Context) (release func(), err error) {
	return lock.Acquire(ctx, c.lockFile(), func() {
		c.say("waiting for another command on cluster %s", c.Name)
	})
}

// hold takes the cluster's lock and reads its state again under it.
func (c *Cluster) hold(ctx context.Context) (release func(), err error) {
	if release, err = c.lock(ctx); err != nil {
		return nil, err
	}
	if c.state, err = c.loadState(); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

func (c *Cluster) say(format string, args ...any) {
	_, _ = fmt.Fprintf(c.out, format+"\n", args...)
}

func (c *Cluster) binary(name string) string { return filepath.Join(c.binaries, name) }

// components lists all of them in the order in which they start.
func (c *Cluster) components() ([]component, error) {
	list := c.controlPlane()
	if c.state.ControlPlaneOnly {
		return list, nil
	}
	forward, err := c.forwarder()
	if err != nil {
		return nil, err
	}
	return append(append(list, forward), c.node()...), nil
}
