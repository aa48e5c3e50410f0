package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ProbePath is what a Probe asks for; the server must answer 200 there.
const ProbePath = "/healthz"

// probeTimeout is short: the server under the probe is this very process.
const probeTimeout = 2 * time.Second

// Probe is the readiness of the server as the API server would find it: a TLS call to our own port under the name, and
// verified against the bundle, that stand in the webhook configurations now. What this process knows by itself counts
// for nothing.
type Probe struct {
	// Reader reads the configurations.
	Reader         client.Reader
	Configurations Configurations
	// Address is host and port of the server.
	Address string
}

// Check is a healthz.Checker. A configuration that does not exist is no obstacle: then nobody calls.
func (p *Probe) Check(req *http.Request) error {
	for _, c := range []configuration{{mutating, p.Configurations.Mutating}, {validating, p.Configurations.Validating}} {
		if c.name == "" {
			continue
		}
		_, hooks, err := read(req.Context(), p.Reader, c)
		if err != nil {
			return err
		}
		// Webhooks of one configuration nearly always share name and bundle: one call then.
		called := map[string]bool{}
		for _, h := range hooks {
			name, err := serverName(h)
			if err != nil {
				return fmt.Errorf("%s %s: %w", c.kind, c.name, err)
			}
			if id := name + "\x00" + string(h.client.CABundle); !called[id] {
				called[id] = true
				if err := p.call(req.Context(), name, h.client.CABundle); err != nil {
					return fmt.Errorf("call ourselves as webhook %s of %s %s: %w", h.name, c.kind, c.name, err)
				}
			}
		}
	}
	return nil
}

// serverName is the name that the API server expects in the certificate.
func serverName(h hook) (string, error) {
	if s := h.client.Service; s != nil {
		return s.Name + "." + s.Namespace + ".svc", nil
	}
	if h.client.URL == nil {
		return "", fmt.Errorf("webhook %s has neither a service nor a URL", h.name)
	}
	u, err := url.Parse(*h.client.URL)
	if err != nil {
		return "", fmt.Errorf("webhook %s: parse its URL: %w", h.name, err)
	}
	return u.Hostname(), nil
}

func (p *Probe) call(ctx context.Context, name string, bundle []byte) error {
	// As for the API server, no bundle means the system's roots.
	var roots *x509.CertPool
	if len(bundle) > 0 {
		roots = x509.NewCertPool()
		if !roots.AppendCertsFromPEM(bundle) {
			return fmt.Errorf("its caBundle holds no certificate")
		}
	}
	transport := &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{ServerName: name, RootCAs: roots, MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, p.Address)
		},
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+name+ProbePath, nil)
	if err != nil {
		return fmt.Errorf("make the request: %w", err)
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", ProbePath, resp.Status)
	}
	return nil
}
