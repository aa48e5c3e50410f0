package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// ensureNamespaces makes the network and the mount namespace where they are not
// there yet, and reports whether it made one: what runs in an old one must end.
func (l Layout) ensureNamespaces(ctx context.Context) (created bool, err error) {
	if !isNamespace(l.netns()) {
		created = true
		_ = os.Remove(l.netns()) // the file of a namespace that a reboot ended
		if err := l.createNetns(ctx); err != nil {
			return true, err
		}
	}
	if !isNamespace(l.mountns()) {
		created = true
		if err := l.createMountns(ctx); err != nil {
			return true, err
		}
	}
	return created, nil
}

// createNetns makes a namespace with the loopback device and a bridge that holds
// the node's address. It has no uplink: nothing leaves it. The kubelet finds its
// address, and service addresses their way to kube-proxy's rules, through the
// default route. A bridge, as not every kernel has devices of type dummy.
func (l Layout) createNetns(ctx context.Context) error {
	// With this, service addresses also work between pods of one bridge. Most
	// kernels have it loaded or built in; where not even modprobe has it, all else works.
	_ = run(ctx, "modprobe", "br_netfilter")
	for _, args := range [][]string{
		{"netns", "add", l.ID},
		{"-n", l.ID, "link", "set", "lo", "up"},
		{"-n", l.ID, "link", "add", "br0", "type", "bridge"},
		{"-n", l.ID, "address", "add", nodePrefix, "dev", "br0"},
		{"-n", l.ID, "link", "set", "br0", "up"},
		{"-n", l.ID, "route", "add", "default", "via", nodeAddress},
	} {
		if err := run(ctx, "ip", args...); err != nil {
			return err
		}
	}
	return nil
}

// createMountns makes a mount namespace that a file keeps alive. All mounts of
// pods are made in it, so that they end with it.
func (l Layout) createMountns(ctx context.Context) error {
	dir := filepath.Dir(l.mountns())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the directory of the mount namespace: %w", err)
	}
	if err := os.WriteFile(l.mountns(), nil, 0o600); err != nil {
		return fmt.Errorf("make the file of the mount namespace: %w", err)
	}
	// The file that a mount namespace is bound to must lie on a private mount.
	if err := unix.Mount(dir, dir, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind %s: %w", dir, err)
	}
	if err := unix.Mount("", dir, "", unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make %s a private mount: %w", dir, err)
	}
	if err := run(ctx, "unshare", "--mount="+l.mountns(), "--propagation", "private", "true"); err != nil {
		return err
	}
	inside := func(args ...string) error {
		return run(ctx, "nsenter", append([]string{"--mount=" + l.mountns(), "--"}, args...)...)
	}
	// Shared among themselves, as volumes with mount propagation expect.
	if err := inside("mount", "--make-rshared", "/"); err != nil {
		return err
	}
	for dir, source := range l.hostDirs() {
		for _, d := range []string{dir, source} {
			if err := os.MkdirAll(d, 0o755); err != nil {
				return fmt.Errorf("make a directory to bind: %w", err)
			}
		}
		if err := inside("mount", "--bind", source, dir); err != nil {
			return err
		}
	}
	return nil
}

func isNamespace(path string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(path, &fs) == nil && fs.Type == unix.NSFS_MAGIC
}

// removeNamespaces ends the namespaces and every mount beneath the cluster's
// directories.
func (l Layout) removeNamespaces(ctx context.Context) error {
	mounts, err := mountsUnder(l.Run, l.Data)
	if err != nil {
		return err
	}
	for _, mount := range mounts {
		if err := unix.Unmount(mount, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("unmount %s: %w", mount, err)
		}
	}
	if _, err := os.Lstat(l.netns()); err != nil {
		return nil //nolint:nilerr // there is none
	}
	if isNamespace(l.netns()) {
		return run(ctx, "ip", "netns", "delete", l.ID)
	}
	return os.Remove(l.netns())
}

// mountsUnder lists the mount points beneath the directories, innermost first.
func mountsUnder(dirs ...string) ([]string, error) {
	mountinfo, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("list mounts: %w", err)
	}
	return mountPointsUnder(string(mountinfo), dirs...), nil
}

// mountPointsUnder reads them from proc(5)'s mountinfo: the fifth field.
func mountPointsUnder(mountinfo string, dirs ...string) []string {
	var found []string
	for line := range strings.Lines(mountinfo) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		for _, dir := range dirs {
			if fields[4] == dir || strings.HasPrefix(fields[4], dir+"/") {
				found = append(found, fields[4])
			}
		}
	}
	slices.Sort(found)
	slices.Reverse(found)
	return found
}

func run(ctx context.Context, name string, args ...string) error {
	if output, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(output)))
	}
	return nil
}
