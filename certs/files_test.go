package certs

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// keyPair is a self-signed certificate for a name, and its key, as PEM.
func keyPair(t *testing.T, name string) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	require.NoError(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
}

// write replaces the files of a directory.
func write(t *testing.T, dir, name string) []byte {
	t.Helper()
	cert, key := keyPair(t, name)
	for file, content := range map[string][]byte{"tls.crt": cert, "tls.key": key, "ca.crt": cert} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), content, 0o600))
	}
	return cert
}

func TestFilesAreReadAgainWhenTheyChange(t *testing.T) {
	dir := t.TempDir()
	f := NewFiles(dir)
	f.interval = 5 * time.Millisecond
	f.leaf.UpdateInterval = 5 * time.Millisecond
	f.leaf.MaxFailures = 1 << 30
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- f.Start(ctx) }()
	assert.Nil(t, f.Bundle())
	_, err := f.GetCertificate(nil)
	assert.Error(t, err, "nothing is there yet")

	for _, name := range []string{"old.example", "new.example"} {
		changed := f.Changed()
		want := write(t, dir, name)
		<-changed
		assert.Equal(t, want, f.Bundle())
		assert.Eventually(t, func() bool {
			c, err := f.GetCertificate(nil)
			return err == nil && c.Leaf.Subject.CommonName == name
		}, 10*time.Second, time.Millisecond)
	}
	cancel()
	require.NoError(t, <-ended)
}

func TestFilesWithoutCALeaveTheBundleToOthers(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.example")
	require.NoError(t, os.Remove(filepath.Join(dir, "ca.crt")))
	f := NewFiles(dir)
	require.NoError(t, f.readBundle())
	assert.Nil(t, f.Bundle())
}

func TestBundleChanges(t *testing.T) {
	var b bundle
	first := b.Changed()
	b.set([]byte("a"))
	<-first
	second := b.Changed()
	b.set([]byte("a"))
	select {
	case <-second:
		t.Error("the same bundle is no change")
	default:
	}
	b.set([]byte("ab"))
	<-second
	assert.Equal(t, "ab", string(b.Bundle()))
}
