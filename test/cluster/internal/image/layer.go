package image

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"
)

// entry is a tree of a layer.
type entry struct {
	source string // file or directory on the host; empty for an empty directory
	target string // in the image, without a leading slash
	mode   int64  // of an empty directory
}

// writeLayer writes a layer of the given trees: sorted, owned by root, all at
// the same time, so that the same content gives the same digest. skip names
// what is left out, by its path beneath the source.
func writeLayer(file string, entries []entry, skip func(path string, dir bool) bool) error {
	return create(file, func(w io.Writer) error {
		out := tar.NewWriter(w)
		made := map[string]bool{}
		for _, e := range entries {
			if err := addParents(out, e.target, made); err != nil {
				return err
			}
			if e.source == "" {
				if err := addDir(out, e.target, e.mode, made); err != nil {
					return err
				}
				continue
			}
			if err := addTree(out, e, made, skip); err != nil {
				return err
			}
		}
		return out.Close()
	})
}

// sealLayer is the layer of a tar file that is there.
func sealLayer(file string) (Layer, error) {
	f, err := os.Open(file)
	if err != nil {
		return Layer{}, fmt.Errorf("read layer: %w", err)
	}
	defer f.Close() //nolint:errcheck // opened for reading only
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return Layer{}, fmt.Errorf("read layer %s: %w", file, err)
	}
	return Layer{File: file, Digest: "sha256:" + hex.EncodeToString(sum.Sum(nil))}, nil
}

func addParents(out *tar.Writer, target string, made map[string]bool) error {
	parent := path.Dir(target)
	if parent == "." || made[parent] {
		return nil
	}
	if err := addParents(out, parent, made); err != nil {
		return err
	}
	return addDir(out, parent, 0o755, made)
}

func addDir(out *tar.Writer, target string, mode int64, made map[string]bool) error {
	if made[target] {
		return nil
	}
	made[target] = true
	header := &tar.Header{Typeflag: tar.TypeDir, Name: target + "/", Mode: mode, ModTime: time.Unix(0, 0)}
	if err := out.WriteHeader(header); err != nil {
		return fmt.Errorf("add %s: %w", target, err)
	}
	return nil
}

// addTree relies on WalkDir's lexical order for the layer's.
func addTree(out *tar.Writer, e entry, made map[string]bool, skip func(string, bool) bool) error {
	walk := func(source string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(e.source, source)
		if err != nil {
			return err
		}
		if rel != "." && skip != nil && skip(filepath.ToSlash(rel), d.IsDir()) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		return addNode(out, source, path.Join(e.target, filepath.ToSlash(rel)), d, made)
	}
	if err := filepath.WalkDir(e.source, walk); err != nil {
		return fmt.Errorf("add %s to the layer: %w", e.source, err)
	}
	return nil
}

func addNode(out *tar.Writer, source, target string, d fs.DirEntry, made map[string]bool) error {
	switch {
	case d.IsDir():
		return addDir(out, target, 0o755, made)
	case d.Type()&fs.ModeSymlink != 0:
		link, err := os.Readlink(source)
		if err != nil {
			return err
		}
		return out.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: target, Linkname: link, Mode: 0o777, ModTime: time.Unix(0, 0)})
	case d.Type().IsRegular():
		info, err := d.Info()
		if err != nil {
			return err
		}
		mode := int64(0o644)
		if info.Mode()&0o100 != 0 {
			mode = 0o755
		}
		return addFile(out, target, source, mode)
	}
	return nil // sockets and devices have no place in a layer
}
