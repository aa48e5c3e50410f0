package local

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// cgroupRoots are the directories of the cluster's cgroup: one per hierarchy
// with cgroup v1, one in all with v2.
func (l Layout) cgroupRoots() ([]string, error) {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("list cgroup mounts: %w", err)
	}
	var roots []string
	for _, mount := range cgroupMounts(string(data)) {
		roots = append(roots, filepath.Join(mount, l.ID))
	}
	return roots, nil
}

// cgroupMounts reads mount points of the file systems cgroup and cgroup2 from
// proc(5)'s mountinfo: the type follows a lone dash, the mount point is field 5.
func cgroupMounts(mountinfo string) []string {
	var mounts []string
	for line := range strings.Lines(mountinfo) {
		before, after, found := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if !found || len(fields) < 5 {
			continue
		}
		kind, _, _ := strings.Cut(after, " ")
		if kind == "cgroup" || kind == "cgroup2" {
			mounts = append(mounts, fields[4])
		}
	}
	return mounts
}

// ensureCgroups makes the cluster's cgroup, which the kubelet expects to find,
// and with cgroup v2 all controllers in it.
func (l Layout) ensureCgroups() error {
	roots, err := l.cgroupRoots()
	if err != nil {
		return err
	}
	for _, root := range roots {
		parent := filepath.Dir(root)
		controllers, _ := os.ReadFile(filepath.Join(parent, "cgroup.controllers")) // only v2 has it
		for _, controller := range strings.Fields(string(controllers)) {
			// One that cannot be handed on may not be needed: the kubelet says so if it is.
			_ = os.WriteFile(filepath.Join(parent, "cgroup.subtree_control"), []byte("+"+controller), 0o644)
		}
		if err := os.MkdirAll(root, 0o755); err != nil {
			return fmt.Errorf("make cgroup %s: %w", root, err)
		}
	}
	return nil
}

// inCgroups finds the processes in the cluster's cgroups: those of its pods.
func (l Layout) inCgroups() ([]int, error) {
	var pids []int
	err := l.eachCgroup(func(dir string) error {
		f, err := os.Open(filepath.Join(dir, "cgroup.procs"))
		if err != nil {
			return ignoreGone(err)
		}
		defer f.Close() //nolint:errcheck // opened for reading only
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			pid, err := strconv.Atoi(lines.Text())
			if err != nil || pid <= 1 { // 0 is a process of another pid namespace
				continue
			}
			if _, err := startTime(pid); err == nil {
				pids = append(pids, pid)
			}
		}
		return nil
	})
	slices.Sort(pids)
	return slices.Compact(pids), err
}

// removeCgroups removes them, innermost first; a cgroup's directory goes with
// rmdir, whatever files it shows.
func (l Layout) removeCgroups() error {
	var dirs []string
	if err := l.eachCgroup(func(dir string) error {
		dirs = append(dirs, dir)
		return nil
	}); err != nil {
		return err
	}
	for _, dir := range slices.Backward(dirs) {
		if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove cgroup: %w", err)
		}
	}
	return nil
}

// eachCgroup visits every cgroup of the cluster, a parent before its children.
func (l Layout) eachCgroup(visit func(dir string) error) error {
	roots, err := l.cgroupRoots()
	if err != nil {
		return err
	}
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return ignoreGone(err)
			}
			if !entry.IsDir() {
				return nil
			}
			return visit(path)
		})
		if err != nil {
			return fmt.Errorf("walk cgroups: %w", err)
		}
	}
	return nil
}

// ignoreGone forgives what ended while it was looked at.
func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
