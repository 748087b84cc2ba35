package metaroce

import (
	"encoding/binary"
	"iter"
	"math/bits"
)

// A bit vector counts its bits from the least significant of its first byte: bit i is bit i mod 8 of byte
// i div 8.

// VectorHas tells whether bit i is set. Bits outside the vector are not.
func VectorHas(v []byte, i int) bool { return i >= 0 && i < 8*len(v) && v[i>>3]>>(i&7)&1 != 0 }

// VectorCount is the number of bits that are set.
func VectorCount(v []byte) int {
	n := 0
	for ; len(v) >= 8; v = v[8:] {
		n += bits.OnesCount64(binary.LittleEndian.Uint64(v))
	}
	for _, b := range v {
		n += bits.OnesCount8(b)
	}
	return n
}

// VectorRanges walks over the runs of set bits, first and last bit of each.
func VectorRanges(v []byte) iter.Seq2[int, int] {
	return func(yield func(first, last int) bool) {
		for i := vectorNext(v, 0, true); i < 8*len(v); {
			end := vectorNext(v, i, false)
			if !yield(i, end-1) {
				return
			}
			i = vectorNext(v, end, true)
		}
	}
}

// vectorNext finds the first bit from i on that is set, or is not, and the vector's length when there is none.
func vectorNext(v []byte, i int, set bool) int {
	for i < 8*len(v) {
		b := v[i>>3]
		if !set {
			b = ^b
		}
		if b >>= i & 7; b != 0 {
			return i + bits.TrailingZeros8(b)
		}
		i = i&^7 + 8
	}
	return 8 * len(v)
}
