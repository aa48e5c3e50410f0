package discoverytest

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/runtime"
)

var keyValue = []test{
	{"any key keeps any value, for every pod", func(s *suite) {
		w, r := s.router("router-0"), s.router("router-1")
		for _, key := range []string{"mdc/Qwen3-32B", "mdc/qwen3-32b", "a_b", "a/b", "ключ", "..", " ", strings.Repeat("k", runtime.MaxKey), "a\x00b"} {
			for _, value := range [][]byte{[]byte(`{"display_name":"` + key + `"}`), {0xff, 0, 0xfe}, {}} {
				require.NoError(s, w.WriteKV(s.ctx(), key, value), "%q", key)
				kv, err := r.ReadKV(s.ctx(), key)
				require.NoError(s, err, "%q", key)
				assert.Equal(s, key, kv.Key)
				assert.True(s, bytes.Equal(value, kv.Value), "%q", key)
				assert.NotEmpty(s, kv.Version)
			}
		}
		large := bytes.Repeat([]byte("v"), runtime.MaxValue)
		require.NoError(s, w.WriteKV(s.ctx(), "large", large))
		kv, err := r.ReadKV(s.ctx(), "large")
		require.NoError(s, err)
		assert.True(s, bytes.Equal(large, kv.Value))
	}},
	{"a key that nobody wrote is not found", func(s *suite) {
		_, err := s.router("router-0").ReadKV(s.ctx(), "nothing")
		require.ErrorIs(s, err, runtime.ErrNotFound)
	}},
	{"the last writer wins, and writing the same is no write", func(s *suite) {
		a, b := s.router("router-0"), s.router("router-1")
		require.NoError(s, a.WriteKV(s.ctx(), "k", []byte("v")))
		first, err := a.ReadKV(s.ctx(), "k")
		require.NoError(s, err)
		require.NoError(s, b.WriteKV(s.ctx(), "k", []byte("v")))
		same, err := a.ReadKV(s.ctx(), "k")
		require.NoError(s, err)
		assert.Equal(s, first.Version, same.Version)
		require.NoError(s, b.WriteKV(s.ctx(), "k", []byte("w")))
		other, err := a.ReadKV(s.ctx(), "k")
		require.NoError(s, err)
		assert.Equal(s, "w", string(other.Value))
		assert.NotEqual(s, first.Version, other.Version)
	}},
	{"create-only creates", func(s *suite) {
		r := s.router("router-0")
		require.NoError(s, r.WriteKV(s.ctx(), "k", []byte("v"), runtime.CreateOnly()))
		require.ErrorIs(s, r.WriteKV(s.ctx(), "k", []byte("w"), runtime.CreateOnly()), runtime.ErrAlreadyExists)
		require.ErrorIs(s, r.WriteKV(s.ctx(), "k", []byte("v"), runtime.CreateOnly()), runtime.ErrAlreadyExists)
		kv, err := r.ReadKV(s.ctx(), "k")
		require.NoError(s, err)
		assert.Equal(s, "v", string(kv.Value))
	}},
	{"nobody overwrites what they have not read", func(s *suite) {
		r := s.router("router-0")
		require.ErrorIs(s, r.WriteKV(s.ctx(), "k", []byte("v"), runtime.IfVersion("7")), runtime.ErrConflict)
		require.NoError(s, r.WriteKV(s.ctx(), "k", []byte("v")))
		kv, err := r.ReadKV(s.ctx(), "k")
		require.NoError(s, err)
		require.NoError(s, r.WriteKV(s.ctx(), "k", []byte("w"), runtime.IfVersion(kv.Version)))
		require.ErrorIs(s, r.WriteKV(s.ctx(), "k", []byte("x"), runtime.IfVersion(kv.Version)), runtime.ErrConflict)
	}},
	{"options that mean nothing are refused", func(s *suite) {
		r := s.router("router-0")
		require.NoError(s, r.WriteKV(s.ctx(), "k", []byte("v")))
		var unread runtime.KV
		for says, option := range map[string]runtime.WriteOption{
			"IfVersion is empty": runtime.IfVersion(unread.Version),
			"is not complete":    runtime.OwnedBy(runtime.Owner{Kind: "Pod", Name: "worker-0"}),
		} {
			require.ErrorContains(s, r.WriteKV(s.ctx(), "k", []byte("w"), option), says)
			require.ErrorContains(s, r.WriteKV(s.ctx(), "new", []byte("w"), option), says)
		}
		kv, err := r.ReadKV(s.ctx(), "k")
		require.NoError(s, err)
		assert.Equal(s, "v", string(kv.Value))
		_, err = r.ReadKV(s.ctx(), "new")
		require.ErrorIs(s, err, runtime.ErrNotFound)
	}},
	{"many writers of one key: all succeed, or exactly one does", func(s *suite) {
		const writers = 20
		pods := make([]*process, 4)
		for i := range pods {
			pods[i] = s.router("router-" + string(rune('0'+i)))
		}
		var running sync.WaitGroup
		var mu sync.Mutex
		created := 0
		for i := range writers {
			running.Go(func() {
				p := pods[i%len(pods)]
				assert.NoError(s, p.WriteKV(s.ctx(), "same", []byte("card")))
				if p.WriteKV(s.ctx(), "once", []byte{byte(i)}, runtime.CreateOnly()) == nil {
					mu.Lock()
					created++
					mu.Unlock()
				}
			})
		}
		running.Wait()
		assert.Equal(s, 1, created)
		kv, err := pods[0].ReadKV(s.ctx(), "same")
		require.NoError(s, err)
		assert.Equal(s, "card", string(kv.Value))
	}},
	{"many that write the same at once make one write", func(s *suite) {
		const writers = 200
		pods := make([]*process, 10)
		for i := range pods {
			pods[i] = s.router("router-" + string(rune('0'+i)))
		}
		card := bytes.Repeat([]byte("card"), 1<<10)
		ctx := s.ctx()
		start := make(chan struct{})
		var running sync.WaitGroup
		var mu sync.Mutex
		versions := map[string]int{}
		for i := range writers {
			running.Go(func() {
				<-start
				p := pods[i%len(pods)]
				if !assert.NoError(s, p.WriteKV(ctx, "mdc/Qwen3-32B", card)) {
					return
				}
				kv, err := p.ReadKV(ctx, "mdc/Qwen3-32B")
				assert.NoError(s, err)
				assert.True(s, bytes.Equal(card, kv.Value))
				mu.Lock()
				defer mu.Unlock()
				versions[kv.Version]++
			})
		}
		close(start)
		running.Wait()
		assert.Len(s, versions, 1, "each writer finds the version of the one write: %v", versions)
	}},
	{"what cannot be stored is refused", func(s *suite) {
		r := s.router("router-0")
		require.ErrorIs(s, r.WriteKV(s.ctx(), "k", make([]byte, runtime.MaxValue+1)), runtime.ErrTooLarge)
		for _, key := range []string{"", strings.Repeat("k", runtime.MaxKey+1), "\xff"} {
			require.ErrorIs(s, r.WriteKV(s.ctx(), key, nil), runtime.ErrInvalidKey)
			_, err := r.ReadKV(s.ctx(), key)
			require.ErrorIs(s, err, runtime.ErrInvalidKey)
		}
	}},
	{"a value outlives the pod that wrote it", func(s *suite) {
		w, r := s.worker("worker-0"), s.router("router-0")
		require.NoError(s, w.WriteKV(s.ctx(), "k", []byte("v")))
		s.delete(w)
		kv, err := r.ReadKV(s.ctx(), "k")
		require.NoError(s, err)
		assert.Equal(s, "v", string(kv.Value))
	}},
	{"a value goes with the last of its owners", func(s *suite) {
		a, b, r := s.worker("worker-0"), s.worker("worker-1"), s.router("router-0")
		for _, w := range []*process{a, b, a} {
			require.NoError(s, w.WriteKV(s.ctx(), "k", []byte("v"), runtime.OwnedBy(w.self.ID.Owner())))
		}
		first, err := r.ReadKV(s.ctx(), "k")
		require.NoError(s, err)
		require.NoError(s, r.WriteKV(s.ctx(), "k", []byte("v"), runtime.OwnedBy(a.self.ID.Owner())))
		same, err := r.ReadKV(s.ctx(), "k")
		require.NoError(s, err)
		assert.Equal(s, first.Version, same.Version, "the same value and a known owner are no write")
		s.delete(a)
		s.listed(r, "worker-1 (not ready)")
		time.Sleep(quiet)
		_, err = r.ReadKV(s.ctx(), "k")
		require.NoError(s, err, "one owner is left")
		s.delete(b)
		s.eventually("the value to go", func() bool {
			_, err := r.ReadKV(s.ctx(), "k")
			return errors.Is(err, runtime.ErrNotFound)
		})
	}},
}
