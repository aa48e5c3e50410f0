//go:build integration

// Package integration_test runs the real server against a real API server and etcd, with the real manifests. No other
// controller runs: what appears, dynawire made. KUBEBUILDER_ASSETS says where kube-apiserver, etcd and kubectl are.
package integration_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// The API server and the server under test, for all tests: each test has namespaces of its own.
var (
	config    *rest.Config
	cluster   client.Client
	first     *server
	assets    string
	workspace string
)

// Namespaces that the server under test is told not to reconcile: there, accounts never appear.
const withoutReconciler = "without-reconciler"

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "integration:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	log.SetLogger(logr.Discard())
	if assets = os.Getenv("KUBEBUILDER_ASSETS"); assets == "" {
		return 0, fmt.Errorf("KUBEBUILDER_ASSETS is not set: it names the directory of kube-apiserver, etcd and kubectl")
	}
	if workspace, err = os.MkdirTemp("", "dynawire-integration-"); err != nil {
		return 0, err
	}
	defer os.RemoveAll(workspace)
	env := &envtest.Environment{BinaryAssetsDirectory: assets}
	// By default the test's API server goes without the plugin on which half of the wiring depends.
	env.ControlPlane.GetAPIServer().Configure().Disable("disable-admission-plugins")
	if config, err = env.Start(); err != nil {
		return 0, fmt.Errorf("start the API server: %w", err)
	}
	defer func() { _ = env.Stop() }()
	config.QPS = -1
	if cluster, err = client.New(config, client.Options{Scheme: clientgoscheme.Scheme}); err != nil {
		return 0, err
	}
	if err := build(); err != nil {
		return 0, err
	}
	if first, err = newServer("first"); err != nil {
		return 0, err
	}
	if err := install(first); err != nil {
		return 0, err
	}
	if err := first.start(); err != nil {
		return 0, err
	}
	defer func() {
		first.stop()
		if code != 0 {
			fmt.Fprintf(os.Stderr, "--- log of the server\n%s", first.log.String())
		}
	}()
	if err := first.waitReady(); err != nil {
		return 0, fmt.Errorf("%w\n%s", err, first.log.String())
	}
	return m.Run(), nil
}

// root of the checkout.
func root() string {
	dir, _ := filepath.Abs("../..")
	return dir
}
