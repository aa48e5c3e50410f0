// Command cluster builds a local Kubernetes from Go modules, runs it on this
// machine, and makes the images that are tried on it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if err := run(); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// Where administrators' programs are (ip, iptables), also for a root shell without them.
	if err := os.Setenv("PATH", os.Getenv("PATH")+":/usr/local/sbin:/usr/sbin:/sbin"); err != nil {
		return fmt.Errorf("extend PATH: %w", err)
	}
	return newRootCommand().ExecuteContext(ctx)
}
