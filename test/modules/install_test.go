//go:build modules

package modules_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// requirements is all that the packages import and no engine brings; the test cluster's images are made from it too.
const requirements = "../cluster/internal/image/dynamo-requirements.txt"

// python is the host's interpreter; the pinned requirements exist for 3.11 to 3.13.
const python = "python3"

// packages are the directories for PYTHONPATH of a release. What was installed once stays in the cache.
func packages(t *testing.T, release string) string {
	t.Helper()
	pins, err := os.ReadFile(requirements)
	require.NoError(t, err)
	sum := sha256.Sum256(pins)
	lib := install(t, "requirements-"+hex.EncodeToString(sum[:6]), "-r", requirements)
	dynamo := install(t, "dynamo-"+release, "ai-dynamo=="+release, "ai-dynamo-runtime=="+release)
	return dynamo + string(filepath.ListSeparator) + lib
}

// install has pip put packages in a directory of their own, without what they depend on.
func install(t *testing.T, name string, what ...string) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join(cmp.Or(os.Getenv("DYNAWIRE_CACHE"), "../../.cache"), "modules"))
	require.NoError(t, err)
	dir := filepath.Join(root, name+"-"+interpreter(t))
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	started := time.Now()
	require.NoError(t, os.MkdirAll(root, 0o755))
	// An installation that was broken off must not pass for one.
	unfinished, err := os.MkdirTemp(root, "unfinished-")
	require.NoError(t, err)
	defer os.RemoveAll(unfinished)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	args := []string{
		"-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-compile",
		"--only-binary", ":all:", "--target", unfinished,
	}
	out, err := exec.CommandContext(ctx, python, append(args, what...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoError(t, os.Chmod(unfinished, 0o755))
	require.NoError(t, os.Rename(unfinished, dir))
	t.Logf("installed %s in %s", strings.Join(what, " "), time.Since(started).Round(100*time.Millisecond))
	return dir
}

// interpreter is the version that binary packages were chosen for.
func interpreter(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), python, "-c", "import sys; print('py%d.%d' % sys.version_info[:2])").Output()
	require.NoError(t, err, "the test needs %s with pip", python)
	return strings.TrimSpace(string(out))
}
