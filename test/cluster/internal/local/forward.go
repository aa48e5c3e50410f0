package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

const (
	keepAlive   = 30 * time.Second
	dialTimeout = 10 * time.Second
)

// Forward accepts connections on an address of this host and passes each on to
// an address inside a network namespace, until the context ends.
func Forward(ctx context.Context, listen, netns, target string) error {
	listener, err := (&net.ListenConfig{KeepAlive: keepAlive}).Listen(ctx, "tcp4", listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", listen, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	var open sync.WaitGroup
	defer open.Wait()
	for {
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil { // out of file descriptors, say: better late than gone
			if wait(ctx) != nil {
				return nil
			}
			continue
		}
		open.Go(func() { forwardOne(ctx, conn.(*net.TCPConn), netns, target) })
	}
}

// forwardOne copies both ways. When one side has said all, the other is told so
// and may go on talking; when one side is gone, both are.
func forwardOne(ctx context.Context, client *net.TCPConn, netns, target string) {
	defer client.Close() //nolint:errcheck // nothing is left to be said
	dialCtx, cancel := context.WithTimeout(ctx, dialTimeout)
	conn, err := dialIn(dialCtx, netns, target)
	cancel()
	if err != nil {
		return // closing the connection is what a refused one looks like
	}
	server := conn.(*net.TCPConn)
	defer server.Close() //nolint:errcheck // nothing is left to be said
	stop := context.AfterFunc(ctx, func() { _, _ = client.Close(), server.Close() })
	defer stop()
	var halves sync.WaitGroup
	halves.Go(func() { copyHalf(server, client) })
	halves.Go(func() { copyHalf(client, server) })
	halves.Wait()
}

func copyHalf(to, from *net.TCPConn) {
	if _, err := io.Copy(to, from); err != nil {
		_, _ = from.Close(), to.Close()
		return
	}
	_ = to.CloseWrite()
}
