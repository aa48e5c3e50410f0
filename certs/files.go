package certs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	cmtls "github.com/cert-manager/cert-manager/pkg/server/tls"
	"golang.org/x/sync/errgroup"
)

// fileInterval is how often files are read again: a mounted Secret takes the kubelet about a minute anyway.
const fileInterval = 10 * time.Second

// Files is a Source that reads tls.crt, tls.key and ca.crt from a directory, as cert-manager's Certificate fills it. A
// missing ca.crt leaves the bundle unknown: then somebody else publishes it.
type Files struct {
	bundle
	ca       string
	leaf     *cmtls.FileCertificateSource
	interval time.Duration
}

var _ Source = (*Files)(nil)

// NewFiles makes a source for a directory; nothing is read before Start.
func NewFiles(dir string) *Files {
	return &Files{
		ca: filepath.Join(dir, caKey),
		leaf: &cmtls.FileCertificateSource{
			CertPath:       filepath.Join(dir, "tls.crt"),
			KeyPath:        filepath.Join(dir, "tls.key"),
			UpdateInterval: fileInterval,
		},
		interval: fileInterval,
	}
}

// GetCertificate implements Source.
func (f *Files) GetCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	return f.leaf.GetCertificate(hello)
}

// Start implements Source.
func (f *Files) Start(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return f.leaf.Start(ctx) })
	group.Go(func() error {
		ticker := time.NewTicker(f.interval)
		defer ticker.Stop()
		for {
			if err := f.readBundle(); err != nil {
				return err
			}
			select {
			case <-ctx.Done():
				return nil
			case <-ticker.C:
			}
		}
	})
	if err := group.Wait(); err != nil {
		return fmt.Errorf("keep the serving certificate: %w", err)
	}
	return nil
}

func (f *Files) readBundle() error {
	pem, err := os.ReadFile(f.ca)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the CA bundle: %w", err)
	}
	f.set(pem)
	return nil
}
