package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/dynawire/dynawire/internal/cli/manifest"
)

// Kustomize builds a directory with the kubectl or the kustomize on the PATH: a build of its own would nearly double this
// program.
func Kustomize(ctx context.Context, dir string) (manifest.File, error) {
	command, err := builder(dir)
	if err != nil {
		return manifest.File{}, err
	}
	var stderr bytes.Buffer
	c := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // the user's own tool on the user's own directory
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		said := strings.TrimSpace(stderr.String())
		if said == "" {
			said = err.Error()
		}
		if _, quoted, ok := strings.Cut(said, ` err="`); ok { // kubectl's own log line
			if text, err := strconv.Unquote(`"` + quoted); err == nil {
				said = text
			}
		}
		return manifest.File{}, fmt.Errorf("%s: %s", strings.Join(command, " "), strings.TrimPrefix(said, "error: "))
	}
	documents, err := manifest.Parse(dir+" (built)", out)
	return manifest.File{Name: dir, Documents: documents}, err
}

// Built has objects stand in the kustomization that they were built from: their lines are those of no file.
func Built(objects []Object, dir string) {
	file := dir
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		if path := filepath.Join(dir, name); isFile(path) {
			file = path
		}
	}
	for i := range objects {
		objects[i].File, objects[i].Line = file, 0
		for j := range objects[i].Findings {
			objects[i].Findings[j].Line = 0
		}
	}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func builder(dir string) ([]string, error) {
	if path, err := exec.LookPath("kubectl"); err == nil {
		return []string{path, "kustomize", "--", dir}, nil
	}
	if path, err := exec.LookPath("kustomize"); err == nil {
		return []string{path, "build", "--", dir}, nil
	}
	return nil, errors.New("-k needs kubectl or kustomize on the PATH, and neither is there; or build it elsewhere and pipe it: … | kubectl dynawire check -f -")
}
