package flow

import (
	"slices"

	"github.com/rocelens/rocelens/dissector/infiniband"
)

// position is a PSN unrolled to 64 bits, so that wrapping round its 24 bits needs no thought anywhere but
// in extend.
type position uint64

// psn is the PSN at the position.
func (p position) psn() uint32 { return uint32(p) & psnMask }

const psnMask = 1<<24 - 1

// firstLap leaves room for positions before the first PSN seen.
const firstLap = position(1) << 24

// hole is a run of PSNs below the frontier that were not seen.
type hole struct {
	start  position
	length uint32
	flags  uint8
}

const (
	holeCounted  = 1 << iota // its PSNs are missing; otherwise they may have been nobody's
	holeContinue             // the packet behind the hole continues a message
	holeMessage              // that packet was counted as a message of its own
)

func (h *hole) end() position { return h.start + position(h.length) }

// sequence is what is known of one PSN space in one direction: all PSNs from first to next were seen,
// except the holes. A connection's direction has two: its requests, and its answers to the other side's.
type sequence struct {
	next      position // frontier: the PSN expected
	watch     uint8    // reasons to leave the fast path
	first     position // lowest PSN seen; 0 before there is one
	forgotten position // below it holes were dropped: what was seen is not known
	acked     position // first PSN that the other side has not acknowledged as far as seen; 0: never
	repeat    repeat
	holes     []hole // ascending, at most maxHoles; starts in few
	few       [2]hole
}

// Reasons to leave the fast path.
const (
	watchStart  = 1 << iota // no PSN was seen yet
	watchLate               // verdicts on late packets are open
	watchRepeat             // a repetition was asked for or is going on
	watchRead               // the span of the latest READ is unknown
	watchUnseen             // an acknowledgment came before what it acknowledges
	watchReopen             // the connection may begin anew
	watchOwn                // the first request may have a PSN other than the connection manager said
)

func (s *sequence) started() bool { return s.watch&watchStart == 0 && s.first != 0 }

// start begins at the PSN as the one expected next.
func (s *sequence) start(psn uint32) {
	holes := s.holes[:0]
	*s = sequence{next: firstLap + position(psn), holes: holes}
	s.first = s.next
}

// extend unrolls a PSN next to the frontier.
func (s *sequence) extend(psn uint32) position {
	return s.next + position(int64(infiniband.PSNDiff(psn, uint32(s.next))))
}

// holeAt is the index of the hole with the position, -1 when it is in none.
func (s *sequence) holeAt(at position) int {
	for i := len(s.holes) - 1; i >= 0; i-- {
		if h := &s.holes[i]; at >= h.start {
			if at < h.end() {
				return i
			}
			return -1
		}
	}
	return -1
}

// open adds a hole from start to end behind all others. The oldest makes room when there are too many;
// it is returned.
func (s *sequence) open(start, end position, flags uint8) (dropped hole) {
	if n := len(s.holes); n > 0 && flags == 0 {
		// A flow of nothing but acknowledgments is one long hole in the space of answers.
		if last := &s.holes[n-1]; last.flags == 0 && last.end() == start {
			last.length += uint32(end - start)
			if over := int64(last.length) - maxBack; over > 0 {
				last.start += position(over)
				last.length = maxBack
			}
			return hole{}
		}
	}
	if len(s.holes) == maxHoles {
		dropped = s.drop(0)
	}
	if s.holes == nil {
		s.holes = s.few[:0] // a flow never moves, and most need no more
	}
	s.holes = append(s.holes, hole{start: start, length: uint32(end - start), flags: flags})
	return dropped
}

// lower takes a packet from before the first: what lies between may have been anything.
func (s *sequence) lower(at, end position, flags uint8) {
	if len(s.holes) == maxHoles {
		return
	}
	if end < s.first {
		if s.holes == nil {
			s.holes = s.few[:0]
		}
		s.holes = slices.Insert(s.holes, 0, hole{start: end, length: uint32(s.first - end), flags: flags})
	}
	s.first = at
}

// drop forgets a hole.
func (s *sequence) drop(i int) hole {
	h := s.holes[i]
	s.holes = slices.Delete(s.holes, i, i+1)
	s.forgotten = max(s.forgotten, h.end())
	return h
}

// fill takes the positions from at to end, as far as the hole goes, out of it and returns how many there
// were, and a hole that had to be dropped when the hole fell into two. head is what the part before them has
// to remember of what stands behind it now.
func (s *sequence) fill(i int, at, end position, head uint8) (filled uint32, dropped hole) {
	h := &s.holes[i]
	end = min(end, h.end())
	filled = uint32(end - at)
	before, after := uint32(at-h.start), uint32(h.end()-end)
	switch {
	case before == 0 && after == 0:
		s.holes = slices.Delete(s.holes, i, i+1)
	case before == 0:
		h.start, h.length = end, after
	case after == 0:
		h.length = before
		h.flags = h.flags&holeCounted | head
	default:
		tail := hole{start: end, length: after, flags: h.flags}
		h.length = before
		h.flags = h.flags&holeCounted | head
		if len(s.holes) == maxHoles {
			dropped = s.drop(0)
			i--
		}
		s.holes = slices.Insert(s.holes, i+1, tail)
	}
	return filled, dropped
}
