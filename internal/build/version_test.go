package build

import (
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestVersion(t *testing.T) {
	build := func(version string, settings ...string) *debug.BuildInfo {
		b := &debug.BuildInfo{Main: debug.Module{Version: version}}
		for i := 0; i < len(settings); i += 2 {
			b.Settings = append(b.Settings, debug.BuildSetting{Key: settings[i], Value: settings[i+1]})
		}
		return b
	}
	const commit = "7f3cffe0123456789abcdef0123456789abcdef0"
	for name, tc := range map[string]struct {
		given string
		info  *debug.BuildInfo
		want  string
	}{
		"given":                 {"v1.2.3", build("v1.0.0"), "v1.2.3"},
		"installed":             {"", build("v1.2.3"), "v1.2.3"},
		"built in a checkout":   {"", build("v0.0.0-20261121165732-7f3cffe01234+dirty", "vcs.revision", commit), "v0.0.0-20261121165732-7f3cffe01234+dirty"},
		"of a commit":           {"", build("(devel)", "vcs", "git", "vcs.revision", commit, "vcs.modified", "false"), "dev-7f3cffe01234"},
		"changed since":         {"", build("", "vcs.revision", commit, "vcs.modified", "true"), "dev-7f3cffe01234+dirty"},
		"without either":        {"", build("(devel)"), "dev"},
		"a revision of its own": {"", build("", "vcs.revision", "42"), "dev-42"},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, version(tc.given, tc.info)) })
	}
	assert.Equal(t, "v1.2.3", Version("v1.2.3"))
	assert.NotEmpty(t, Version(""))
}

// What -ldflags sets must be there to be set: the linker says nothing of a variable that is not.
func TestBuildsTakeTheVersionThatTheyAreGiven(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	for _, program := range []string{"webhook", "kubectl-dynawire"} {
		binary := filepath.Join(t.TempDir(), program)
		out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-X main.version=v1.2.3", "-o", binary, "../../cmd/"+program).CombinedOutput()
		require.NoError(t, err, string(out))
		said, err := exec.CommandContext(t.Context(), binary, "--version").Output()
		require.NoError(t, err)
		assert.True(t, strings.HasSuffix(strings.TrimSpace(string(said)), "v1.2.3"), string(said))
	}
}
