// Package image builds container images into archives, without a container
// engine and without a registry.
package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/dynawire/dynawire/test/cluster/internal/progress"
)

// User runs every image: it is nobody's on the host and not root.
const User = "65532:65532"

// Layer is an uncompressed tar file: a local archive gains nothing from being
// packed and unpacked.
type Layer struct {
	File   string
	Digest string // sha256:HEX of the file
}

// Config is how the image's process is started.
type Config struct {
	User       string   `json:"User,omitempty"`
	Env        []string `json:"Env,omitempty"`
	Entrypoint []string `json:"Entrypoint,omitempty"`
	WorkingDir string   `json:"WorkingDir,omitempty"`
}

// Info is what an archive says about its image.
type Info struct {
	Tag    string // as it was given, such as local/NAME:TAG
	Config string // sha256:HEX of the image's configuration: the image's identity
}

// Reference is the image's name as containerd and pods know it.
func (i Info) Reference() string {
	if first, _, found := strings.Cut(i.Tag, "/"); found && strings.ContainsAny(first, ".:") {
		return i.Tag
	}
	return "docker.io/" + i.Tag
}

// manifest is an entry of manifest.json in a docker-archive.
type manifest struct {
	Config   string   `json:"Config"`
	RepoTags []string `json:"RepoTags"`
	Layers   []string `json:"Layers"`
}

// Write writes a docker-archive of the layers. The same layers, tag and
// configuration always give the same bytes, and an archive that is there already
// is left as it is.
func Write(file, tag string, layers []Layer, config Config, say io.Writer) error {
	if err := checkTag(tag); err != nil {
		return err
	}
	configJSON, err := imageConfig(layers, config)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(configJSON)
	digest := hex.EncodeToString(sum[:])
	if info, err := ReadInfo(file); err == nil && info == (Info{Tag: tag, Config: "sha256:" + digest}) {
		_, _ = fmt.Fprintf(say, "image %s in %s is up to date\n", tag, file)
		return nil
	}
	entry := manifest{Config: digest + ".json", RepoTags: []string{tag}}
	for _, layer := range layers {
		entry.Layers = append(entry.Layers, strings.TrimPrefix(layer.Digest, "sha256:")+"/layer.tar")
	}
	manifestJSON, err := json.Marshal([]manifest{entry})
	if err != nil {
		return fmt.Errorf("encode the manifest of %s: %w", tag, err)
	}
	line := progress.Start(say, fmt.Sprintf("writing image %s to %s", tag, file))
	err = create(file, func(w io.Writer) error {
		out := tar.NewWriter(w)
		// The manifest comes first, so that a reader need not look through the layers for it.
		if err := addBytes(out, "manifest.json", manifestJSON); err != nil {
			return err
		}
		if err := addBytes(out, entry.Config, configJSON); err != nil {
			return err
		}
		for i, layer := range layers {
			if err := addFile(out, entry.Layers[i], layer.File, 0o644); err != nil {
				return err
			}
		}
		return out.Close()
	})
	line.Done(err)
	return err
}

func imageConfig(layers []Layer, config Config) ([]byte, error) {
	digests := make([]string, 0, len(layers))
	for _, layer := range layers {
		digests = append(digests, layer.Digest)
	}
	out, err := json.Marshal(map[string]any{
		"created":      time.Unix(0, 0).UTC(),
		"architecture": runtime.GOARCH,
		"os":           "linux",
		"config":       config,
		"rootfs":       map[string]any{"type": "layers", "diff_ids": digests},
	})
	if err != nil {
		return nil, fmt.Errorf("encode the image's configuration: %w", err)
	}
	return out, nil
}

// ReadInfo reads an archive's tag and identity.
func ReadInfo(file string) (Info, error) {
	f, err := os.Open(file)
	if err != nil {
		return Info{}, fmt.Errorf("open image archive: %w", err)
	}
	defer f.Close() //nolint:errcheck // opened for reading only
	in := tar.NewReader(f)
	for {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return Info{}, fmt.Errorf("%s has no manifest.json: it is no docker-archive; build one with `image go` or `image dynamo`", file)
		}
		if err != nil {
			return Info{}, fmt.Errorf("read image archive %s: %w", file, err)
		}
		if header.Name == "manifest.json" {
			return parseManifest(file, in)
		}
	}
}

func parseManifest(file string, in io.Reader) (Info, error) {
	var entries []manifest
	if err := json.NewDecoder(in).Decode(&entries); err != nil {
		return Info{}, fmt.Errorf("read manifest.json of %s: %w", file, err)
	}
	if len(entries) != 1 || len(entries[0].RepoTags) != 1 {
		return Info{}, fmt.Errorf("%s holds more or less than one image with one tag", file)
	}
	config := strings.TrimSuffix(filepath.Base(entries[0].Config), ".json")
	return Info{Tag: entries[0].RepoTags[0], Config: "sha256:" + strings.TrimPrefix(config, "sha256:")}, nil
}

func checkTag(tag string) error {
	name, version, found := strings.Cut(tag[strings.LastIndex(tag, "/")+1:], ":")
	if !found || name == "" || version == "" || !strings.Contains(tag, "/") {
		return fmt.Errorf("tag %q: write it as local/NAME:TAG", tag)
	}
	return nil
}

// create writes a file under another name first: one that is there is whole.
func create(file string, write func(io.Writer) error) (err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("make the directory of %s: %w", file, err)
	}
	partial := file + ".partial"
	f, err := os.Create(partial)
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		_ = os.Remove(partial)
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := os.Rename(partial, file); err != nil {
		return fmt.Errorf("put %s in place: %w", file, err)
	}
	return nil
}

func addBytes(out *tar.Writer, name string, data []byte) error {
	if err := out.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data)), ModTime: time.Unix(0, 0)}); err != nil {
		return fmt.Errorf("add %s: %w", name, err)
	}
	if _, err := io.Copy(out, bytes.NewReader(data)); err != nil {
		return fmt.Errorf("add %s: %w", name, err)
	}
	return nil
}

func addFile(out *tar.Writer, name, file string, mode int64) error {
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("add %s: %w", name, err)
	}
	defer f.Close() //nolint:errcheck // opened for reading only
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("add %s: %w", name, err)
	}
	if err := out.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: info.Size(), ModTime: time.Unix(0, 0)}); err != nil {
		return fmt.Errorf("add %s: %w", name, err)
	}
	if _, err := io.Copy(out, f); err != nil {
		return fmt.Errorf("add %s: %w", name, err)
	}
	return nil
}
