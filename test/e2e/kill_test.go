//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/dynawire/dynawire/pkg/wiring"
)

// kill9 kills every process of a wired pod as the kernel's out-of-memory killer would: no signal that it could handle, no
// word to the API server. The processes run on this machine (the local cluster's node), known by the POD_UID they got.
func kill9(t *testing.T, p *corev1.Pod) {
	t.Helper()
	signalPod(t, p, syscall.SIGKILL)
}

// signalPod sends a signal to every process of a wired pod.
func signalPod(t *testing.T, p *corev1.Pod, signal syscall.Signal) {
	t.Helper()
	signalProcesses(t, p, signal)
}

// signalContainer sends a signal to every process of one container of a pod in container mode.
func signalContainer(t *testing.T, p *corev1.Pod, container string, signal syscall.Signal) {
	t.Helper()
	signalProcesses(t, p, signal, wiring.EnvContainerName+"="+container)
}

// signalProcesses reaches those of the pod's processes whose environment has these entries.
func signalProcesses(t *testing.T, p *corev1.Pod, signal syscall.Signal, entries ...string) {
	t.Helper()
	entries = append(entries, wiring.EnvPodUID+"="+string(p.UID))
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	reached := 0
	for _, path := range environs {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // gone meanwhile, or not ours to read
		}
		environ := strings.Split(string(data), "\x00")
		if slices.ContainsFunc(entries, func(entry string) bool { return !slices.Contains(environ, entry) }) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		require.NoError(t, err)
		if syscall.Kill(pid, signal) == nil {
			reached++
		}
	}
	require.NotZerof(t, reached, "no process of pod %s on this machine: this test wants the repository's own cluster", p.Name)
}
