// Package controlplane runs a real API server and etcd, and the real server against them, for tests that need no node. No
// other controller runs: what appears, dynawire made.
package controlplane

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/go-logr/logr"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// ControlPlane is an API server with its etcd.
type ControlPlane struct {
	// Config is an administrator's, without a limit of its own.
	Config *rest.Config
	Client client.Client

	env    *envtest.Environment
	assets string
	// workspace holds the server's binary and kubeconfigs.
	workspace string
}

// Start starts an API server and builds the server. KUBEBUILDER_ASSETS says where kube-apiserver, etcd and kubectl are.
func Start() (*ControlPlane, error) {
	log.SetLogger(logr.Discard())
	c := &ControlPlane{assets: os.Getenv("KUBEBUILDER_ASSETS")}
	if c.assets == "" {
		return nil, errors.New("KUBEBUILDER_ASSETS is not set: it names the directory of kube-apiserver, etcd and kubectl")
	}
	c.env = &envtest.Environment{BinaryAssetsDirectory: c.assets, ControlPlaneStartTimeout: time.Minute, ControlPlaneStopTimeout: time.Minute}
	// By default the test's API server goes without the plugin on which half of the wiring depends.
	c.env.ControlPlane.GetAPIServer().Configure().Disable("disable-admission-plugins")
	var err error
	if c.workspace, err = os.MkdirTemp("", "dynawire-controlplane-"); err != nil {
		return nil, err
	}
	if err = c.start(); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func (c *ControlPlane) start() (err error) {
	if c.Config, err = c.env.Start(); err != nil {
		return fmt.Errorf("start the API server: %w", err)
	}
	c.Config.QPS = -1
	if c.Client, err = client.New(c.Config, client.Options{Scheme: clientgoscheme.Scheme}); err != nil {
		return err
	}
	return c.build()
}

// Stop ends the API server and removes what Start left on the disk.
func (c *ControlPlane) Stop() error {
	return errors.Join(c.env.Stop(), os.RemoveAll(c.workspace))
}

// Kubectl is where kubectl is.
func (c *ControlPlane) Kubectl() string { return filepath.Join(c.assets, "kubectl") }

// root of the checkout.
func root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..")
}
