package judge

import (
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/finding"
)

// gap is the oldest psn that the latest ACK of a path shows missing.
type gap struct {
	open   bool
	judged bool // its case is decided, or is none
	psn    uint32
	acks   int
	since  int64 // when the third ACK showed it
	number uint64
}

// silence is a run of retransmissions of one psn without any answer on its path.
type silence struct {
	psn   uint32
	count int
	acks  uint64 // ACKs of the path before
}

// resent takes a transmission with RTX.
func (c *Connection) resent(d *lane, p *path, s *slot, e *event, fresh, highest bool) {
	if e.m.CH.Type == mr0.TypeProbe {
		c.probed(d, p, s, e)
		return
	}
	if fresh && c.movedFrom(d, p, e) {
		return
	}
	if fresh && highest {
		d.strays++
	}
	if s.state&(wasMissing|covered|refused|seenAgain) == 0 {
		d.resent++
	}
	c.reacted(d, p, s, e)
	c.silence(d, p, s, e)
	if p.gap.psn == s.psn {
		c.goesOn(d, p, e)
		if p.gap.open && !p.gap.judged {
			p.gap.judged = true
			c.weigh(d, clueGapNotResent, int(p.id), e, false, 0)
		}
	}
	if c.retried(d, p, s, e) {
		return
	}
	if c.behindWindow(d, p, s.psn, e) || highest && fresh || s.state&founded == 0 || p.probed || !c.beforeTimer(p, s, e) {
		return
	}
	var k clue
	switch {
	case s.state&covered != 0:
		k = clueAcknowledgedResent
	case s.state&seenAgain != 0:
		k = clueLostAgainEarly
	default:
		k = clueRetransmissionUnfounded
	}
	c.weigh(d, k, int(p.id), e, s.state&cause == 0, p.ack.seen+1, s.last, e.number)
}

// beforeTimer tells whether the packet was sent again so soon after its first transmission that no timer had run out:
// at least rto_min since the path was last acknowledged, and nothing before it was under way then.
func (c *Connection) beforeTimer(p *path, s *slot, e *event) bool {
	if !e.timed {
		return false
	}
	from := s
	for i := uint32(1); i <= 16 && (from == nil || from.state&seenFirst == 0); i++ {
		from = p.find(s.psn - i) // sent before it
	}
	if from == nil || from.state&seenFirst == 0 || from.state&timed == 0 {
		return false
	}
	after, ok := elapsed(from.firstTS, e.m.DH.Timestamp, from.time, e.time)
	return ok && after >= 0 && after < int64(c.parameters.RTOMin)
}

// behindWindow judges a retransmission of what the sender must know to have arrived: it could not have sent what it
// has sent since.
func (c *Connection) behindWindow(d *lane, p *path, psn uint32, e *event) bool {
	if mr0.PSNDistance(psn, p.latestPSN) < mr0.SACKBits || !e.timed || !p.latestTimed {
		return false
	}
	if later, ok := elapsed(p.latestTS, e.m.DH.Timestamp, p.latestTime, e.time); !ok || later <= 0 {
		return false
	}
	c.diverges(finding.MetaRoCEAcknowledgedResent, d, int(p.id), e, p.latestNumber, "no retransmission of what was acknowledged", "one",
		"psn %d of path %d was sent again after psn %d, which its sender may send only when it knows that the other has arrived.",
		psn, p.id, p.latestPSN)
	return true
}

// resentBehindWindow is for a psn that is out of sight.
func (c *Connection) resentBehindWindow(d *lane, p *path, e *event) {
	if e.m.CH.Flags&mr0.FlagRTX != 0 && e.m.CH.Type != mr0.TypeProbe {
		c.behindWindow(d, p, e.m.CH.PSN, e)
	}
}

// reacted measures the way from an ACK that shows a gap to the retransmission.
func (c *Connection) reacted(d *lane, p *path, s *slot, e *event) {
	if e.timed && s.missingAt != 0 && c.beforeTimer(p, s, e) {
		d.toSender.add(e.time - s.missingAt)
	}
}

// showMissing notes what an ACK shows missing: psns in front of one that has arrived.
func (c *Connection) showMissing(d *lane, p *path, v *coverage, e *event) {
	echo := e.m.ACKH.EchoTimestamp
	if !v.any {
		p.gap = gap{}
		return
	}
	for psn := v.next; psn != v.end; psn++ {
		if psn != v.next && v.has(psn) {
			continue
		}
		s := p.find(psn)
		if s == nil || s.state&(covered|refused) != 0 { // what is refused is not lost
			continue
		}
		if s.state&wasMissing == 0 {
			s.state |= wasMissing
			if s.state&seen != 0 {
				d.after++
			} else {
				d.before++
			}
		}
		s.blame(echo, e)
	}
	c.openGap(p, v, e)
}

