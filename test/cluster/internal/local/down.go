package local

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/dynawire/dynawire/test/cluster/internal/repo"
)

// Down ends every process of the cluster and removes all that it left on the
// machine, with its state. It works from the layout alone, so that a crash or
// state that is half gone does not keep it from anything.
func Down(ctx context.Context, paths repo.Paths, name string, out io.Writer) error {
	layout, err := NewLayout(paths, name)
	if err != nil {
		return err
	}
	c := &Cluster{Layout: layout, paths: paths, out: out}
	release, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := c.clear(ctx); err != nil {
		return err
	}
	c.removeEmpty()
	c.say("cluster %s is down", name)
	return nil
}

// clear removes all that the cluster has on this machine.
func (c *Cluster) clear(ctx context.Context) error {
	if err := c.killAll(ctx); err != nil {
		return err
	}
	if err := c.removeNamespaces(ctx); err != nil {
		return err
	}
	if err := c.removeCgroups(); err != nil {
		return err
	}
	for _, dir := range []string{c.Run, c.Data, c.State} {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove what cluster %s left: %w", c.Name, err)
		}
	}
	return nil
}

// killAll ends the kubelet first, so that nothing starts containers anew, then
// all other processes of the cluster, then those in its pods. They need no
// warning: nothing that they hold is kept.
func (c *Cluster) killAll(ctx context.Context) error {
	for _, find := range []func() ([]int, error){c.recorded("kubelet"), c.allRecorded, c.marked, c.inCgroups} {
		if err := kill(ctx, find); err != nil {
			return fmt.Errorf("end the processes of cluster %s: %w", c.Name, err)
		}
	}
	return nil
}

// removeEmpty removes the directories that clusters share, after the last one.
// A directory that something else uses is not empty, and stays.
func (c *Cluster) removeEmpty() {
	_ = os.Remove(filepath.Dir(c.Data))
	if os.Remove(filepath.Dir(c.Run)) != nil {
		return // another cluster has these mounted, or there was no node
	}
	for dir := range c.hostDirs() {
		_ = os.Remove(dir)
	}
}
