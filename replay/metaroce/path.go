package metaroce

import (
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// path is the sending side of an own path: a sequence of packets and what is known of their fate.
type path struct {
	id, plane  uint8
	sourcePort uint16
	failed     bool
	measured   bool // srtt and rttvar hold something

	// Slots of the psns una to next-1, at psn mod their number, which is a power of two.
	slots     []slot
	una, next uint32
	inflight  int // slots that are slotSent
	lost      int // slots that are slotLost
	refused   int // slots that are slotRefused

	window       float64 // packets
	srtt, rttvar time.Duration
	cutUntil     time.Duration // the window is not cut again before
	roundStart   time.Duration
	roundMarked  bool
	ceCount      uint32
	ackNumber    uint32 // of the latest ACK
	acked        bool   // there was one
	sinceAR      int

	rtoAt     time.Duration
	backoff   uint8
	timeouts  int // in a row
	refusedAt time.Duration
	probeAt   time.Duration // when to send the next PROBE
	probeSent time.Duration // when the first one of this failure was sent; Never: not yet
	probeDue  bool
	tailAt    time.Duration // when to send a PROBE behind the last packet
	tails     uint8         // how many were sent since the last ACK
}

// slotState is the fate of a psn.
type slotState uint8

const (
	slotAcked   slotState = iota
	slotSent              // in flight
	slotLost              // to be sent again
	slotRefused           // by a receiver that is not ready: to be sent again at slot.at
)

// slot is one psn that was sent.
type slot struct {
	at      time.Duration // when it was last sent, or is to be sent again
	message *message      // nil: it bore no bytes, or they have gone to another path; it is sent again as a PROBE
	packet  uint32        // index of the packet in its message
	bytes   int32         // of its IP packet
	state   slotState
	again   bool // was sent more than once
}

// slot is the slot of a psn that is outstanding.
func (p *path) slot(psn uint32) *slot { return &p.slots[psn&uint32(len(p.slots)-1)] }

// span is the number of psns that are not acknowledged cumulatively.
func (p *path) span() int { return int(mr0.PSNDistance(p.una, p.next)) }

// append makes the slot of a new psn.
func (p *path) append() *slot {
	if p.span() == len(p.slots) {
		grown := make([]slot, max(8, 2*len(p.slots)))
		for psn := p.una; psn != p.next; psn++ {
			grown[psn&uint32(len(grown)-1)] = *p.slot(psn)
		}
		p.slots = grown
	}
	s := p.slot(p.next)
	p.next++
	return s
}

// open tells whether the window lets another packet out.
func (p *path) open(maxSpan int) bool {
	return !p.failed && float64(p.inflight) < p.window && p.inflight < maxSpan && p.span() < maxSpan
}

// rto is the retransmission timeout (RFC 6298, section 2, with the bounds of the profile).
func (p *path) rto(parameters *mr0.Parameters) time.Duration {
	d := parameters.RTOInitial
	if p.measured {
		d = max(p.srtt+4*p.rttvar, parameters.RTOMin)
	}
	for range p.backoff {
		if d *= 2; d >= parameters.RTOMax {
			break
		}
	}
	return min(d, parameters.RTOMax)
}

// measure takes a round trip (RFC 6298, section 2).
func (p *path) measure(sample time.Duration) {
	if !p.measured {
		p.measured = true
		p.srtt, p.rttvar = sample, sample/2
		return
	}
	p.rttvar = (3*p.rttvar + (p.srtt - sample).Abs()) / 4
	p.srtt = (7*p.srtt + sample) / 8
}

// better tells whether the sender rather uses p than q: lower inflight/window, then lower srtt, then lower id.
func (p *path) better(q *path) bool {
	a, b := float64(p.inflight)*q.window, float64(q.inflight)*p.window
	switch {
	case a != b:
		return a < b
	case p.srtt != q.srtt:
		return p.srtt < q.srtt
	}
	return p.id < q.id
}

// choosePath is the path for the next packet with new bytes, nil when all windows are closed.
func (c *Connection) choosePath() *path {
	var best *path
	for i := range c.paths {
		if p := &c.paths[i]; p.open(c.maxSpan) && (best == nil || p.better(best)) {
			best = p
		}
	}
	return best
}