// blame notes that the ACK is a reason to send the packet again: it has not been sent again yet, or the ACK echoes a
// later timestamp than that of its retransmission.
func (s *slot) blame(echo uint32, e *event) {
	if s.state&seenAgain != 0 && mr0.PSNDistance(s.lastTS, echo) <= 0 {
		return
	}
	s.state |= cause
	if s.missingAt == 0 && e.timed {
		s.missingAt = e.time
	}
}

// blameOlder notes that what was sent before the packet that an ACK echoes, and has not arrived, is lost.
func (c *Connection) blameOlder(p *path, v *coverage, e *event) {
	echo := e.m.ACKH.EchoTimestamp
	for psn, n := v.end, 0; psn != p.next && n < mostSlots; psn, n = psn+1, n+1 {
		s := p.find(psn)
		if s == nil || s.state&seen == 0 {
			continue
		}
		if mr0.PSNDistance(s.lastTS, echo) <= 0 {
			if s.state&seenAgain == 0 {
				return // nor was anything behind it sent before
			}
			continue
		}
		s.state |= cause
	}
}

// openGap follows the oldest missing psn through ACKs.
func (c *Connection) openGap(p *path, v *coverage, e *event) {
	if !p.gap.open || p.gap.psn != v.next {
		p.gap = gap{open: true, psn: v.next, number: e.number}
		s := p.find(v.next)
		p.gap.judged = s == nil || s.state&(seenAgain|refused) != 0 || s.state&founded == 0 || p.probed || !e.timed
	}
	if p.gap.acks++; p.gap.acks == 3 {
		p.gap.since = e.time
	}
}

// goesOn judges a gap that is still open when the path goes on.
func (c *Connection) goesOn(d *lane, p *path, e *event) {
	g := &p.gap
	if !g.open || g.judged || g.acks < 3 || !e.timed {
		return
	}
	there, ok := c.toSender(d)
	if !ok {
		return
	}
	patience := 4*there + 2*(d.jitter.span()+d.toReceiver.most) + 200_000
	if 10*patience > 9*int64(c.parameters.RTOMin) || e.time-g.since <= patience {
		return
	}
	g.judged = true
	c.weigh(d, clueGapNotResent, int(p.id), e, true, 0, g.number, e.number)
}

// silence judges how often a packet is repeated on a path that does not answer.
func (c *Connection) silence(d *lane, p *path, s *slot, e *event) {
	if !p.acked || !e.timed || s.state&(seen|timed) != seen|timed || d.naks > 0 {
		return
	}
	if waited, ok := elapsed(s.lastTS, e.m.DH.Timestamp, s.time, e.time); !ok || waited < int64(c.parameters.RTOMin) {
		return
	}
	if p.silent.count > 0 && p.silent.psn == s.psn && p.silent.acks == p.ack.seen {
		p.silent.count++
	} else {
		p.silent = silence{psn: s.psn, count: 1, acks: p.ack.seen}
	}
	if p.silent.count > c.parameters.PathFailedAfter {
		c.weigh(d, clueFailedPathKept, int(p.id), e, true, 0, s.last, e.number)
	} else if p.silent.count == 1 {
		c.weigh(d, clueFailedPathKept, int(p.id), e, false, 0)
	}
}

// compareContent holds a transmission against the one before.
func (c *Connection) compareContent(d *lane, p *path, s *slot, e *event) {
	m := e.m
	if s.state&seen == 0 || s.kind == 0 || s.kind == mr0.TypeProbe || m.CH.Type == mr0.TypeProbe {
		return
	}
	if m.CH.Type != s.kind || m.DH.StreamID != s.stream || m.DH.MSN != s.msn || m.DH.MessageOffset != s.offset ||
		m.DH.MessageLength != s.length || m.CH.PayloadLength != s.payload {
		c.diverges(finding.MetaRoCERetransmissionContent, d, int(p.id), e, s.last, "the same bytes under the same psn", "others",
			"psn %d of path %d bore %s of stream %d, message %d, offset %d; sent again it bears %s of stream %d, message %d, offset %d.",
			s.psn, p.id, s.kind, s.stream, s.msn, s.offset, m.CH.Type, m.DH.StreamID, m.DH.MSN, m.DH.MessageOffset)
		return
	}
	c.conforms(finding.MetaRoCERetransmissionContent)
}
