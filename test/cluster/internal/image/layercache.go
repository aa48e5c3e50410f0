package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/dynawire/dynawire/test/cluster/internal/lock"
	"github.com/dynawire/dynawire/test/cluster/internal/progress"
)

// cacheFormat is part of every key. Raise it when what code puts into a layer
// changes while its inputs do not.
const cacheFormat = "1"

// Cache keeps layers by what they were made from, so that images share them.
type Cache struct {
	Dir string
	Out io.Writer
}

// layer returns the layer of the given inputs, made by build where the cache has
// none. What build writes is measured here, so that build is only about content.
func (c Cache) layer(ctx context.Context, name string, inputs []string, build func(file string) error) (Layer, error) {
	sum := sha256.New()
	for _, input := range append([]string{cacheFormat, name}, inputs...) {
		_, _ = fmt.Fprintf(sum, "%d:%s,", len(input), input) // lengths keep neighbours apart
	}
	key := name + "-" + hex.EncodeToString(sum.Sum(nil))[:16]
	record := filepath.Join(c.Dir, key+".json")
	release, err := lock.Acquire(ctx, filepath.Join(c.Dir, key+".lock"), func() {
		_, _ = fmt.Fprintf(c.Out, "waiting for another build of layer %s\n", name)
	})
	if err != nil {
		return Layer{}, err
	}
	defer release()
	if layer, err := readLayer(record); err == nil {
		return layer, nil
	} else if !errors.Is(err, os.ErrNotExist) {
		return Layer{}, err
	}
	line := progress.Start(c.Out, "making layer "+name)
	layer, err := c.make(filepath.Join(c.Dir, key+".tar"), record, build)
	line.Done(err)
	return layer, err
}

func (c Cache) make(file, record string, build func(file string) error) (Layer, error) {
	if err := build(file); err != nil {
		return Layer{}, err
	}
	layer, err := sealLayer(file)
	if err != nil {
		return Layer{}, err
	}
	data, err := json.Marshal(layer.Digest)
	if err != nil {
		return Layer{}, fmt.Errorf("encode the record of layer %s: %w", file, err)
	}
	return layer, create(record, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// readLayer trusts the record: it is written after its layer is whole.
func readLayer(record string) (Layer, error) {
	data, err := os.ReadFile(record)
	if err != nil {
		return Layer{}, fmt.Errorf("read a cached layer: %w", err)
	}
	layer := Layer{File: record[:len(record)-len(".json")] + ".tar"}
	if err := json.Unmarshal(data, &layer.Digest); err != nil {
		return Layer{}, fmt.Errorf("read the cached layer's record %s: %w; remove it", record, err)
	}
	if _, err := os.Stat(layer.File); err != nil {
		return Layer{}, fmt.Errorf("read a cached layer: %w", err)
	}
	return layer, nil
}
