package row

import "iter"

// Index finds values by a key that they carry themselves. A map would keep each key a second time and cost thrice as much.
type Index[K comparable, V any] struct {
	key  func(*V) K
	hash func(K) uint64
	// Open addressing; the length is a power of two. A tag is a byte of the hash, or 0 where the slot is free: most values with
	// another key need not be looked at, which would be a cache miss each.
	slots []*V
	tags  []uint8
	used  int
}

// NewIndex returns an empty index.
func NewIndex[K comparable, V any](key func(*V) K, hash func(K) uint64) Index[K, V] {
	return Index[K, V]{key: key, hash: hash}
}

// Len is how many values there are.
func (x *Index[K, V]) Len() int { return x.used }

// All yields every value, in no order. The index must not be changed meanwhile.
func (x *Index[K, V]) All() iter.Seq[*V] {
	return func(yield func(*V) bool) {
		for _, v := range x.slots {
			if v != nil && !yield(v) {
				return
			}
		}
	}
}

// Get returns the value with that key, or nil.
func (x *Index[K, V]) Get(k K) *V {
	if x.used == 0 {
		return nil
	}
	at, _ := x.find(k)
	return x.slots[at]
}

// Put adds a value, in place of the one with the same key.
func (x *Index[K, V]) Put(v *V) {
	if (x.used+1)*4 > len(x.slots)*3 {
		x.resize(max(8, 2*len(x.slots)))
	}
	at, tag := x.find(x.key(v))
	if x.tags[at] == 0 {
		x.used++
	}
	x.slots[at], x.tags[at] = v, tag
}

// Delete removes the value with that key, if there is one.
func (x *Index[K, V]) Delete(k K) {
	if x.used == 0 {
		return
	}
	mask := len(x.slots) - 1
	hole, _ := x.find(k)
	if x.tags[hole] == 0 {
		return
	}
	x.used--
	// What stands behind the hole and would have stood in it moves up.
	for at := (hole + 1) & mask; x.tags[at] != 0; at = (at + 1) & mask {
		home := int(x.hash(x.key(x.slots[at]))) & mask
		if (at-home)&mask >= (at-hole)&mask {
			x.slots[hole], x.tags[hole] = x.slots[at], x.tags[at]
			hole = at
		}
	}
	x.slots[hole], x.tags[hole] = nil, 0
	if len(x.slots) > 8 && x.used*8 < len(x.slots) {
		x.resize(len(x.slots) / 2)
	}
}

// find returns where the key stands, or the free slot where it would, and its tag.
func (x *Index[K, V]) find(k K) (at int, tag uint8) {
	mask := len(x.slots) - 1
	h := x.hash(k)
	tag = uint8(h>>56) | 1
	for at = int(h) & mask; x.tags[at] != 0; at = (at + 1) & mask {
		if x.tags[at] == tag && x.key(x.slots[at]) == k {
			break
		}
	}
	return at, tag
}

func (x *Index[K, V]) resize(n int) {
	old := x.slots
	x.slots, x.tags = make([]*V, n), make([]uint8, n)
	for _, v := range old {
		if v != nil {
			at, tag := x.find(x.key(v))
			x.slots[at], x.tags[at] = v, tag
		}
	}
}
