package image

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/dynawire/dynawire/test/cluster/internal/progress"
)

// GoOptions describe an image of Go programs.
type GoOptions struct {
	// Root is the directory of the module that the packages are in.
	Root string
	// Packages are directories of one program each: relative ones beneath Root, absolute ones in modules of their own.
	Packages []string
	// Entrypoint is the program that the image runs; the first where it is empty.
	Entrypoint string
	Tag        string
	Output     string
}

// BuildGo builds static programs and writes an image of them, each at the root
// under its package directory's name.
func BuildGo(ctx context.Context, opts GoOptions, out io.Writer) error {
	if err := checkTag(opts.Tag); err != nil {
		return err
	}
	names, err := programNames(opts.Packages)
	if err != nil {
		return err
	}
	if opts.Entrypoint == "" {
		opts.Entrypoint = names[0]
	}
	if !slices.Contains(names, opts.Entrypoint) {
		return fmt.Errorf("entrypoint %q is none of the programs %s", opts.Entrypoint, strings.Join(names, ", "))
	}
	dir, err := os.MkdirTemp("", "dynawire-image-")
	if err != nil {
		return fmt.Errorf("make a directory to build in: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // best effort in the temporary directory
	line := progress.Start(out, fmt.Sprintf("building %s for %s", strings.Join(names, ", "), opts.Tag))
	err = compile(ctx, opts, names, dir)
	line.Done(err)
	if err != nil {
		return err
	}
	return writePrograms(opts.Output, opts.Tag, dir, names, opts.Entrypoint, out)
}

// WriteBinary writes an image of one static program that was built before.
func WriteBinary(file, tag, binary string, out io.Writer) error {
	name := filepath.Base(binary)
	return writePrograms(file, tag, filepath.Dir(binary), []string{name}, name, out)
}

func writePrograms(file, tag, dir string, names []string, entrypoint string, out io.Writer) error {
	entries := make([]entry, 0, 1+len(names))
	entries = append(entries, entry{target: "tmp", mode: 0o1777})
	for _, name := range names {
		entries = append(entries, entry{source: filepath.Join(dir, name), target: name})
	}
	layerFile := file + ".layer"
	defer os.Remove(layerFile) //nolint:errcheck // a later run writes it anew
	if err := writeLayer(layerFile, entries, nil); err != nil {
		return fmt.Errorf("make image %s: %w", tag, err)
	}
	layer, err := sealLayer(layerFile)
	if err != nil {
		return fmt.Errorf("make image %s: %w", tag, err)
	}
	return Write(file, tag, []Layer{layer}, Config{User: User, Entrypoint: []string{"/" + entrypoint}, WorkingDir: "/"}, out)
}

func programNames(packages []string) ([]string, error) {
	if len(packages) == 0 {
		return nil, fmt.Errorf("no package directory is given: name at least one, such as ./cmd/webhook")
	}
	var names []string
	for _, pkg := range packages {
		name := filepath.Base(filepath.Clean(pkg))
		if name == "." || name == ".." || name == "/" || slices.Contains(names, name) {
			return nil, fmt.Errorf("package directory %q: its last element names the program, and must be a name that no other has", pkg)
		}
		names = append(names, name)
	}
	return names, nil
}

func compile(ctx context.Context, opts GoOptions, names []string, dir string) error {
	for i, pkg := range opts.Packages {
		in := opts.Root
		if filepath.IsAbs(pkg) {
			in, pkg = pkg, "."
		} else {
			pkg = "./" + filepath.ToSlash(filepath.Clean(pkg))
		}
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", filepath.Join(dir, names[i]), pkg)
		cmd.Dir = in
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+runtime.GOARCH)
		if output, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s in %s: %w\n%s", pkg, in, err, output)
		}
	}
	return nil
}
