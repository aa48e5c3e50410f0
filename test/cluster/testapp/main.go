// Command testapp is what the tests of this module deploy: an HTTP server whose
// readiness can be flipped, and an admission webhook that labels what it sees.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

const webhookHost = "testapp.default.svc"

func main() {
	if err := serve(context.Background()); err != nil {
		slog.Error("cannot serve", "error", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context) error {
	cert, certPEM, err := selfSigned()
	if err != nil {
		return err
	}
	handler := newHandler(certPEM)
	failed := make(chan error, 2)
	go func() {
		server := &http.Server{Addr: ":8080", Handler: handler, ReadHeaderTimeout: time.Second}
		failed <- server.ListenAndServe()
	}()
	go func() {
		server := &http.Server{Addr: ":8443", Handler: handler, ReadHeaderTimeout: time.Second,
			TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}}
		failed <- server.ListenAndServeTLS("", "")
	}()
	slog.InfoContext(ctx, "serving")
	return <-failed
}

func newHandler(certPEM []byte) http.Handler {
	var unready atomic.Bool
	host, _ := os.Hostname()
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintf(w, "hello from %s\n", host) })
	mux.HandleFunc("/ca", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(certPEM) })
	mux.HandleFunc("/flip", func(http.ResponseWriter, *http.Request) { unready.Store(!unready.Load()) })
	mux.HandleFunc("/health", func(w http.ResponseWriter, _ *http.Request) {
		if unready.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("/label", label)
	return mux
}

// label answers an AdmissionReview with a patch that adds a label.
func label(w http.ResponseWriter, r *http.Request) {
	var review struct {
		Request struct {
			UID string `json:"uid"`
		} `json:"request"`
	}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	patch := `[{"op":"add","path":"/metadata/labels","value":{"seen":"true"}}]`
	_ = json.NewEncoder(w).Encode(map[string]any{
		"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
		"response": map[string]any{"uid": review.Request.UID, "allowed": true,
			"patchType": "JSONPatch", "patch": base64.StdEncoding.EncodeToString([]byte(patch))},
	})
}

func selfSigned() (tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("make a key: %w", err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{webhookHost},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("make a certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}
