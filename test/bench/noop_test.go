//go:build bench

package bench_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// noopAddress tells the test's binary to be the no-op webhook, as a process of its own like the server that it is
// compared with.
const noopAddress = "DYNAWIRE_BENCH_NOOP"

// noopCertificate is the file of the certificate and the key.
const noopCertificate = "DYNAWIRE_BENCH_NOOP_CERTIFICATE"

// startNoop starts the no-op webhook and returns its URL and the CA bundle to trust.
func startNoop(t *testing.T) (url string, bundle []byte) {
	t.Helper()
	cert, key, err := certutil.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	require.NoError(t, err)
	file := t.TempDir() + "/noop.pem"
	require.NoError(t, os.WriteFile(file, append(cert, key...), 0o600))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	l.Close()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), noopAddress+"="+address, noopCertificate+"="+file)
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		require.NoError(t, c.Process.Kill())
		_ = c.Wait()
	})
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(cert))
	require.Eventually(t, func() bool {
		conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: roots, ServerName: "localhost"})
		if err == nil {
			conn.Close()
		}
		return err == nil
	}, 30*time.Second, 10*time.Millisecond)
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	return "https://localhost:" + port + "/", cert
}

// serveNoop is what cmd/webhook serves with, and nothing behind it.
func serveNoop(address string) error {
	log.SetLogger(logr.Discard())
	debug.SetGCPercent(50)
	file := os.Getenv(noopCertificate)
	cert, err := tls.LoadX509KeyPair(file, file)
	if err != nil {
		return err
	}
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return err
	}
	server := webhook.NewServer(webhook.Options{Host: host, Port: port, TLSOpts: []func(*tls.Config){func(c *tls.Config) {
		c.MinVersion = tls.VersionTLS13
		c.NextProtos = []string{"h2", "http/1.1"}
		c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &cert, nil }
	}}})
	server.Register("/", http.HandlerFunc(allow))
	return server.Start(context.Background())
}

// allow reads a review and answers that the object may pass.
func allow(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var review struct {
		Request struct {
			UID string `json:"uid"`
		} `json:"request"`
	}
	if err == nil {
		err = json.Unmarshal(body, &review)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":%q,"allowed":true}}`, review.Request.UID)
}
