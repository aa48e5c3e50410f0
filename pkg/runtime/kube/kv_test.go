package kube_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/kube"
	"github.com/dynawire/dynawire/pkg/runtime/kube/apitest"
)

func TestKVKeepsAnyKeyAndAnyValue(t *testing.T) {
	s := apitest.New(t)
	c := newClient(t, s, nil)
	for _, key := range []string{
		"mdc/Qwen3-32B", "mdc/qwen3-32b", "a_b", "a/b", "ключ", "..", "/", " ", strings.Repeat("k", 1024), "a\x00b",
	} {
		for _, value := range [][]byte{[]byte(`{"display_name":"Qwen3-32B"}`), {0xff, 0x00, 0xfe}, {}, bytes.Repeat([]byte("v"), 1<<20)} {
			require.NoError(t, c.WriteKV(t.Context(), key, value), "%q", key)
			kv, err := c.ReadKV(t.Context(), key)
			require.NoError(t, err)
			assert.Equal(t, key, kv.Key)
			assert.True(t, bytes.Equal(value, kv.Value), "%q", key)
		}
	}
	_, err := c.ReadKV(t.Context(), "A_b")
	require.ErrorIs(t, err, runtime.ErrNotFound)
}

func TestKVWritesOnlyWhatIsNew(t *testing.T) {
	s := apitest.New(t)
	c := newClient(t, s, nil)
	for range 3 {
		require.NoError(t, c.WriteKV(t.Context(), "k", []byte("v")))
	}
	assert.Equal(t, 1, s.Requests("create", "configmaps"))
	assert.Zero(t, s.Requests("update", "configmaps"))
	require.NoError(t, c.WriteKV(t.Context(), "k", []byte("w")), "the last writer wins")
	assert.Equal(t, 1, s.Requests("update", "configmaps"))
}

// The replicas of a rollout all publish the same card: the first hundred at the same moment, the others as they come.
func TestKVSameCardOfAThousandReplicasIsOneWrite(t *testing.T) {
	s := apitest.New(t)
	card := bytes.Repeat([]byte("card"), 10<<10)
	write := func(replicas int) {
		var running sync.WaitGroup
		for range replicas {
			c := newClient(t, s, func(c *kube.Config) { c.REST.QPS = -1 })
			running.Go(func() { assert.NoError(t, c.WriteKV(context.Background(), "mdc/Qwen3-32B", card)) })
		}
		running.Wait()
	}
	write(100)
	version := s.All("configmaps", kubeNamespace)[0].(*corev1.ConfigMap).ResourceVersion
	created := s.Requests("create", "configmaps")
	for range 9 {
		write(100)
	}
	assert.Equal(t, version, s.All("configmaps", kubeNamespace)[0].(*corev1.ConfigMap).ResourceVersion)
	assert.Equal(t, created, s.Requests("create", "configmaps"), "whoever comes later only reads")
	assert.Zero(t, s.Requests("update", "configmaps"))
}

func TestKVOwnerMustBeComplete(t *testing.T) {
	c := newClient(t, apitest.New(t), nil)
	err := c.WriteKV(t.Context(), "k", nil, runtime.OwnedBy(runtime.Owner{Kind: "Deployment", Name: "d"}))
	assert.ErrorContains(t, err, "want APIVersion, Kind, Name and UID")
}

func TestKVOptions(t *testing.T) {
	s := apitest.New(t)
	c := newClient(t, s, nil)
	require.ErrorIs(t, c.WriteKV(t.Context(), "k", nil, runtime.IfVersion("7")), runtime.ErrConflict)
	require.NoError(t, c.WriteKV(t.Context(), "k", []byte("v"), runtime.CreateOnly()))
	require.ErrorIs(t, c.WriteKV(t.Context(), "k", []byte("v"), runtime.CreateOnly()), runtime.ErrAlreadyExists)
	kv, err := c.ReadKV(t.Context(), "k")
	require.NoError(t, err)
	require.NoError(t, c.WriteKV(t.Context(), "k", []byte("w"), runtime.IfVersion(kv.Version)))
	require.ErrorIs(t, c.WriteKV(t.Context(), "k", []byte("x"), runtime.IfVersion(kv.Version)), runtime.ErrConflict)
}

func TestKVRefusesBeforeItAsks(t *testing.T) {
	s := apitest.New(t)
	c := newClient(t, s, nil)
	require.ErrorIs(t, c.WriteKV(t.Context(), "k", make([]byte, 1<<20+1)), runtime.ErrTooLarge)
	for _, key := range []string{"", strings.Repeat("k", 1025), "\xff"} {
		require.ErrorIs(t, c.WriteKV(t.Context(), key, nil), runtime.ErrInvalidKey)
		_, err := c.ReadKV(t.Context(), key)
		require.ErrorIs(t, err, runtime.ErrInvalidKey)
	}
	assert.Zero(t, s.Requests("get", "configmaps"))
}

func TestKVDoesNotTakeAnotherObjectForTheKeys(t *testing.T) {
	s := apitest.New(t)
	c := newClient(t, s, nil)
	require.NoError(t, c.WriteKV(t.Context(), "k", []byte("v")))
	// sha256("k") in base32
	cm := s.Get("configmaps", kubeNamespace, "dynawire-kv-k-qjkmgknjfbipnvjz3u3w6saw5y").(*corev1.ConfigMap).DeepCopy()
	cm.Annotations["dynawire.io/key"] = "another"
	s.Set(cm)
	_, err := c.ReadKV(t.Context(), "k")
	require.ErrorIs(t, err, runtime.ErrKeyCollision)
	require.ErrorIs(t, c.WriteKV(t.Context(), "k", []byte("w")), runtime.ErrKeyCollision)
}

func TestKVForbiddenSaysWhatToDo(t *testing.T) {
	s := apitest.New(t)
	s.Deny("get", "configmaps", true)
	c := newClient(t, s, nil)
	err := c.WriteKV(t.Context(), "k", nil)
	require.ErrorIs(t, err, runtime.ErrForbidden)
	assert.ErrorContains(t, err, `cannot get resource "configmaps"`)
	assert.ErrorContains(t, err, "dynawire.io/key-value=true")
}
