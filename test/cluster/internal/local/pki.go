package local

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

// lifetime of the certificates: a test cluster does not live that long.
const lifetime = 5 * 365 * 24 * time.Hour

// ensurePKI makes the cluster's CA, the API server's certificate and the key
// that signs service account tokens, where they are not there yet.
func (l Layout) ensurePKI() error {
	_, err := os.Stat(l.pki("apiserver.crt")) // written last
	if err == nil {
		return nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("look for the certificates of cluster %s: %w", l.Name, err)
	}
	now := time.Now()
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: l.ID},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(lifetime),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	server := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "kube-apiserver"},
		NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
			"kubernetes.default.svc.cluster.local"},
		IPAddresses: []net.IP{net.ParseIP("127.0.0.1"), net.ParseIP(nodeAddress), net.ParseIP(firstServiceIP)},
	}
	caKey, err := l.issue("ca", ca, ca, nil)
	if err != nil {
		return err
	}
	if _, err := l.newKey("service-account"); err != nil {
		return err
	}
	_, err = l.issue("apiserver", server, ca, caKey)
	return err
}

// issue makes a key and a certificate for it; a nil signer means self-signed.
func (l Layout) issue(name string, cert, parent *x509.Certificate, signer crypto.Signer) (crypto.Signer, error) {
	key, err := l.newKey(name)
	if err != nil {
		return nil, err
	}
	if signer == nil {
		signer = key
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, key.Public(), signer)
	if err != nil {
		return nil, fmt.Errorf("sign the certificate %s: %w", name, err)
	}
	return key, writeFile(l.pki(name+".crt"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644)
}

func (l Layout) newKey(name string) (crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the key %s: %w", name, err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode the key %s: %w", name, err)
	}
	return key, writeFile(l.pki(name+".key"), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600)
}
