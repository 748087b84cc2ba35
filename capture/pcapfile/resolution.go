package pcapfile

import (
	"math"
	"math/bits"
	"strconv"
)

const nanosPerSecond = 1_000_000_000

// Resolution is pcapng's if_tsresol: ticks of 10^-n seconds, or with the top bit set of 2^-n seconds.
type Resolution uint8

// Resolutions in common use.
const (
	Microseconds Resolution = 6
	Nanoseconds  Resolution = 9
)

const resolutionBinary Resolution = 0x80

const (
	maxBinary  = 64 // a 64-bit count of finer ticks does not reach one second
	maxDecimal = 19
)

// Valid says whether a 64-bit count of such ticks can tell a time at all.
func (r Resolution) Valid() bool {
	if r&resolutionBinary != 0 {
		return r&^resolutionBinary <= maxBinary
	}
	return r <= maxDecimal
}

// clock turns ticks into nanoseconds since the epoch. Every tick count is exact in 128 bits: ticks*mul is below 2^94,
// and is then divided by a power of ten or of two.
type clock struct {
	mul    uint64
	div    uint64
	shift  uint
	offset int64 // seconds
}

func newClock(r Resolution, offset int64) clock {
	c := clock{mul: 1, div: 1, offset: offset}
	switch n := uint(r &^ resolutionBinary); {
	case r&resolutionBinary != 0:
		c.mul, c.shift = nanosPerSecond, n
	case n <= 9:
		c.mul = pow10(9 - n)
	default:
		c.div = pow10(n - 9)
	}
	return c
}

func pow10(n uint) uint64 {
	p := uint64(1)
	for range n {
		p *= 10
	}
	return p
}

// nanos rounds down to whole nanoseconds. It reports false, with the nearest time that int64 holds, for times before
// 1677 or after 2262.
func (c *clock) nanos(ticks uint64) (int64, bool) {
	hi, lo := bits.Mul64(ticks, c.mul)
	if c.div != 1 {
		lo /= c.div // mul is 1 here, so hi is 0.
	}
	switch {
	case c.shift >= 64:
		lo, hi = hi>>(c.shift-64), 0
	case c.shift > 0:
		lo = lo>>c.shift | hi<<(64-c.shift)
		hi >>= c.shift
	}
	if c.offset == 0 {
		if hi != 0 || lo > math.MaxInt64 {
			return math.MaxInt64, false
		}
		return int64(lo), true
	}
	return addSeconds(hi, lo, c.offset)
}

// addSeconds is (hi,lo) nanoseconds plus seconds, in two's complement of 128 bits.
func addSeconds(hi, lo uint64, seconds int64) (int64, bool) {
	magnitude := uint64(seconds)
	if seconds < 0 {
		magnitude = -magnitude
	}
	ohi, olo := bits.Mul64(magnitude, nanosPerSecond)
	if seconds < 0 {
		var borrow uint64
		olo, borrow = bits.Sub64(0, olo, 0)
		ohi, _ = bits.Sub64(0, ohi, borrow)
	}
	var carry uint64
	lo, carry = bits.Add64(lo, olo, 0)
	hi, _ = bits.Add64(hi, ohi, carry)
	switch sign := lo >> 63; {
	case hi == 0 && sign == 0, hi == math.MaxUint64 && sign == 1:
		return int64(lo), true
	case hi>>63 == 1:
		return math.MinInt64, false
	default:
		return math.MaxInt64, false
	}
}

// ticks is the way back, rounded down, for writers. It reports false for times that the clock cannot count.
func (c *clock) ticks(nanos int64) (uint64, bool) {
	var bhi, blo uint64 = 0, uint64(nanos)
	if nanos < 0 {
		bhi = math.MaxUint64
	}
	// Subtract the offset in 128 bits.
	magnitude := uint64(c.offset)
	if c.offset < 0 {
		magnitude = -magnitude
	}
	ohi, olo := bits.Mul64(magnitude, nanosPerSecond)
	var carry uint64
	if c.offset < 0 {
		blo, carry = bits.Add64(blo, olo, 0)
		bhi, _ = bits.Add64(bhi, ohi, carry)
	} else {
		blo, carry = bits.Sub64(blo, olo, 0)
		bhi, _ = bits.Sub64(bhi, ohi, carry)
	}
	if bhi != 0 {
		return 0, false
	}
	if c.div != 1 {
		hi, lo := bits.Mul64(blo, c.div)
		return lo, hi == 0
	}
	if c.shift == 0 {
		return blo / c.mul, true
	}
	// blo * 2^shift / 1e9, whole seconds and the rest apart.
	seconds, rest := blo/nanosPerSecond, blo%nanosPerSecond
	var fraction uint64
	if c.shift == 64 {
		if seconds != 0 {
			return 0, false
		}
		fraction, _ = bits.Div64(rest, 0, nanosPerSecond)
		return fraction, true
	}
	if bits.Len64(seconds)+int(c.shift) > 64 {
		return 0, false
	}
	fraction, _ = bits.Div64(rest>>(64-c.shift), rest<<c.shift, nanosPerSecond)
	return seconds<<c.shift + fraction, true
}

// String is the unit as a power, such as "10^-6".
func (r Resolution) String() string {
	if r&resolutionBinary != 0 {
		return "2^-" + strconv.Itoa(int(r&^resolutionBinary))
	}
	return "10^-" + strconv.Itoa(int(r))
}
