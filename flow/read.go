package flow

import (
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

// readRange is the latest READ request: it stands for as many PSNs as its response has packets.
type readRange struct {
	start, end position // end is a lower bound while the span is unknown
	address    uint64
	key        uint32
	length     uint32
	known      bool // the RETH was captured
}

const (
	minMTU = 256
	maxMTU = 4096
)

// validMTU tells whether a payload can be a path MTU (IBTA volume 1, section 9.5: 256 to 4096).
func validMTU(n uint16) bool { return n >= minMTU && n <= maxMTU && n&(n-1) == 0 }

// spanOf is how many packets carry length bytes; a message without bytes takes one.
func spanOf(length uint32, mtu uint16) uint32 {
	return max(1, uint32((uint64(length)+uint64(mtu)-1)/uint64(mtu)))
}

// pathMTU is the MTU of the connection, 0 when nothing told it yet.
func (t *Tracker) pathMTU(f *flow) uint16 {
	if f.cmMTU != 0 {
		return f.cmMTU
	}
	if validMTU(f.mtu) {
		return f.mtu
	}
	if r := t.partner(f); r != nil {
		if r.cmMTU != 0 {
			return r.cmMTU
		}
		if validMTU(r.mtu) {
			return r.mtu
		}
	}
	return 0
}

// readEnd notes a READ request and returns the first PSN behind its span.
func (t *Tracker) readEnd(f *flow, p *dissector.Packet, at position) position {
	r := &f.read
	*r = readRange{start: at, end: at + 1}
	if p.Has&infiniband.HasRETH == 0 {
		f.requests.watch |= watchRead
		return r.end
	}
	r.known, r.address, r.key, r.length = true, p.RETH.VirtualAddress, p.RETH.RemoteKey, p.RETH.DMALength
	if r.length <= minMTU {
		return r.end
	}
	mtu := t.pathMTU(f)
	if mtu == 0 {
		mtu = maxMTU
		f.requests.watch |= watchRead
	}
	r.end = at + position(spanOf(r.length, mtu))
	return r.end
}

// settleRead decides the span of the latest READ from the PSN of the request behind it. Of the spans that an
// MTU can give it takes the one that fits; when none does, the longest that leaves the fewest PSNs missing.
func (f *flow) settleRead(at position) {
	r, s := &f.read, &f.requests
	s.watch &^= watchRead
	if at <= s.next {
		return
	}
	if !r.known {
		if at-s.next < maxBack {
			s.next, r.end = at, at
		}
		return
	}
	fits, matches := uint16(0), 0
	for mtu := uint16(maxMTU); mtu >= minMTU; mtu /= 2 {
		end := r.start + position(spanOf(r.length, mtu))
		if end > at {
			break
		}
		r.end = end
		if end == at {
			fits = mtu
			matches++
		}
	}
	s.next = max(s.next, r.end)
	if matches == 1 {
		f.cmMTU = fits
	}
}

// isReread tells whether the packet asks again for a part of the latest READ, whose span is unknown.
func (f *flow) isReread(p *dissector.Packet, c class) bool {
	r := &f.read
	return c&classRead != 0 && r.known && p.Has&infiniband.HasRETH != 0 && p.RETH.RemoteKey == r.key &&
		p.RETH.VirtualAddress > r.address && p.RETH.VirtualAddress-r.address < uint64(r.length)
}

// learnSpan takes what an answer at the position says of the span of the latest READ.
func (t *Tracker) learnSpan(f *flow, at position, lastResponse bool) {
	r, s := &f.read, &f.requests
	if s.watch&watchRead == 0 || at < r.start || at-r.start >= maxJump {
		return
	}
	end := max(r.end, at+1)
	switch mtu := t.pathMTU(f); {
	case r.known && mtu != 0:
		end = r.start + position(spanOf(r.length, mtu))
		s.watch &^= watchRead
	case lastResponse:
		s.watch &^= watchRead
	}
	if r.end == s.next { // nothing was requested behind it yet
		s.next = max(s.next, end)
	}
	r.end = end
}

// lateReadEnd is the end of the span of a READ request that came late into a hole. Where the MTU is unknown,
// it is the longest span that the hole has room for.
func (t *Tracker) lateReadEnd(f *flow, p *dissector.Packet, at, holeEnd position) position {
	if p.Has&infiniband.HasRETH == 0 {
		return at + 1
	}
	if mtu := t.pathMTU(f); mtu != 0 {
		return at + position(spanOf(p.RETH.DMALength, mtu))
	}
	end := at + 1
	for mtu := uint16(maxMTU); mtu >= minMTU; mtu /= 2 {
		if e := at + position(spanOf(p.RETH.DMALength, mtu)); e <= holeEnd {
			end = e
		}
	}
	return end
}
