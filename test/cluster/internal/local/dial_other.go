//go:build !linux

package local

import (
	"context"
	"errors"
	"net"
)

// dialIn connects to an address; there are no network namespaces here.
func dialIn(ctx context.Context, netns, address string) (net.Conn, error) {
	if netns != "" {
		return nil, errors.New("network namespaces need Linux")
	}
	return (&net.Dialer{KeepAlive: keepAlive}).DialContext(ctx, "tcp4", address)
}
