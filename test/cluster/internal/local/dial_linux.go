package local

import (
	"context"
	"fmt"
	"net"
	"runtime"

	"golang.org/x/sys/unix"
)

// dialIn connects to an address as it is inside a network namespace; the empty
// namespace is this process's own.
func dialIn(ctx context.Context, netns, address string) (net.Conn, error) {
	dialer := &net.Dialer{KeepAlive: keepAlive}
	if netns == "" {
		return dialer.DialContext(ctx, "tcp4", address)
	}
	type result struct {
		conn net.Conn
		err  error
	}
	done := make(chan result, 1)
	go func() {
		// Never unlocked: the thread ends with the goroutine, and with it the
		// only trace of the other namespace. The socket stays in it.
		runtime.LockOSThread()
		if err := enterNetns(netns); err != nil {
			done <- result{err: err}
			return
		}
		conn, err := dialer.DialContext(ctx, "tcp4", address)
		done <- result{conn, err}
	}()
	r := <-done
	return r.conn, r.err
}

func enterNetns(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open network namespace %s: %w", path, err)
	}
	defer unix.Close(fd) //nolint:errcheck // opened for reading only
	if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter network namespace %s: %w", path, err)
	}
	return nil
}
