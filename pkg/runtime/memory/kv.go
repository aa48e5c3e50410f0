package memory

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/dynawire/dynawire/pkg/runtime"
)

// WriteKV implements runtime.Discovery.
func (c *Client) WriteKV(_ context.Context, key string, value []byte, opts ...runtime.WriteOption) error {
	var o runtime.WriteOptions
	for _, opt := range opts {
		opt(&o)
	}
	err := runtime.CheckKey(key)
	if err == nil {
		err = runtime.CheckValue(value)
	}
	if err == nil {
		err = o.Check()
	}
	if err == nil {
		err = c.write(key, value, o)
	}
	if err != nil {
		return fmt.Errorf("write key %q: %w", key, err)
	}
	return nil
}

func (c *Client) write(key string, value []byte, o runtime.WriteOptions) error {
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	if c.closed {
		return runtime.ErrClosed
	}
	at := valueKey{c.identity.PodNamespace, key}
	old, found := c.world.values[at]
	switch {
	case found && o.CreateOnly:
		return runtime.ErrAlreadyExists
	case o.IfVersion != nil && old.Version != *o.IfVersion:
		return fmt.Errorf("%w: version %q, not %q", runtime.ErrConflict, old.Version, *o.IfVersion)
	}
	adopted := o.Owner != (runtime.Owner{}) && !slices.Contains(old.owners, o.Owner)
	if found && !adopted && bytes.Equal(old.Value, value) {
		return nil
	}
	if adopted {
		old.owners = append(slices.Clone(old.owners), o.Owner)
	}
	version := strconv.FormatUint(c.world.next(), 10)
	c.world.values[at] = stored{runtime.KV{Key: key, Value: bytes.Clone(value), Version: version}, old.owners}
	return nil
}

// collect drops the values of which that pod was the last owner. Called with mu held.
func (w *World) collect(kubeNamespace, podUID string) {
	for at, v := range w.values {
		left := slices.DeleteFunc(slices.Clone(v.owners), func(o runtime.Owner) bool { return o.UID == podUID })
		if at.namespace != kubeNamespace || len(left) == len(v.owners) {
			continue
		}
		if len(left) == 0 {
			delete(w.values, at)
			continue
		}
		v.owners = left
		w.values[at] = v
	}
}

// ReadKV implements runtime.Discovery.
func (c *Client) ReadKV(_ context.Context, key string) (runtime.KV, error) {
	fail := func(err error) (runtime.KV, error) { return runtime.KV{}, fmt.Errorf("read key %q: %w", key, err) }
	if err := runtime.CheckKey(key); err != nil {
		return fail(err)
	}
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	if c.closed {
		return fail(runtime.ErrClosed)
	}
	found, ok := c.world.values[valueKey{c.identity.PodNamespace, key}]
	if !ok {
		return fail(runtime.ErrNotFound)
	}
	return runtime.KV{Key: key, Value: bytes.Clone(found.Value), Version: found.Version}, nil
}
