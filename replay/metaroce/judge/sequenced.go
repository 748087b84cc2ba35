package judge

import (
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/finding"
)

// sequenced takes a packet with a path sequence number.
func (c *Connection) sequenced(d *lane, e *event) {
	m := e.m
	d.data++
	if m.CH.Type != mr0.TypeProbe && !isAnswer(m.CH.Type) {
		d.requests++
	}
	c.afterDisconnect(d, e)
	if !c.inRange(d, d, e) {
		return
	}
	p := d.path(m.CH.PathID)
	if p == nil {
		return
	}
	c.handshakeReply(d, e)
	psn, timestamp, again := m.CH.PSN, m.DH.Timestamp, m.CH.Flags&mr0.FlagRTX != 0
	if !p.begun {
		c.firstOfPath(d, p, e)
		p.begin(psn)
	}
	ahead := mr0.PSNDistance(p.next, psn)
	switch {
	case ahead >= mostSlots: // the capture paused
		p.begin(psn)
		ahead = 0
	case ahead < -mostSlots, ahead < 0 && mr0.PSNBefore(psn, p.base): // from before the path came into sight
		p.outOfSight(timestamp)
		return
	}
	highest := ahead >= 0
	if highest {
		p.extend(d, psn+1)
	}
	s := p.find(psn)
	if s == nil {
		p.outOfSight(timestamp)
		c.resentBehindWindow(d, p, e)
		return
	}
	if again && s.state&seenFirst != 0 && timestamp == s.firstTS {
		c.diverges(finding.MetaRoCERetransmissionTimestamp, d, int(p.id), e, s.number, "a new timestamp", "that of the first transmission",
			"psn %d of path %d was sent again with the timestamp of its first transmission, %d ns.", psn, p.id, timestamp)
		return
	}
	if s.bore(timestamp) {
		d.doubled++
		return
	}
	c.port(d, p, e)
	if e.timed {
		d.jitter.add(e.time, timestamp)
	}
	fresh := s.state&seen == 0
	if again {
		c.resent(d, p, s, e, fresh, highest)
	} else {
		c.sentFirst(d, p, s, e, highest)
	}
	c.compareContent(d, p, s, e)
	s.note(e)
	c.pace(d, e, again)
	switch {
	case m.CH.Type == mr0.TypeProbe:
	case fresh:
		c.message(d, e, again)
	case m.CH.Type == mr0.TypeAtomicResp:
		c.answeredAgain(d, e)
	}
}

// firstOfPath holds the first packet of a path against what the handshake said.
func (c *Connection) firstOfPath(d *lane, p *path, e *event) {
	if !d.hasConn || !d.setup.fromStart {
		return
	}
	first := mr0.PathInitialPSN(d.conn.InitialPSN, int(p.id))
	distance := mr0.PSNDistance(first, e.m.CH.PSN)
	switch {
	case distance < 0 || distance >= mr0.PathPSNStride:
		c.diverges(finding.MetaRoCEInitialPSN, d, int(p.id), e, d.setup.number, "a psn from initial_psn + path_id·2^20 on", "another",
			"Path %d begins at psn %d; its first one is %d.", p.id, e.m.CH.PSN, first)
	case distance < mr0.SACKBits:
		c.conforms(finding.MetaRoCEInitialPSN)
	default:
		c.tallies[index(finding.MetaRoCEInitialPSN)].Add(finding.Undetermined)
	}
}

// sentFirst takes a transmission without RTX of a psn.
func (c *Connection) sentFirst(d *lane, p *path, s *slot, e *event, highest bool) {
	m, timestamp := e.m, e.m.DH.Timestamp
	if s.state&seenFirst != 0 {
		c.diverges(finding.MetaRoCERetransmissionFlag, d, int(p.id), e, s.number, "RTX on a retransmission", "none",
			"psn %d of path %d was sent twice without RTX, with the timestamps %d and %d ns.", s.psn, p.id, s.firstTS, timestamp)
		s.firstTS = timestamp
		return
	}
	if s.state&seenAgain != 0 && e.timed && s.state&timed != 0 {
		if later, ok := elapsed(s.lastTS, timestamp, s.time, e.time); ok && later > 0 {
			c.diverges(finding.MetaRoCERetransmissionFlag, d, int(p.id), e, s.last, "RTX on a retransmission", "none",
				"psn %d of path %d was sent without RTX %d ns after it had been sent with it.", s.psn, p.id, later)
			return
		}
	}
	c.order(d, p, e)
	c.afterMove(d, p, e)
	if s.state&seen == 0 {
		if s.state&covered != 0 {
			d.missed-- // it had not passed yet, or was a copy
		}
		c.weigh(d, clueAckUnsent, int(p.id), e, s.state&covered != 0, 0, s.last, e.number)
	}
	s.firstTS = timestamp
	if !highest {
		return
	}
	if p.settled < enough {
		p.settled++
		p.sightTS = timestamp
	}
	if p.unsent && mr0.PSNBefore(s.psn, p.unsentEnd) {
		p.unsent = false
		c.weigh(d, clueAckUnsent, int(p.id), e, true, 0, p.ack.number64, e.number)
	}
	c.goesOn(d, p, e)
	c.inFlight(d, p, e)
	p.latestTS, p.latestPSN, p.latestTime, p.latestTimed, p.latestNumber = timestamp, s.psn, e.time, e.timed, e.number
	if m.CH.Type != mr0.TypeProbe {
		p.probed = false
		c.fatal(d, e)
	}
}

