package row

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/bits"
	"math/rand/v2"
)

// UID is a pod's UID in sixteen bytes: those of a UUID as Kubernetes writes it, or a digest of anything else.
type UID [16]byte

// ParseUID is exact where the text can be had back by String, which holds for every UID that Kubernetes made.
func ParseUID(text string) (u UID, exact bool) {
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return digest(text), false
	}
	for i := range u {
		at := 2 * i
		if i >= 4 {
			at += min((i-2)/2, 4) // dashes before it
		}
		hi, lo := nibbles[text[at]], nibbles[text[at+1]]
		if hi|lo == 0xff {
			return digest(text), false
		}
		u[i] = hi<<4 | lo
	}
	return u, true
}

// nibbles are the values of lower-case hexadecimal digits; 0xff of all others.
var nibbles = func() (n [256]byte) {
	for i := range n {
		n[i] = 0xff
	}
	for i, c := range []byte("0123456789abcdef") {
		n[c] = byte(i)
	}
	return n
}()

func digest(text string) UID {
	sum := sha256.Sum256([]byte(text))
	return UID(sum[:16])
}

func (u UID) String() string {
	var b [36]byte
	hex.Encode(b[0:8], u[0:4])
	hex.Encode(b[9:13], u[4:6])
	hex.Encode(b[14:18], u[6:8])
	hex.Encode(b[19:23], u[8:10])
	hex.Encode(b[24:36], u[10:16])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return string(b[:])
}

var seed = rand.Uint64()

func (u UID) hash() uint64 {
	hi, lo := bits.Mul64(binary.LittleEndian.Uint64(u[:8])^seed, binary.LittleEndian.Uint64(u[8:])^0x9e3779b97f4a7c15)
	return hi ^ lo
}
