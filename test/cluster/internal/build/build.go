// Package build makes the binaries of a cluster from Go modules and keeps them
// in a cache.
package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/dynawire/dynawire/test/cluster/internal/lock"
	"github.com/dynawire/dynawire/test/cluster/internal/progress"
	"github.com/dynawire/dynawire/test/cluster/internal/repo"
)

// timeout bounds a build: minutes on a small machine, once.
const timeout = time.Hour

// Set says which binaries are wanted.
type Set int

// The sets, each holding the one before it.
const (
	// Envtest is what controller-runtime's envtest looks for.
	Envtest Set = iota
	// ControlPlane runs on every platform that Kubernetes' servers build on.
	ControlPlane
	// Node adds what a Linux node needs.
	Node
)

// Binary is one program and the package that it is built from.
type Binary struct {
	Name, Package string
}

// Binaries lists what a set holds, in the order in which they are built.
func (s Set) Binaries() []Binary {
	list := []Binary{
		{"kubectl", kubernetesModule + "/cmd/kubectl"},
		{"etcd", etcdModule},
		{"kube-apiserver", kubernetesModule + "/cmd/kube-apiserver"},
	}
	if s >= ControlPlane {
		list = append(list,
			Binary{"kube-controller-manager", kubernetesModule + "/cmd/kube-controller-manager"},
			Binary{"kube-scheduler", kubernetesModule + "/cmd/kube-scheduler"})
	}
	if s >= Node {
		list = append(list,
			Binary{"kube-proxy", kubernetesModule + "/cmd/kube-proxy"},
			Binary{"kubelet", kubernetesModule + "/cmd/kubelet"},
			Binary{"pause", "./pause"})
	}
	return list
}

// Largest is the largest set that builds on this platform.
func Largest() Set {
	if runtime.GOOS == "linux" {
		return Node
	}
	return ControlPlane
}

// Ensure builds what the cache lacks of the set and returns the directory that
// holds it. Two callers at the same time build each binary once.
func Ensure(ctx context.Context, paths repo.Paths, set Set, out io.Writer) (string, Versions, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	versions, err := ReadVersions(ctx, paths.Module)
	if err != nil {
		return "", Versions{}, err
	}
	dir := paths.Binaries(versions.Key())
	if len(missing(dir, set)) == 0 {
		return dir, versions, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", Versions{}, fmt.Errorf("make the directory of the binaries: %w", err)
	}
	unlock, err := lock.Acquire(ctx, dir+".lock", func() {
		_, _ = fmt.Fprintln(out, "waiting for another build of the same binaries")
	})
	if err != nil {
		return "", Versions{}, err
	}
	defer unlock()
	// Looked up again: another process may have built them meanwhile.
	todo := missing(dir, set)
	for i, binary := range todo {
		line := progress.Start(out, fmt.Sprintf("building %s (%d of %d)", versions.describe(binary), i+1, len(todo)))
		err := buildOne(ctx, paths.Module, dir, binary, versions)
		line.Done(err)
		if err != nil {
			return "", Versions{}, err
		}
	}
	return dir, versions, nil
}

func missing(dir string, set Set) []Binary {
	var todo []Binary
	for _, binary := range set.Binaries() {
		if _, err := os.Stat(filepath.Join(dir, binary.Name)); errors.Is(err, os.ErrNotExist) {
			todo = append(todo, binary)
		}
	}
	return todo
}

// buildOne builds under another name first: a binary that is there is whole.
func buildOne(ctx context.Context, module, dir string, binary Binary, versions Versions) error {
	target := filepath.Join(dir, binary.Name)
	partial := target + ".partial"
	args := []string{"build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", versions.linkerFlags(), "-o", partial, binary.Package}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = module
	cmd.Env = goEnv()
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s from %s in %s: %w\n%s", binary.Name, binary.Package, module, err, output)
	}
	if err := os.Rename(partial, target); err != nil {
		return fmt.Errorf("put %s in place: %w", binary.Name, err)
	}
	return nil
}