// order holds a first transmission against the one with the highest psn: the one with the lower psn left first.
func (c *Connection) order(d *lane, p *path, e *event) {
	if !p.latestTimed || !e.timed {
		return
	}
	later, ok := elapsed(p.latestTS, e.m.DH.Timestamp, p.latestTime, e.time)
	if !ok {
		return
	}
	above := mr0.PSNDistance(p.latestPSN, e.m.CH.PSN) > 0
	if above && later < 0 || !above && later > 0 {
		c.diverges(finding.MetaRoCEPathOrder, d, int(p.id), e, p.latestNumber, "psns that rise as packets leave", "another order",
			"psn %d of path %d left %d ns %s psn %d, by their timestamps.", e.m.CH.PSN, p.id, max(later, -later),
			map[bool]string{true: "after", false: "before"}[later > 0], p.latestPSN)
		return
	}
	c.conforms(finding.MetaRoCEPathOrder)
}

// inFlight counts what is under way behind the latest acknowledged psn. What the ACKs seen cover the sender may know,
// not more, unless one was missed: the next one tells.
func (c *Connection) inFlight(d *lane, p *path, e *event) {
	if !p.acked {
		return
	}
	flying := mr0.PSNDistance(p.ack.end, p.next)
	if flying > int32(c.window(d)) && p.overWindow == 0 {
		p.overWindow = e.number
	}
	if mr0.PSNDistance(p.ack.next, e.m.CH.PSN) > mr0.SACKBits && p.overSACK == 0 {
		p.overSACK = e.number
	}
	c.congestionAt(d, p, e, flying)
}

// window is how many packets may be in flight on a path: each end bounds it.
func (c *Connection) window(d *lane) int {
	window := mr0.CONNMaxWindowMax
	for _, l := range [...]*lane{d, &c.lanes[1-d.index]} {
		if l.hasConn {
			window = min(window, int(l.conn.MaxWindow))
		}
	}
	return max(1, window)
}

// note remembers the transmission.
func (s *slot) note(e *event) {
	m := e.m
	if s.state&seen == 0 {
		s.number, s.all = e.number, m.CH.Flags
	}
	if s.state&(seen|several) == seen && s.lastTS != s.firstTS && s.priorTS != s.firstTS && s.priorTS != 0 {
		s.state |= several
	}
	s.priorTS = s.lastTS
	if s.state&seen == 0 {
		s.priorTS = m.DH.Timestamp
	}
	s.state |= seen
	if m.CH.Flags&mr0.FlagRTX != 0 {
		s.state |= seenAgain
	} else {
		s.state |= seenFirst
	}
	if s.state&seenFirst == 0 {
		s.firstTS = m.DH.Timestamp
	}
	s.all &= m.CH.Flags
	s.any |= m.CH.Flags
	s.lastTS, s.last = m.DH.Timestamp, e.number
	s.state &^= timed
	if m.CH.Flags&mr0.FlagRTX != 0 { // the late copy of a first transmission has no part in it
		s.state &^= cause
	}
	if e.timed {
		s.state |= timed
	}
	s.time, s.missingAt, s.retryAt = e.time, 0, 0
	if e.packet.Network.ECN == dissector.ECNCE {
		s.state |= marked
	}
	if m.CH.Type == mr0.TypeProbe {
		s.state |= asProbe
		if s.kind == 0 {
			s.kind = mr0.TypeProbe
		}
		return
	}
	s.port = e.packet.UDP.SourcePort
	s.kind, s.stream, s.msn, s.offset, s.length, s.payload = m.CH.Type, m.DH.StreamID, m.DH.MSN, m.DH.MessageOffset, m.DH.MessageLength, m.CH.PayloadLength
}
