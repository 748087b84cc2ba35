package metaroce

import (
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

const noLimit = mr0.ACKHRateHintNoLimit

// coverage is which psns an ACK says have arrived.
type coverage struct {
	ack *mr0.ACKH
	end uint32 // behind the highest
}

func coverageOf(a *mr0.ACKH) coverage {
	v := coverage{ack: a, end: a.CumulativePSN}
	for i := mr0.SACKBits - 1; i >= 0; i-- {
		if a.SACK[i>>3] == 0 {
			i &^= 7
		} else if a.SACK.Has(i) {
			v.end = a.CumulativePSN + uint32(i) + 2
			break
		}
	}
	return v
}

func (v *coverage) has(psn uint32) bool {
	return mr0.PSNBefore(psn, v.ack.CumulativePSN) || v.ack.SACK.Has(int(mr0.PSNDistance(v.ack.CumulativePSN+1, psn)))
}

// handleACK takes an ACK for an own path.
func (c *Connection) handleACK(now time.Duration, in *mr0.Packet) Verdict {
	if int(in.CH.PathID) >= len(c.paths) {
		return VerdictInvalid
	}
	p := &c.paths[in.CH.PathID]
	a := &in.ACKH
	seen := coverageOf(a)
	if mr0.PSNBefore(p.next, seen.end) || mr0.PSNBefore(p.next, a.CumulativePSN) {
		return VerdictInvalid // acknowledges what was never sent
	}
	c.learn(in.CH.PlaneID, c.from)
	c.statistics.ACKs++
	late := p.acked && !metaroce.Before(p.ackNumber, in.CH.PSN)
	covered := c.cover(p, &seen)
	if late {
		c.statistics.LateACKs++
		c.restart(now, p, covered)
		return VerdictLate
	}
	marks := metaroce.Distance(p.ceCount, a.CECount)
	p.acked, p.ackNumber, p.ceCount = true, in.CH.PSN, a.CECount

	echo := now - time.Duration(uint32(now)-a.EchoTimestamp)
	if sample := now - echo - time.Duration(a.ACKDelay); sample > 0 && metaroce.Distance(a.EchoTimestamp, uint32(now)) > 0 {
		if !p.measured {
			p.roundStart = now
		}
		p.measure(sample)
	}
	if p.failed && covered > 0 && p.probeSent != Never && echo >= p.probeSent {
		c.restore(now, p)
	}
	c.updateSRTT(now)
	c.takeHint(now, a.RateHint)
	lost := 0
	if !p.failed {
		lost = c.findLosses(p, &seen, echo)
	}
	c.adapt(now, p, marks > 0 || lost > 0)
	c.restart(now, p, covered)
	return VerdictAccepted
}

// cover notes what has arrived and returns how many packets that were outstanding.
func (c *Connection) cover(p *path, seen *coverage) int {
	covered := 0
	for psn := p.una; psn != p.next && mr0.PSNBefore(psn, seen.end); psn++ {
		if s := p.slot(psn); s.state != slotAcked && seen.has(psn) {
			c.leave(p, s)
			s.state = slotAcked
			covered++
			if m := s.message; m != nil {
				s.message = nil
				c.acknowledged(m)
			}
		}
	}
	for p.una != p.next && p.slot(p.una).state == slotAcked {
		p.una++
	}
	return covered
}

// leave takes a slot out of the counts of its state.
func (c *Connection) leave(p *path, s *slot) {
	switch s.state {
	case slotSent:
		p.inflight--
		c.inflightBytes -= int(s.bytes)
	case slotLost:
		p.lost--
	case slotRefused:
		p.refused--
	case slotAcked:
	}
}

// acknowledged notes that a packet of the message has arrived, once for each.
func (c *Connection) acknowledged(m *message) {
	m.unacked--
	if m.unacked == 0 {
		switch m.kind {
		case mr0.TypeWrite, mr0.TypeSend:
			m.complete = true
			m.stream.retire()
		case mr0.TypeReadResp, mr0.TypeAtomicResp:
			c.answering--
			c.endpoint.release(m)
		default: // READs and atomics are complete when they are answered
		}
	}
	c.endpoint.release(m)
}

// findLosses declares lost what an ordered path must have lost: psns that miss in front of one that has arrived, if
// they were sent once, and whatever was sent before the packet whose timestamp is echoed. A psn that was sent again is
// lost again only by the latter.
func (c *Connection) findLosses(p *path, seen *coverage, echo time.Duration) int {
	lost := 0
	for psn := p.una; psn != p.next; psn++ {
		s := p.slot(psn)
		gap := mr0.PSNBefore(psn, seen.end)
		if !gap && !s.again && s.at >= echo {
			break // nor was anything behind it sent before
		}
		if s.state != slotSent || s.at >= echo && (s.again || !gap) {
			continue
		}
		c.lose(p, s)
		lost++
	}
	c.statistics.Lost += uint64(lost)
	return lost
}

// lose lets a packet be sent again.
func (c *Connection) lose(p *path, s *slot) {
	c.leave(p, s)
	s.state = slotLost
	p.lost++
	c.lostPaths.add(p.id)
}

// restart sets the retransmission timer after an ACK (RFC 6298, section 5).
func (c *Connection) restart(now time.Duration, p *path, covered int) {
	if covered == 0 || p.failed {
		return
	}
	p.backoff, p.timeouts = 0, 0
	p.rtoAt = Never
	if p.inflight+p.lost > 0 {
		p.rtoAt = now + p.rto(&c.endpoint.config.Parameters)
		c.arm(p.rtoAt)
	}
	p.tails = 0
	c.watchTail(now, p)
}
