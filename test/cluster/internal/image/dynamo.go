package image

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

const (
	// pythonVersion is that of debianSuite: wheels are chosen for it.
	pythonVersion = "3.11"
	// Where the image keeps its parts.
	requirementsDir = "opt/python"
	dynamoDir       = "opt/dynamo"
	modelDir        = "models/tiny"
)

//go:embed dynamo-requirements.txt
var dynamoRequirements string //nolint:gochecknoglobals // an embedded file

var dynamoVersion = regexp.MustCompile(`^[0-9]+(\.[0-9]+)+[a-z0-9.]*$`) //nolint:gochecknoglobals // a constant in all but syntax

// DynamoOptions describe an image of NVIDIA Dynamo's own Python packages.
type DynamoOptions struct {
	Version string
	// Model is a directory that the mocker can serve.
	Model  string
	Tag    string
	Output string
}

// BuildDynamo writes an image of a Dynamo release, from Debian packages and wheels.
func BuildDynamo(ctx context.Context, opts DynamoOptions, cache Cache) error {
	if err := checkTag(opts.Tag); err != nil {
		return err
	}
	if !dynamoVersion.MatchString(opts.Version) {
		return fmt.Errorf("dynamo version %q: write it as on the package index, such as 1.6.1", opts.Version)
	}
	layers, err := dynamoLayers(ctx, opts, cache)
	if err != nil {
		return err
	}
	return Write(opts.Output, opts.Tag, layers, Config{
		User: User,
		Env: []string{
			"PATH=/usr/local/bin:/usr/bin:/bin",
			"PYTHONPATH=/" + dynamoDir + ":/" + requirementsDir,
			"PYTHONUNBUFFERED=1",
			"HOME=/tmp",
			"HF_HUB_OFFLINE=1",
		},
		WorkingDir: "/tmp",
	}, cache.Out)
}

// dynamoLayers go from what changes least to what changes most.
func dynamoLayers(ctx context.Context, opts DynamoOptions, cache Cache) ([]Layer, error) {
	base, err := cache.layer(ctx, "debian", debianInputs(), func(file string) error { return debianLayer(ctx, file) })
	if err != nil {
		return nil, err
	}
	requirements, err := cache.layer(ctx, "requirements", []string{pythonVersion, runtime.GOARCH, dynamoRequirements}, func(file string) error {
		list := file + ".txt"
		if err := os.WriteFile(list, []byte(dynamoRequirements), 0o644); err != nil {
			return fmt.Errorf("write the requirements: %w", err)
		}
		defer os.Remove(list) //nolint:errcheck // a later run writes it anew
		return pythonLayer(ctx, file, requirementsDir, "--requirement", list)
	})
	if err != nil {
		return nil, err
	}
	model, err := modelLayer(ctx, opts.Model, cache)
	if err != nil {
		return nil, err
	}
	dynamo, err := cache.layer(ctx, "dynamo-"+opts.Version, []string{pythonVersion, runtime.GOARCH}, func(file string) error {
		return pythonLayer(ctx, file, dynamoDir, "ai-dynamo=="+opts.Version, "ai-dynamo-runtime=="+opts.Version)
	})
	return []Layer{base, requirements, model, dynamo}, err
}

func modelLayer(ctx context.Context, dir string, cache Cache) (Layer, error) {
	var inputs []string
	files, err := os.ReadDir(dir)
	if err != nil {
		return Layer{}, fmt.Errorf("read the model: %w", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join(dir, file.Name()))
		if err != nil {
			return Layer{}, fmt.Errorf("read the model: %w", err)
		}
		inputs = append(inputs, file.Name(), string(data))
	}
	return cache.layer(ctx, "model", inputs, func(file string) error {
		return writeLayer(file, []entry{{source: dir, target: modelDir}}, nil)
	})
}

// pythonLayer installs packages into a directory of their own.
func pythonLayer(ctx context.Context, file, target string, packages ...string) error {
	dir := file + ".dir"
	defer os.RemoveAll(dir) //nolint:errcheck // a later run removes it first
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("clean up after an earlier run: %w", err)
	}
	if err := pipInstall(ctx, dir, packages); err != nil {
		return err
	}
	return writeLayer(file, []entry{{source: dir, target: target}}, unneeded)
}

// unneeded is what no program that runs imports.
func unneeded(name string, dir bool) bool {
	base := path.Base(name)
	if dir {
		return base == "__pycache__" || base == "tests" || name == "bin"
	}
	return strings.HasSuffix(base, ".pyc") || strings.HasSuffix(base, ".pyi")
}
