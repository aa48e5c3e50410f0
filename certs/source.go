// Package certs is where the webhook's serving certificate comes from, and how the API server learns to trust it.
//
// A Source serves the certificate and names the CAs that clients must trust; a Publisher writes those CAs into the
// webhook configurations; a Probe proves that what is served verifies against what is published.
package certs

import (
	"context"
	"crypto/tls"
	"sync"
)

// Source is where a serving certificate comes from. All methods may be called from any goroutine, before Start too.
type Source interface {
	// Start keeps the certificate and the bundle current until ctx ends. It returns nil then, and an error only when
	// it cannot go on.
	Start(ctx context.Context) error
	// GetCertificate is for tls.Config.GetCertificate. It fails until there is a certificate.
	GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Bundle is the PEM of every CA certificate that a client must trust now: more than one while one CA takes over
	// from another. It is nil until it is known, and must not be changed.
	Bundle() []byte
	// Changed is closed at the next change of the bundle. Ask for it before Bundle, or a change may be missed.
	Changed() <-chan struct{}
}

// bundle is the Bundle and Changed of a Source. The zero value is ready to use.
type bundle struct {
	mu      sync.Mutex
	pem     []byte
	changed chan struct{}
}

// Bundle implements Source.
func (b *bundle) Bundle() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pem
}

// Changed implements Source.
func (b *bundle) Changed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	return b.changed
}

// set replaces the bundle and wakes who waits for a change.
func (b *bundle) set(pem []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if string(b.pem) == string(pem) {
		return
	}
	b.pem = pem
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}
