//go:build modules

package modules_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// answer is what a module makes of a command line and an environment, as testdata/probe.py reports it.
type answer struct {
	Namespace       *string `json:"namespace"`
	NamespacePrefix *string `json:"namespace_prefix"`
	Component       *string `json:"component"`
	Endpoint        *string `json:"endpoint"`
	Backend         *string `json:"backend"`
	Mode            *string `json:"mode"`
	HTTPPort        *int32  `json:"http_port"`
	HTTPMetricsPort *int32  `json:"http_metrics_port"`
	// Headless: it starts no runtime.
	Headless bool `json:"headless"`
	// Serves are the whole paths of the endpoints that it began to serve.
	Serves []string `json:"serves"`
	// Stopped is why the process ends instead.
	Stopped string `json:"stopped"`
	// Broken: the probe itself failed.
	Broken string `json:"broken"`
}

type question struct {
	Args []string          `json:"args,omitempty"`
	Env  map[string]string `json:"env,omitempty"`
}

// ask runs the probe; skip says why the module cannot be asked.
func ask(t *testing.T, path, module string, questions []question) (answers []answer, skip string) {
	t.Helper()
	in, err := json.Marshal(map[string]any{"module": module, "cases": questions})
	require.NoError(t, err)
	out := runPython(t, path, in, "testdata/probe.py")
	var said struct {
		Skip    string   `json:"skip"`
		Answers []answer `json:"answers"`
	}
	require.NoError(t, json.Unmarshal(out, &said), "%s", out)
	if said.Skip == "" {
		require.Len(t, said.Answers, len(questions))
	}
	return said.Answers, said.Skip
}

// runPython runs the interpreter with the packages of a release and nothing of the caller's environment that could matter.
func runPython(t *testing.T, path string, stdin []byte, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, args...)
	dir := t.TempDir()
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "PYTHONPATH=" + path, "HF_HUB_OFFLINE=1"}
	cmd.Stdin = bytes.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s", stderr.String())
	return out
}
