package local

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/dynawire/dynawire/test/cluster/internal/progress"
)

// component is one long-running program of a cluster.
type component struct {
	name string
	// enter is the command in front of argv that enters its namespaces.
	enter []string
	argv  []string
	// healthy says whether it does its work.
	healthy check
	// then, where set, is what the components after it rely on.
	then func(ctx context.Context) error
}

// settle is how long a component that runs but is not healthy may take before
// it is started anew: it may have been started a moment ago.
const settle = 15 * time.Second

// ensure leaves a healthy component alone and starts any other. It reports
// whether it started it.
func (c *Cluster) ensure(ctx context.Context, comp component) (bool, error) {
	if c.running(comp.name) != 0 {
		if comp.healthy(ctx) == nil {
			return false, nil
		}
		if c.settles(ctx, comp) {
			return false, nil
		}
		c.say("%s runs but is not well: starting it anew", comp.name)
		if err := kill(ctx, c.recorded(comp.name)); err != nil {
			return false, err
		}
	}
	line := progress.Start(c.out, "starting "+comp.name)
	err := c.start(ctx, comp)
	line.Done(err)
	return true, err
}

func (c *Cluster) settles(ctx context.Context, comp component) bool {
	ctx, cancel := context.WithTimeout(ctx, settle)
	defer cancel()
	for wait(ctx) == nil {
		if c.running(comp.name) == 0 {
			return false
		}
		if comp.healthy(ctx) == nil {
			return true
		}
	}
	return false
}

// start returns when the component is healthy, has ended, or time is up.
func (c *Cluster) start(ctx context.Context, comp component) error {
	argv := append(append([]string{}, comp.enter...), comp.argv...)
	p, err := c.launch(comp.name, argv)
	if err != nil {
		return err
	}
	for {
		unwell := comp.healthy(ctx)
		if unwell == nil {
			return nil
		}
		select {
		case <-p.exited:
			return c.failure(comp.name, "ended right after its start", nil)
		case <-ctx.Done():
			return c.failure(comp.name, "did not become healthy in time", unwell)
		case <-time.After(pollInterval):
		}
	}
}

// failure tells what a component said last, and where it said it.
func (l Layout) failure(component, what string, cause error) error {
	because := ""
	if cause != nil {
		because = ": " + cause.Error()
	}
	return fmt.Errorf("%s of cluster %s %s%s\nThe end of its log, %s:\n%s", component, l.Name, what, because,
		l.log(component), tail(l.log(component), 15))
}

func tail(file string, lines int) []byte {
	data, err := os.ReadFile(file)
	if err != nil {
		return []byte(err.Error())
	}
	all := bytes.SplitAfter(bytes.TrimRight(data, "\n"), []byte("\n"))
	return bytes.Join(all[max(0, len(all)-lines):], nil)
}
