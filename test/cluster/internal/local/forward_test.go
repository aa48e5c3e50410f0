package local

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// startForwarder forwards to the target and returns its own address.
func startForwarder(t *testing.T, target string) string {
	t.Helper()
	ports, err := freePorts(1)
	require.NoError(t, err)
	address := "127.0.0.1:" + strconv.Itoa(ports[0])
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Forward(ctx, address, "", target) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	require.Eventually(t, func() bool {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			return false
		}
		return conn.Close() == nil
	}, 5*time.Second, pollInterval)
	return address
}

func TestForwardPassesEachSidesEndOn(t *testing.T) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() { // reads to the end, and only then answers
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			said, _ := io.ReadAll(conn)
			_, _ = conn.Write(append([]byte("heard "), said...))
			_ = conn.Close()
		}
	}()
	conn, err := net.Dial("tcp4", startForwarder(t, listener.Addr().String()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = conn.Write([]byte("hello"))
	require.NoError(t, err)
	require.NoError(t, conn.(*net.TCPConn).CloseWrite())
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Equal(t, "heard hello", string(answer))
}

func TestForwardWithoutATargetClosesTheConnection(t *testing.T) {
	ports, err := freePorts(1)
	require.NoError(t, err)
	conn, err := net.Dial("tcp4", startForwarder(t, "127.0.0.1:"+strconv.Itoa(ports[0])))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(5*time.Second)))
	_, err = conn.Read(make([]byte, 1))
	require.Error(t, err)
	require.NotErrorIs(t, err, context.DeadlineExceeded)
}

func TestHTTPCheck(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer token" {
			http.Error(w, "who are you", http.StatusUnauthorized)
		}
	}))
	defer server.Close()
	require.NoError(t, httpCheck("", server.URL, "token")(t.Context()))
	require.ErrorContains(t, httpCheck("", server.URL, "")(t.Context()), "401 Unauthorized: who are you")
	server.Close()
	require.ErrorContains(t, httpCheck("", server.URL, "token")(t.Context()), "not answering")
}
