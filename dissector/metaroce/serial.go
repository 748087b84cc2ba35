package metaroce

import "math/bits"

// Serial is a number that wraps around, as wide as its type: a timestamp, a message sequence number, a counter.
// Path sequence numbers may be narrower; each profile has functions for its own.
type Serial interface{ ~uint16 | ~uint32 }

// Distance is how far b lies ahead of a by serial-number arithmetic (RFC 1982): positive when b is later,
// negative when it is earlier. Numbers half the circle apart have no order; their distance is negative both ways.
func Distance[T Serial](a, b T) int32 {
	shift := bits.LeadingZeros32(uint32(^T(0)))
	return int32(uint32(b-a)<<shift) >> shift
}

// Before tells whether a is earlier than b by serial-number arithmetic.
func Before[T Serial](a, b T) bool { return Distance(a, b) > 0 }
