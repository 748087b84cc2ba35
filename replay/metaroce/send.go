package metaroce

import (
	"math/bits"
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// sendSequenced sends what takes a path sequence number: what was lost first, then probes, then new packets.
func (c *Connection) sendSequenced(now time.Duration, scratch []byte) (Datagram, bool) {
	for !c.lostPaths.empty() {
		i := c.lostPaths.first()
		if d, ok := c.resend(now, &c.paths[i], scratch); ok || c.state != StateOpen {
			return d, ok
		}
		c.lostPaths.remove(i)
	}
	if !c.tailPaths.empty() {
		i := c.tailPaths.first()
		c.tailPaths.remove(i)
		return c.probeTail(now, &c.paths[i], scratch)
	}
	if c.failed > 0 {
		for i := range c.paths {
			if p := &c.paths[i]; p.probeDue {
				return c.probe(now, p, scratch)
			}
		}
	}
	return c.sendNew(now, scratch)
}

// resend sends exactly a missing packet again, on its path, with its psn.
func (c *Connection) resend(now time.Duration, p *path, scratch []byte) (Datagram, bool) {
	if p.lost == 0 {
		return Datagram{}, false
	}
	psn := p.una
	for p.slot(psn).state != slotLost {
		psn++
	}
	p.lost--
	p.slot(psn).again = true
	return c.transmit(now, p, psn, mr0.FlagRTX|mr0.FlagAR, scratch)
}

// probe asks a failed path whether it is there again, with the oldest of its psns that is outstanding.
func (c *Connection) probe(now time.Duration, p *path, scratch []byte) (Datagram, bool) {
	p.probeDue = false
	if p.probeSent == Never {
		p.probeSent = now
	}
	p.probeAt = now + c.endpoint.config.RTOMax
	c.arm(p.probeAt)
	if p.span() == 0 {
		*p.append() = slot{} // ACKs from before the failure have covered all
		return c.transmit(now, p, p.una, mr0.FlagAR, scratch)
	}
	s := p.slot(p.una)
	c.leave(p, s)
	s.again = true
	return c.transmit(now, p, p.una, mr0.FlagRTX|mr0.FlagAR, scratch)
}

// sendNew sends bytes that no psn bears.
func (c *Connection) sendNew(now time.Duration, scratch []byte) (Datagram, bool) {
	if !c.mayHaveNew() || !c.permits(now) {
		return Datagram{}, false
	}
	p := c.choosePath()
	if p == nil {
		return Datagram{}, false
	}
	seg, again := c.nextSegment()
	if seg.message == nil {
		return Datagram{}, false
	}
	psn := p.next
	s := p.append()
	*s = slot{message: seg.message, packet: seg.packet}
	var flags mr0.Flags
	if again {
		flags |= mr0.FlagRTX
		c.statistics.Moved++
	}
	return c.transmit(now, p, psn, flags, scratch)
}

// mayHaveNew says false when nothing waits that needs a psn.
func (c *Connection) mayHaveNew() bool {
	return c.moved.len() > 0 || c.responses.len() > 0 || c.sendable.len() > 0
}

// nextSegment takes the next packet to be sent: bytes of failed paths first, then answers and streams in turn. It
// tells whether the bytes were sent before.
func (c *Connection) nextSegment() (segment, bool) {
	if c.moved.len() > 0 {
		return c.moved.pop(), true
	}
	c.responseTurn = !c.responseTurn
	if c.responses.len() > 0 && (c.responseTurn || c.sendable.len() == 0) {
		m := *c.responses.at(0)
		seg := m.take()
		if m.next == m.packets {
			c.responses.pop()
		}
		return seg, false
	}
	for c.sendable.len() > 0 {
		s := c.sendable.pop()
		m := *s.own.at(s.unsent)
		if metaroce.Distance((*s.own.at(0)).msn, m.msn) >= int32(c.endpoint.config.MessageWindow) {
			s.scheduled = false // until the oldest is complete
			continue
		}
		if m.asks() {
			if c.reading >= c.endpoint.config.MaxReads {
				c.blocked = append(c.blocked, s)
				continue
			}
			c.ask(m)
		}
		seg := m.take()
		if m.next == m.packets {
			s.unsent++
		}
		s.scheduled = false
		c.schedule(s)
		return seg, false
	}
	if c.responses.len() > 0 {
		return c.nextSegment()
	}
	return segment{}, false
}

// asks tells whether the message is a request that the peer answers with a message.
func (m *message) asks() bool { return m.kind == mr0.TypeReadReq || m.kind == mr0.TypeAtomicReq }

// take is the message's next packet.
func (m *message) take() segment {
	seg := segment{message: m, packet: m.next}
	m.next++
	m.reference++
	return seg
}

// transmit sends the packet of a slot.
func (c *Connection) transmit(now time.Duration, p *path, psn uint32, flags mr0.Flags, scratch []byte) (Datagram, bool) {
	e := c.endpoint
	s := p.slot(psn)
	e.out.CH = mr0.CH{
		Type: mr0.TypeProbe, Flags: flags, DestConnID: c.peer.SourceConnID, PathID: p.id, PlaneID: p.plane,
		PartitionKey: e.config.PartitionKey, PSN: psn,
	}
	var payload []byte
	if s.message == nil {
		e.out.DH = mr0.DH{}
		e.out.CH.Flags |= mr0.FlagFirst | mr0.FlagLast
	} else {
		var err error
		if payload, err = c.fill(s.message, s.packet); err != nil {
			c.end(now, mr0.DisconnectReasonError, err) // memory that was readable when the READ came is not any more
			return c.produce(now, scratch)
		}
	}
	e.out.DH.Timestamp = uint32(now)
	s.state = slotSent
	s.at = now
	p.inflight++
	p.sinceAR++
	source, destination := c.addresses(p)
	if c.wantsACK(p) {
		e.out.CH.Flags |= mr0.FlagAR
	}
	if e.out.CH.Flags&mr0.FlagAR != 0 {
		p.sinceAR = 0
	}
	d := e.datagram(scratch, payload, source, destination, p.plane)
	s.bytes = int32(len(d.Payload) + e.overhead)
	c.inflightBytes += int(s.bytes)
	c.spend(now, int(s.bytes))
	if p.rtoAt == Never && !p.failed {
		p.rtoAt = now + p.rto(&e.config.Parameters)
		c.arm(p.rtoAt)
	}
	c.watchTail(now, p)
	c.statistics.Packets++
	c.statistics.Bytes += uint64(s.bytes)
	c.statistics.Payload += uint64(len(payload))
	switch {
	case e.out.CH.Type == mr0.TypeProbe:
		c.statistics.Probes++
	case s.again:
		c.statistics.Retransmissions++
	}
	return d, true
}

// wantsACK decides about AR on the packet that is about to leave: when nothing follows it, and four times for what is
// in flight on the path, so that a small window does not wait for the receiver's timer.
func (c *Connection) wantsACK(p *path) bool {
	return 4*p.sinceAR >= p.inflight || !c.mayHaveNew()
}

// first is the lowest member of a set that is not empty.
func (s *pathSet) first() uint8 {
	if s[0] != 0 {
		return uint8(bits.TrailingZeros64(s[0]))
	}
	return uint8(64 + bits.TrailingZeros64(s[1]))
}
