package wiring

import (
	"encoding/binary"
	"math/bits"
)

// instanceIDMask keeps an id exact in a JSON number (2^53 - 1).
const instanceIDMask = 0x001F_FFFF_FFFF_FFFF

// InstanceID is the id under which Dynamo knows the owner of a DynamoWorkerMetadata of that name (in pod mode the pod's
// name): Rust's DefaultHasher, which is SipHash-1-3 with zero keys over the bytes and a closing 0xff, masked to 53 bits
// (ai-dynamo/dynamo lib/runtime/src/discovery/kube/utils.rs).
func InstanceID(name string) uint64 {
	b := make([]byte, len(name)+1)
	copy(b, name)
	b[len(name)] = 0xff
	return siphash13(b) & instanceIDMask
}

// siphash13 is SipHash with one compression and three finalisation rounds and a zero key, which is what Rust's standard
// library uses; the Go libraries offer SipHash-2-4 only.
func siphash13(b []byte) uint64 {
	v0, v1, v2, v3 := uint64(0x736f6d6570736575), uint64(0x646f72616e646f6d), uint64(0x6c7967656e657261), uint64(0x7465646279746573)
	round := func() {
		v0 += v1
		v1 = bits.RotateLeft64(v1, 13) ^ v0
		v0 = bits.RotateLeft64(v0, 32)
		v2 += v3
		v3 = bits.RotateLeft64(v3, 16) ^ v2
		v0 += v3
		v3 = bits.RotateLeft64(v3, 21) ^ v0
		v2 += v1
		v1 = bits.RotateLeft64(v1, 17) ^ v2
		v2 = bits.RotateLeft64(v2, 32)
	}
	last := uint64(len(b)) << 56
	for ; len(b) >= 8; b = b[8:] {
		m := binary.LittleEndian.Uint64(b)
		v3 ^= m
		round()
		v0 ^= m
	}
	for i, c := range b {
		last |= uint64(c) << (8 * i)
	}
	v3 ^= last
	round()
	v0 ^= last
	v2 ^= 0xff
	round()
	round()
	round()
	return v0 ^ v1 ^ v2 ^ v3
}
