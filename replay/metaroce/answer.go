package metaroce

import (
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// answer queues READ_RESP or ATOMIC_RESP for a request of the peer whose turn it is.
func (c *Connection) answer(s *Stream, in *inboundMessage, kind mr0.Type) {
	e := c.endpoint
	m := e.newMessage()
	m.stream, m.kind, m.msn, m.readID, m.packets = s, kind, s.expected, in.readID, 1
	if kind == mr0.TypeReadResp {
		m.length = in.length
		m.packets = packetCount(in.length, c.mtu)
		m.request = WorkRequest{RemoteAddress: in.address, RKey: in.rkey}
	} else {
		memory, err := e.config.Memory.Slice(in.rkey, in.address, 8, AccessAtomic)
		if err != nil { // it could be reached when the request came
			e.release(m)
			c.naks.push(nak{path: in.path, header: mr0.NAKH{
				Reason: mr0.NAKReasonRemoteOperationError, StreamID: s.id, MSN: s.expected, RefusedPSN: in.psn,
			}})
			return
		}
		m.original = perform(memory, &in.request)
	}
	m.unacked = m.packets
	c.answering++
	c.responses.push(m)
}

// ask prepares a READ or atomic that is about to be sent for its answer.
func (c *Connection) ask(m *message) {
	c.reading++
	if m.kind == mr0.TypeReadReq {
		c.nextReadID++
		m.readID = c.nextReadID
		m.answersMissing = packetCount(m.length, c.mtu)
		c.reads[m.readID] = m
	}
}

// placeAnswer puts the payload of a READ_RESP into the buffer of the READ, once.
func (c *Connection) placeAnswer(in *mr0.Packet, payload []byte) mr0.NAKReason {
	m := c.reads[in.RSETH.ReadID]
	if m == nil {
		return 0 // answered, by another path before
	}
	if m.stream.id != in.DH.StreamID || m.msn != in.DH.MSN || m.length != in.DH.MessageLength || !fullCut(in, c.mtu) {
		return mr0.NAKReasonInvalidRequest
	}
	packet := in.DH.MessageOffset / uint32(c.mtu)
	if m.arrived.has(packet) {
		return 0
	}
	m.arrived = m.arrived.add(packet)
	copy(m.request.Data[in.DH.MessageOffset:], payload)
	m.answersMissing--
	if m.answersMissing == 0 {
		c.landed = true
		c.answered(m)
		m.complete = true
		m.stream.retire()
	}
	return 0
}

// takeOriginal takes the answer to an atomic.
func (c *Connection) takeOriginal(in *mr0.Packet) mr0.NAKReason {
	s := c.streams[in.DH.StreamID]
	if s == nil {
		return mr0.NAKReasonInvalidRequest
	}
	m := s.find(in.DH.MSN)
	if m == nil || m.complete {
		return 0
	}
	if m.kind != mr0.TypeAtomicReq || m.next == 0 {
		return mr0.NAKReasonInvalidRequest
	}
	m.original = in.ARETH.OriginalValue
	c.landed = true
	c.answered(m)
	m.complete = true
	s.retire()
	return 0
}

// answered makes room for another READ or atomic.
func (c *Connection) answered(m *message) {
	if m.kind == mr0.TypeReadReq {
		delete(c.reads, m.readID)
	}
	c.reading--
	for _, s := range c.blocked {
		s.scheduled = false
		c.schedule(s)
	}
	clear(c.blocked)
	c.blocked = c.blocked[:0]
}
