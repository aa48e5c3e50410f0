package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/wiring"
)

const (
	// kvKeyAnnotation holds the exact key, so that a name that two keys came to share is noticed.
	kvKeyAnnotation = "dynawire.io/key"
	// kvLabel lets people list what the store holds; the library itself never lists ConfigMaps.
	kvLabel   = "dynawire.io/key-value"
	kvDataKey = "value"
	// Those that each name another owner take turns: 200 at once take 2 s.
	kvBudget            = time.Minute
	kvDelay, kvDelayMax = 5 * time.Millisecond, 5 * time.Second
)

// WriteKV implements runtime.Discovery on a ConfigMap per key.
func (c *Client) WriteKV(ctx context.Context, key string, value []byte, opts ...runtime.WriteOption) error {
	var o runtime.WriteOptions
	for _, opt := range opts {
		opt(&o)
	}
	if err := c.whileOpen(ctx, func(ctx context.Context) error { return c.write(ctx, key, value, o) }); err != nil {
		return fmt.Errorf("write key %q: %w", key, err)
	}
	return nil
}

func (c *Client) write(ctx context.Context, key string, value []byte, o runtime.WriteOptions) error {
	if err := runtime.CheckKey(key); err != nil {
		return err
	}
	if err := runtime.CheckValue(value); err != nil {
		return err
	}
	if err := o.Check(); err != nil {
		return err
	}
	// The object may come, go or change between the read and the write; then what was read is worth nothing. Each time one of
	// those who write at once has got through, so that the next try is worth it.
	start := c.clock.Now()
	for delay := kvDelay; ; delay = min(kvDelayMax, 2*delay) {
		again, err := c.writeOnce(ctx, key, value, o)
		switch {
		case err == nil:
			return nil
		case !again || c.clock.Since(start) > kvBudget:
			return err
		}
		select {
		case <-c.clock.After(rand.N(delay)):
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
}

// writeOnce reads and writes; again says that somebody else wrote in between, so that it is worth another try.
func (c *Client) writeOnce(ctx context.Context, key string, value []byte, o runtime.WriteOptions) (again bool, err error) {
	cm, err := c.getConfigMap(ctx, key)
	switch {
	case apierrors.IsNotFound(err) && o.IfVersion != nil:
		return false, fmt.Errorf("%w: it is gone", runtime.ErrConflict)
	case apierrors.IsNotFound(err):
		err = c.createConfigMap(ctx, key, value, o.Owner)
		return apierrors.IsAlreadyExists(err), explainKV(err)
	case err != nil:
		return false, explainKV(err)
	case o.CreateOnly:
		return false, runtime.ErrAlreadyExists
	case o.IfVersion != nil && *o.IfVersion != cm.ResourceVersion:
		return false, fmt.Errorf("%w: version %s, not %s", runtime.ErrConflict, cm.ResourceVersion, *o.IfVersion)
	}
	adopted := addOwner(cm, o.Owner)
	if !adopted && bytes.Equal(stored(cm), value) {
		return false, nil
	}
	setValue(cm, value)
	if o.IfVersion == nil && !adopted {
		cm.ResourceVersion = "" // whatever is there is replaced: the last writer wins
	}
	err = c.api.core.Put().Namespace(cm.Namespace).Resource("configmaps").Name(cm.Name).Body(cm).Do(ctx).Error()
	switch {
	case o.IfVersion != nil && (apierrors.IsConflict(err) || apierrors.IsNotFound(err)):
		return false, fmt.Errorf("%w: %w", runtime.ErrConflict, err)
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return true, err
	default:
		return false, explainKV(err)
	}
}

// addOwner is true where the object did not have that owner.
func addOwner(cm *corev1.ConfigMap, o runtime.Owner) bool {
	if o == (runtime.Owner{}) || slices.ContainsFunc(cm.OwnerReferences, func(r metav1.OwnerReference) bool { return string(r.UID) == o.UID }) {
		return false
	}
	cm.OwnerReferences = append(cm.OwnerReferences, metav1.OwnerReference{
		APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, UID: types.UID(o.UID),
	})
	return true
}

// ReadKV implements runtime.Discovery.
func (c *Client) ReadKV(ctx context.Context, key string) (runtime.KV, error) {
	var cm *corev1.ConfigMap
	err := c.whileOpen(ctx, func(ctx context.Context) (err error) {
		if err = runtime.CheckKey(key); err == nil {
			cm, err = c.getConfigMap(ctx, key)
		}
		return err
	})
	switch {
	case apierrors.IsNotFound(err):
		return runtime.KV{}, fmt.Errorf("read key %q: %w", key, runtime.ErrNotFound)
	case err != nil:
		return runtime.KV{}, fmt.Errorf("read key %q: %w", key, explainKV(err))
	}
	return runtime.KV{Key: key, Value: stored(cm), Version: cm.ResourceVersion}, nil
}

// getConfigMap reads the key's object and makes sure that it is the key's.
func (c *Client) getConfigMap(ctx context.Context, key string) (*corev1.ConfigMap, error) {
	var cm corev1.ConfigMap
	err := c.api.core.Get().Namespace(c.identity.PodNamespace).Resource("configmaps").Name(configMapName(key)).Do(ctx).Into(&cm)
	if err != nil {
		return nil, err
	}
	if found, ok := cm.Annotations[kvKeyAnnotation]; !ok || found != key {
		return nil, fmt.Errorf("%w: ConfigMap %s has annotation %s=%q", runtime.ErrKeyCollision, cm.Name, kvKeyAnnotation, found)
	}
	return &cm, nil
}

func (c *Client) createConfigMap(ctx context.Context, key string, value []byte, owner runtime.Owner) error {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: configMapName(key), Namespace: c.identity.PodNamespace,
		Labels:      map[string]string{kvLabel: "true"},
		Annotations: map[string]string{kvKeyAnnotation: key},
	}}
	addOwner(cm, owner)
	setValue(cm, value)
	return c.api.core.Post().Namespace(cm.Namespace).Resource("configmaps").Body(cm).Do(ctx).Error()
}

// setValue keeps text as text, for those who read it with kubectl, and anything else as bytes.
func setValue(cm *corev1.ConfigMap, value []byte) {
	cm.Data, cm.BinaryData = nil, nil
	if utf8.Valid(value) {
		cm.Data = map[string]string{kvDataKey: string(value)}
		return
	}
	cm.BinaryData = map[string][]byte{kvDataKey: value}
}

func stored(cm *corev1.ConfigMap) []byte {
	if v, ok := cm.BinaryData[kvDataKey]; ok {
		return v
	}
	return []byte(cm.Data[kvDataKey])
}

// explainKV is explain for the right that is not given to every namespace.
func explainKV(err error) error {
	if err == nil || !apierrors.IsForbidden(err) {
		return err
	}
	return fmt.Errorf("%w: %w; dynawire binds the Role %s in namespaces annotated %s=true",
		runtime.ErrForbidden, err, wiring.KeyValueRole, wiring.AnnotationKeyValue)
}
