package local

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// startTime is which boot a process belongs to and when in it it was started. An
// ended process that nobody has waited for yet counts as gone.
func startTime(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", fmt.Errorf("look for process %d: %w", pid, err)
	}
	ticks, err := parseStat(stat)
	if err != nil {
		return "", err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read the boot's id: %w", err)
	}
	return string(bytes.TrimSpace(boot)) + "/" + ticks, nil
}

// parseStat reads field 22 of proc(5)'s stat. The command in field 2 may hold
// spaces and parentheses, so fields are counted from its last parenthesis.
func parseStat(stat []byte) (string, error) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const state, start = 0, 19 // fields 3 and 22
	if len(fields) <= start {
		return "", fmt.Errorf("unexpected process status %q", stat)
	}
	if s := string(fields[state]); s == "Z" || s == "X" {
		return "", os.ErrProcessDone
	}
	return string(fields[start]), nil
}

// marked finds all living processes that carry the cluster's marker.
func (l Layout) marked() ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	want := []byte(markerEnv + "=" + l.ID)
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		// One that ended meanwhile, or is another user's, cannot be read.
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil || !hasEntry(environ, want) {
			continue
		}
		if _, err := startTime(pid); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

func hasEntry(environ, want []byte) bool {
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if bytes.Equal(entry, want) {
			return true
		}
	}
	return false
}
