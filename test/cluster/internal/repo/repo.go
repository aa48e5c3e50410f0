// Package repo finds the checkout that a command runs in, and the cache that
// belongs to it.
package repo

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// CacheEnv names the environment variable that moves the cache elsewhere.
const CacheEnv = "DYNAWIRE_CACHE"

// rootModule is the module path in the go.mod at the top of the checkout.
const rootModule = "github.com/dynawire/dynawire"

// Paths are the directories that everything else is derived from, all absolute.
type Paths struct {
	// Root is the top of the checkout: the directory of the root module.
	Root string
	// Module is the directory of this module, whose go.mod pins the versions.
	Module string
	// Cache holds what can be made again: binaries, images, clusters.
	Cache string
}

// Find walks up from dir to the root of the checkout. The cache is the given
// directory, else what CacheEnv says, else .cache at the root.
func Find(dir, cache string) (Paths, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Paths{}, fmt.Errorf("resolve %s: %w", dir, err)
	}
	root, err := findRoot(dir)
	if err != nil {
		return Paths{}, err
	}
	if cache == "" {
		cache = os.Getenv(CacheEnv)
	}
	if cache == "" {
		cache = filepath.Join(root, ".cache")
	}
	if cache, err = filepath.Abs(cache); err != nil {
		return Paths{}, fmt.Errorf("resolve the cache directory: %w", err)
	}
	return Paths{Root: root, Module: filepath.Join(root, "test", "cluster"), Cache: cache}, nil
}

// Binaries is where the binaries of one set of versions live.
func (p Paths) Binaries(key string) string { return filepath.Join(p.Cache, "cluster", "bin", key) }

// Clusters holds one directory per cluster.
func (p Paths) Clusters() string { return filepath.Join(p.Cache, "cluster", "clusters") }

// Layers holds image layers, keyed by what they were made from.
func (p Paths) Layers() string { return filepath.Join(p.Cache, "images", "layers") }

func findRoot(from string) (string, error) {
	for dir := from; ; dir = filepath.Dir(dir) {
		name, err := modulePath(filepath.Join(dir, "go.mod"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		if name == rootModule {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod of module %s at or above %s: run this inside a checkout", rootModule, from)
		}
	}
}

func modulePath(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("look for the module: %w", err)
	}
	defer f.Close() //nolint:errcheck // opened for reading only
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if name, ok := strings.CutPrefix(strings.TrimSpace(lines.Text()), "module "); ok {
			return strings.TrimSpace(name), nil
		}
	}
	if err := lines.Err(); err != nil {
		return "", fmt.Errorf("read %s: %w", file, err)
	}
	return "", nil
}
