package runtime

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/dynawire/dynawire/pkg/wiring"
)

// HealthServer serves a Health on a port of its own.
type HealthServer struct {
	addr   net.Addr
	server *http.Server
	done   chan struct{}
	once   sync.Once
}

// AnyPort is any free one, for tests and for programs that no kubelet probes.
const AnyPort = 1 << 16

// StartHealthServer listens on the port, 0 for 9090, where dynawire's probe asks, on all addresses: the kubelet asks from
// outside the pod. It serves until Close.
func StartHealthServer(ctx context.Context, h *Health, port int) (*HealthServer, error) {
	switch port {
	case 0:
		port = wiring.SystemPort
	case AnyPort:
		port = 0
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", net.JoinHostPort("", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("listen for the readiness probe: %w; if the program serves that port itself, mount Health on its "+
			"mux, else give %s another port", err, wiring.EnvSystemPort)
	}
	s := &HealthServer{
		addr:   l.Addr(),
		server: &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second},
		done:   make(chan struct{}),
	}
	go func() {
		defer close(s.done)
		if err := s.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			_ = l.Close()
		}
	}()
	return s, nil
}

// Addr is where it listens.
func (s *HealthServer) Addr() net.Addr { return s.addr }

// Close stops serving and waits for it. Probes fail from then on.
func (s *HealthServer) Close() error {
	var err error
	s.once.Do(func() { err = s.server.Close() })
	<-s.done
	return err
}
