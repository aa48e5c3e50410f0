//go:build integration

// Package integration_test runs the real server against a real API server and etcd, with the real manifests. No other
// controller runs: what appears, dynawire made.
package integration_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dynawire/dynawire/test/controlplane"
)

// The API server and the server under test, for all tests: each test has namespaces of its own.
var (
	plane   *controlplane.ControlPlane
	config  *rest.Config
	cluster client.Client
	first   *controlplane.Server
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
	if plane, err = controlplane.Start(); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, plane.Stop()) }()
	config, cluster = plane.Config, plane.Client
	if first, err = newServer("first"); err != nil {
		return 0, err
	}
	if err := plane.Install(context.Background(), first); err != nil {
		return 0, err
	}
	if err := installReports(); err != nil {
		return 0, err
	}
	if err := first.Start(); err != nil {
		return 0, err
	}
	defer func() {
		_ = first.Stop()
		if code != 0 {
			fmt.Fprintf(os.Stderr, "--- log of the server\n%s", first.Log)
		}
	}()
	if err := first.WaitReady(); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// newServer is a server that tests need not wait for.
func newServer(name string) (*controlplane.Server, error) {
	return plane.NewServer(name, "--exclude-namespaces", "kube-system,"+withoutReconciler, "--idle-service-ttl", "2s",
		"--account-wait", "1s", "--drift-interval", "1s", "--repair-budget", "1")
}
