package row_test

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynawire/dynawire/pkg/runtime/internal/row"
	"github.com/dynawire/dynawire/pkg/runtime/wire"
)

// Twenty thousand of each are kept: a field more shows in the memory of every router.
func TestSizes(t *testing.T) {
	assert.LessOrEqual(t, unsafe.Sizeof(row.Row{}), uintptr(48))
	assert.LessOrEqual(t, unsafe.Sizeof(row.Self{}), uintptr(48))
}

func TestUIDs(t *testing.T) {
	const uuid = "4d8e4a56-fdbd-4ca8-bb3c-98062c411a5a"
	u, exact := row.ParseUID(uuid)
	assert.True(t, exact)
	assert.Equal(t, uuid, u.String())
	seen := map[row.UID]string{u: uuid}
	for _, odd := range []string{
		"uid-1", "4D8E4A56-FDBD-4CA8-BB3C-98062C411A5A", uuid + "/main", "4d8e4a56-fdbd-4ca8-bb3c-98062c411a5g",
		"4d8e4a56-fdbd-4ca8-bb3c-98062c411a-a", "4d8e4a56ffdbd-4ca8-bb3c-98062c411a5a",
	} {
		u, exact := row.ParseUID(odd)
		assert.False(t, exact, odd)
		assert.NotContains(t, seen, u, odd)
		seen[u] = odd
	}
	for i, uid := range slices.Collect(maps.Values(seen)) {
		var pile *wire.Pile
		if i%2 == 0 {
			pile = &wire.Pile{}
		}
		self := row.NewSelf("worker-0", uid, `{"a":1}`, pile)
		assert.Equal(t, uid, self.UIDText())
		assert.Equal(t, "worker-0", self.Name())
		assert.JSONEq(t, `{"a":1}`, string(self.Metadata.Raw()))
	}
}

func TestRow(t *testing.T) {
	self := row.NewSelf("p", "1", "", nil)
	where := row.Where{KubeNamespace: "k", Namespace: "n", Component: "c", Node: "n1", Zone: "a"}
	r := row.New(self, where)
	assert.Empty(t, r.Addresses())
	four, six := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fd00::1")
	r.AddAddress(netip.Addr{})
	r.AddAddress(six)
	r.AddAddress(four)
	assert.Equal(t, []netip.Addr{four, six}, r.Addresses())
	assert.Equal(t, where, r.Where())
	r.SetReady(true, true)
	assert.False(t, r.Ready())
	assert.True(t, r.Terminating())
	r.SetReady(true, false)
	o := r.With(row.NewSelf("p", "1", "{}", nil))
	assert.True(t, r.SameState(o))
	o.SetReady(false, false)
	assert.False(t, r.SameState(o))
	assert.True(t, r.SamePlace(o))
	o.AddAddress(netip.MustParseAddr("fd00::2"))
	assert.False(t, r.SamePlace(o))
	assert.True(t, r.Ready(), "the other is its own")
}

// An index is a map.
func TestIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type value struct{ key int }
		hash := rapid.SampledFrom([]func(int) uint64{
			func(k int) uint64 { return uint64(k) },
			func(int) uint64 { return 7 },
			func(k int) uint64 { return uint64(k % 3) },
		}).Draw(t, "hash")
		x := row.NewIndex(func(v *value) int { return v.key }, hash)
		want := map[int]*value{}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				v := &value{key: rapid.IntRange(0, 40).Draw(t, "key")}
				x.Put(v)
				want[v.key] = v
			},
			"delete": func(t *rapid.T) {
				k := rapid.IntRange(0, 40).Draw(t, "key")
				x.Delete(k)
				delete(want, k)
			},
			"": func(t *rapid.T) {
				if x.Len() != len(want) {
					t.Fatalf("%d values, want %d", x.Len(), len(want))
				}
				for k := range 41 {
					if x.Get(k) != want[k] {
						t.Fatalf("key %d", k)
					}
				}
				n := 0
				for v := range x.All() {
					n++
					if want[v.key] != v {
						t.Fatalf("has %v", v)
					}
				}
				if n != len(want) {
					t.Fatalf("yields %d values, want %d", n, len(want))
				}
			},
		})
	})
}

func TestSorted(t *testing.T) {
	var rows []*row.Row
	for _, i := range []int{3, 1, 2} {
		rows = append(rows, row.New(row.NewSelf(fmt.Sprint("p", i), "u", "", nil), row.Where{}))
	}
	got := row.Sorted(rows)
	require.Len(t, got, 3)
	assert.Equal(t, "p1", got[0].Self.Name())
	assert.Equal(t, "p3", got[2].Self.Name())
}
