package kube_test

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/dynawire/dynawire/pkg/runtime"
	"github.com/dynawire/dynawire/pkg/runtime/kube"
	"github.com/dynawire/dynawire/pkg/runtime/kube/apitest"
)

// kName is the ConfigMap of key "k": sha256("k") in base32.
const kName = "dynawire-kv-k-qjkmgknjfbipnvjz3u3w6saw5y"

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

// landed counts the writes that an API server took, by verb.
type landed struct {
	http.RoundTripper
	mu     sync.Mutex
	before func(*http.Request) // of every request, in its way
	writes map[string]int
}

func (l *landed) RoundTrip(r *http.Request) (*http.Response, error) {
	if l.before != nil {
		l.before(r)
	}
	response, err := l.RoundTripper.RoundTrip(r)
	if err == nil && r.Method != http.MethodGet && response.StatusCode < 300 {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.writes[r.Method]++
	}
	return response, err
}

// countWrites makes clients whose writes are counted.
func countWrites(writes *landed) func(*kube.Config) {
	writes.writes = map[string]int{}
	return func(c *kube.Config) {
		c.REST.Wrap(func(to http.RoundTripper) http.RoundTripper {
			writes.RoundTripper = to // all clients have the same
			return writes
		})
	}
}

// The replicas of a rollout all publish the same card at the same moment: all ask before any has written.
func TestKVSameCardOfAThousandReplicasIsOneWrite(t *testing.T) {
	s := apitest.New(t)
	card := bytes.Repeat([]byte("card"), 10<<10)
	var running sync.WaitGroup
	var asked atomic.Int32
	all, writes := make(chan struct{}), &landed{}
	clients := make([]*kube.Client, 10)
	for i := range clients {
		clients[i] = newClient(t, s, countWrites(writes))
	}
	const replicas = 1000
	writes.before = func(r *http.Request) {
		if r.Method != http.MethodPost {
			return
		}
		if asked.Add(1) == replicas {
			close(all)
		}
		select {
		case <-all:
		case <-time.After(patience):
		}
	}
	for i := range replicas {
		running.Go(func() {
			assert.NoError(t, clients[i%len(clients)].WriteKV(context.Background(), "mdc/Qwen3-32B", card))
		})
	}
	running.Wait()
	assert.Equal(t, map[string]int{http.MethodPost: 1}, writes.writes)
	assert.Equal(t, replicas, s.Requests("create", "configmaps"), "all but one were refused")
	for i := range 100 {
		require.NoError(t, clients[i%len(clients)].WriteKV(t.Context(), "mdc/Qwen3-32B", card))
	}
	assert.Equal(t, replicas, s.Requests("create", "configmaps"), "whoever comes later only reads")
	assert.Equal(t, map[string]int{http.MethodPost: 1}, writes.writes)
}

// What somebody else did between the read and the write is judged as if it had been read.
func TestKVLosesToARival(t *testing.T) {
	object := func(change func(*corev1.ConfigMap)) func(*apitest.Server) {
		return func(s *apitest.Server) {
			cm := s.Get("configmaps", "template", kName).(*corev1.ConfigMap).DeepCopy()
			cm.Namespace = kubeNamespace
			if change != nil {
				change(cm)
			}
			s.Set(cm)
		}
	}
	other := object(func(cm *corev1.ConfigMap) { cm.Data["value"] = "other" })
	owner := runtime.OwnedBy(runtime.Owner{APIVersion: "apps/v1", Kind: "Deployment", Name: "d", UID: "uid-d"})
	for name, tc := range map[string]struct {
		before, rival func(*apitest.Server)
		opts          []runtime.WriteOption
		is            error
		writes        map[string]int
		value         string
	}{
		"that created the same":                         {rival: object(nil), value: "v"},
		"that created another value: the last one wins": {rival: other, writes: map[string]int{http.MethodPut: 1}, value: "v"},
		"that created the same, create-only":            {rival: object(nil), opts: []runtime.WriteOption{runtime.CreateOnly()}, is: runtime.ErrAlreadyExists, value: "v"},
		"that created another value, create-only":       {rival: other, opts: []runtime.WriteOption{runtime.CreateOnly()}, is: runtime.ErrAlreadyExists, value: "other"},
		"that created the same without the owner":       {rival: object(nil), opts: []runtime.WriteOption{owner}, writes: map[string]int{http.MethodPut: 1}, value: "v"},
		"that took the place for another key": {
			rival: object(func(cm *corev1.ConfigMap) { cm.Annotations["dynawire.io/key"] = "another" }), is: runtime.ErrKeyCollision, value: "v",
		},
		"that wrote another value: the last one wins": {before: other, rival: other, writes: map[string]int{http.MethodPut: 1}, value: "v"},
		"that wrote first, the same or not, if-version": {
			before: other, rival: object(nil), opts: []runtime.WriteOption{runtime.IfVersion("102")}, is: runtime.ErrConflict, value: "v",
		},
		"that deleted": {
			before: other, rival: func(s *apitest.Server) { s.Delete("configmaps", kubeNamespace, kName) },
			writes: map[string]int{http.MethodPost: 1}, value: "v",
		},
		"that deleted, if-version": {
			before: other, rival: func(s *apitest.Server) { s.Delete("configmaps", kubeNamespace, kName) },
			opts: []runtime.WriteOption{runtime.IfVersion("102")}, is: runtime.ErrConflict,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := apitest.New(t)
			template := newClient(t, s, func(c *kube.Config) { c.Identity.PodNamespace = "template" })
			require.NoError(t, template.WriteKV(t.Context(), "k", []byte("v"))) // version 101
			if tc.before != nil {
				tc.before(s)
			}
			var once sync.Once
			writes := &landed{before: func(r *http.Request) {
				if r.Method != http.MethodGet {
					once.Do(func() { tc.rival(s) })
				}
			}}
			c := newClient(t, s, countWrites(writes))
			require.ErrorIs(t, c.WriteKV(t.Context(), "k", []byte("v"), tc.opts...), tc.is)
			if tc.writes == nil {
				tc.writes = map[string]int{}
			}
			assert.Equal(t, tc.writes, writes.writes)
			cm, _ := s.Get("configmaps", kubeNamespace, kName).(*corev1.ConfigMap)
			if tc.value == "" {
				assert.Nil(t, cm)
				return
			}
			assert.Equal(t, tc.value, cm.Data["value"])
		})
	}
}

// Every owner of many that write at once counts.
func TestKVManyOwnersAtOnce(t *testing.T) {
	s := apitest.New(t)
	c := newClient(t, s, nil)
	var running sync.WaitGroup
	const owners = 120
	for i := range owners {
		running.Go(func() {
			id := runtime.InstanceID{PodName: "worker-" + strconv.Itoa(i), UID: "uid-" + strconv.Itoa(i)}
			assert.NoError(t, c.WriteKV(context.Background(), "k", []byte("v"), runtime.OwnedBy(id.Owner())))
		})
	}
	running.Wait()
	assert.Len(t, s.Get("configmaps", kubeNamespace, kName).(*corev1.ConfigMap).OwnerReferences, owners)
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
	cm := s.Get("configmaps", kubeNamespace, kName).(*corev1.ConfigMap).DeepCopy()
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
