//go:build e2e

package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
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
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	want := []byte(wiring.EnvPodUID + "=" + string(p.UID))
	reached := 0
	for _, path := range environs {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // gone meanwhile, or not ours to read
		}
		for entry := range bytes.SplitSeq(data, []byte{0}) {
			if !bytes.Equal(entry, want) {
				continue
			}
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			require.NoError(t, err)
			if syscall.Kill(pid, signal) == nil {
				reached++
			}
			break
		}
	}
	require.NotZerof(t, reached, "no process of pod %s on this machine: this test wants the repository's own cluster", p.Name)
}
