package local

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// usable says what a client would still miss.
func (c *Cluster) usable(ctx context.Context) error {
	if _, err := c.kubectl(ctx, "get", "serviceaccount", "default", "-n", "default", "-o", "name"); err != nil {
		return err
	}
	if c.state.ControlPlaneOnly {
		return nil
	}
	ready, err := c.kubectl(ctx, "get", "node", c.nodeName(), "-o",
		`jsonpath={.status.conditions[?(@.type=="Ready")].status} {.status.conditions[?(@.type=="Ready")].message}`)
	if err != nil {
		return err
	}
	if status, message, _ := strings.Cut(ready, " "); status != "True" {
		return fmt.Errorf("node %s is not ready: %s", c.nodeName(), message)
	}
	// A node keeps this taint for a moment after it became ready.
	taints, err := c.kubectl(ctx, "get", "node", c.nodeName(), "-o", "jsonpath={.spec.taints[*].key}")
	if err != nil {
		return err
	}
	if taints != "" {
		return fmt.Errorf("node %s is still tainted %s", c.nodeName(), taints)
	}
	return nil
}

// kubectl asks the cluster as the host's admin and returns what it prints.
func (c *Cluster) kubectl(ctx context.Context, args ...string) (string, error) {
	args = append([]string{"--kubeconfig", c.Kubeconfig(), "--request-timeout=5s"}, args...)
	cmd := exec.CommandContext(ctx, c.binary("kubectl"), args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(stdout.String()), nil
}
