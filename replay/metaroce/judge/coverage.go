package judge

import (
	"encoding/binary"
	"math/bits"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// coverage is which psns an ACK says have arrived: all before next, and next + 1 + i for each bit i.
type coverage struct {
	next uint32
	sack [4]uint64
	any  bool
	end  uint32 // behind the highest
}

func coverageOf(a *mr0.ACKH) coverage {
	v := coverage{next: a.CumulativePSN, end: a.CumulativePSN}
	for i := range v.sack {
		if v.sack[i] = binary.LittleEndian.Uint64(a.SACK[8*i:]); v.sack[i] != 0 {
			v.any = true
			v.end = a.CumulativePSN + uint32(64*i+bits.Len64(v.sack[i])) + 1
		}
	}
	return v
}

// has tells whether a psn has arrived.
func (v *coverage) has(psn uint32) bool {
	d := mr0.PSNDistance(v.next, psn)
	return d < 0 || d > 0 && d <= mr0.SACKBits && v.sack[(d-1)>>6]>>((d-1)&63)&1 != 0
}

// count is how many have arrived, counted from where next was 0.
func (v *coverage) count() uint32 {
	n := v.next
	if v.any {
		for _, w := range v.sack {
			n += uint32(bits.OnesCount64(w))
		}
	}
	return n
}

// takenBack finds a psn that v has and a later one has not.
func (v *coverage) takenBack(later *coverage) (psn uint32, ok bool) {
	d := mr0.PSNDistance(v.next, later.next)
	if d < 0 {
		return v.next - 1, true
	}
	if !v.any {
		return 0, false
	}
	for i, w := range v.sack {
		for ; w != 0; w &= w - 1 {
			psn := v.next + 1 + uint32(64*i+bits.TrailingZeros64(w))
			if !later.has(psn) {
				return psn, true
			}
		}
	}
	return 0, false
}
