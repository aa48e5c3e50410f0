//go:build bench

package bench_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// memory is what /proc/PID/status says, in bytes.
type memory struct {
	// resident is anon, which the process has written to, and file, which are pages of the binary.
	resident, anon, file int
	// highest is the most that was ever resident.
	highest int
}

func memoryOf(pid int) (memory, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return memory{}, err
	}
	var m memory
	fields := map[string]*int{"VmRSS:": &m.resident, "RssAnon:": &m.anon, "RssFile:": &m.file, "VmHWM:": &m.highest}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if into := fields[words[0]]; into != nil {
			kilobytes, err := strconv.Atoi(words[1])
			if err != nil {
				return memory{}, fmt.Errorf("read %q: %w", line, err)
			}
			*into = kilobytes << 10
		}
	}
	return m, nil
}

// usage of a process during a phase.
type usage struct {
	phase   string
	typical memory
	// peak is the most in the phase.
	peak int
}

// watch looks at a process while do runs.
func watch(t *testing.T, pid int, phase string, do func()) usage {
	t.Helper()
	// 5 resets the peak: proc_pid_clear_refs(5).
	require.NoError(t, os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0o200))
	var seen []memory
	look := func() {
		m, err := memoryOf(pid)
		require.NoError(t, err)
		seen = append(seen, m)
	}
	var looking sync.WaitGroup
	stop := make(chan struct{})
	looking.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				look()
			}
		}
	})
	do()
	close(stop)
	looking.Wait()
	look()
	highest := seen[len(seen)-1].highest
	slices.SortFunc(seen, func(a, b memory) int { return a.resident - b.resident })
	// The kernel's peak lags a little behind.
	return usage{phase: phase, typical: seen[len(seen)/2], peak: max(highest, seen[len(seen)-1].resident)}
}
