package build

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

const (
	kubernetesModule = "k8s.io/kubernetes"
	etcdModule       = "go.etcd.io/etcd/server/v3"
)

// Versions are what go.mod of this module pins, each with its leading v.
type Versions struct {
	Kubernetes, Etcd string
}

// ReadVersions asks the module graph of the given module directory, so that
// go.mod stays the one place that says them.
func ReadVersions(ctx context.Context, module string) (Versions, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Path}} {{.Version}}", kubernetesModule, etcdModule)
	cmd.Dir = module
	cmd.Env = goEnv()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return Versions{}, fmt.Errorf("read the pinned versions in %s (go list -m): %w: %s", module, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return parseVersions(string(out))
}

func parseVersions(list string) (Versions, error) {
	var v Versions
	for line := range strings.Lines(list) {
		path, version, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch path {
		case kubernetesModule:
			v.Kubernetes = version
		case etcdModule:
			v.Etcd = version
		}
	}
	if v.Kubernetes == "" || v.Etcd == "" {
		return Versions{}, fmt.Errorf("go.mod pins no version of %s or of %s; go list -m said %q", kubernetesModule, etcdModule, list)
	}
	return v, nil
}

// Key names the directory of the binaries: one per set of versions and platform.
func (v Versions) Key() string {
	return fmt.Sprintf("kubernetes-%s-etcd-%s-%s-%s", v.Kubernetes, v.Etcd, runtime.GOOS, runtime.GOARCH)
}

// describe names a binary with the version that it will have.
func (v Versions) describe(binary Binary) string {
	switch {
	case strings.HasPrefix(binary.Package, kubernetesModule):
		return binary.Name + " " + v.Kubernetes
	case binary.Package == etcdModule:
		return binary.Name + " " + v.Etcd
	default:
		return binary.Name
	}
}

// linkerFlags make the components report their version: without gitVersion the
// API server says v0.0.0, which some clients refuse.
func (v Versions) linkerFlags() string {
	const pkg = "k8s.io/component-base/version."
	major, minor, _ := strings.Cut(strings.TrimPrefix(v.Kubernetes, "v"), ".")
	minor, _, _ = strings.Cut(minor, ".")
	return strings.Join([]string{
		"-s", "-w",
		"-X", pkg + "gitVersion=" + v.Kubernetes,
		"-X", pkg + "gitMajor=" + major,
		"-X", pkg + "gitMinor=" + minor,
		"-X", pkg + "gitTreeState=clean",
	}, " ")
}

// goEnv keeps a caller's workspace from changing which versions are built.
func goEnv() []string {
	return append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
}
