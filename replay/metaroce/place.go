package metaroce

import (
	"encoding/binary"

	"github.com/rocelens/rocelens/dissector/metaroce"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// messageKey names a message of the peer within a connection.
type messageKey struct {
	stream uint16
	msn    uint32
}

// inboundMessage is a message of the peer that has begun to land, or has landed while older ones have not.
type inboundMessage struct {
	kind    mr0.Type
	length  uint32
	address uint64 // WRITE: of the whole message; READ and atomic: as asked for
	rkey    uint32
	index   uint32 // SEND: receive_index
	packets uint32
	missing uint32
	arrived bitmap // of messages of several packets
	flags   mr0.Flags
	imm     uint32
	request mr0.AETH // atomic
	readID  uint32
	path    uint8 // READ and atomic: of the request
	psn     uint32
}

func (e *Endpoint) newInbound() *inboundMessage {
	if n := len(e.inbounds); n > 0 {
		m := e.inbounds[n-1]
		e.inbounds = e.inbounds[:n-1]
		return m
	}
	return &inboundMessage{}
}

func (e *Endpoint) freeInbound(m *inboundMessage) {
	*m = inboundMessage{arrived: m.arrived[:0]}
	e.inbounds = append(e.inbounds, m)
}

// place lets a packet take effect. The reason is why it is refused, 0 when it is not; room is false when a limit of
// this endpoint does not let it in, and nothing was done.
func (c *Connection) place(in *mr0.Packet, payload []byte) (reason mr0.NAKReason, room bool) {
	c.landed = false
	switch in.CH.Type {
	case mr0.TypeProbe:
		return 0, true
	case mr0.TypeReadResp:
		return c.placeAnswer(in, payload), true
	case mr0.TypeAtomicResp:
		return c.takeOriginal(in), true
	default:
	}
	if in.DH.StreamID >= c.local.StreamCount {
		return mr0.NAKReasonStreamUnknown, true
	}
	s := c.stream(in.DH.StreamID)
	if metaroce.Before(in.DH.MSN, s.expected) {
		return 0, true // bytes of a message that has landed, by another path
	}
	key := messageKey{stream: s.id, msn: in.DH.MSN}
	m := c.partial[key]
	fresh := m == nil
	if fresh {
		if len(c.partial) >= c.endpoint.config.MaxInboundMessages && in.DH.MSN != s.expected {
			return 0, false
		}
		m = c.endpoint.newInbound()
		m.begin(in, c.mtu)
	}
	if reason, room = c.land(s, m, in, payload, fresh); reason != 0 || !room {
		if fresh {
			c.endpoint.freeInbound(m)
		}
		return reason, room
	}
	if fresh {
		c.partial[key] = m
	}
	if m.missing == 0 && in.DH.MSN == s.expected {
		c.handUp(s)
	}
	return 0, true
}

// begin takes from a packet what all of its message say.
func (m *inboundMessage) begin(in *mr0.Packet, mtu int) {
	m.kind, m.length, m.packets, m.path, m.psn = in.CH.Type, in.DH.MessageLength, 1, in.CH.PathID, in.CH.PSN
	switch in.CH.Type {
	case mr0.TypeWrite:
		m.address, m.rkey = in.WETH.VirtualAddress-uint64(in.DH.MessageOffset), in.WETH.RKey
		m.packets = packetCount(m.length, mtu)
	case mr0.TypeSend:
		m.index = in.SETH.ReceiveIndex
		m.packets = packetCount(m.length, mtu)
	case mr0.TypeReadReq:
		m.address, m.rkey, m.readID = in.RRETH.VirtualAddress, in.RRETH.RKey, in.RRETH.ReadID
	case mr0.TypeAtomicReq:
		m.address, m.rkey, m.request = in.AETH.VirtualAddress, in.AETH.RKey, in.AETH
	default:
	}
	m.missing = m.packets
}

// agrees tells whether a packet says what the others of its message have said.
func (m *inboundMessage) agrees(in *mr0.Packet) bool {
	if in.CH.Type != m.kind || in.DH.MessageLength != m.length {
		return false
	}
	switch in.CH.Type {
	case mr0.TypeWrite:
		return in.WETH.VirtualAddress-uint64(in.DH.MessageOffset) == m.address && in.WETH.RKey == m.rkey
	case mr0.TypeSend:
		return in.SETH.ReceiveIndex == m.index
	default:
		return true
	}
}

// fullCut tells whether a packet is one of those into which the profile cuts a message: all but the last full.
func fullCut(in *mr0.Packet, mtu int) bool {
	offset, carried := uint64(in.DH.MessageOffset), uint64(in.CH.PayloadLength)
	return offset%uint64(mtu) == 0 && carried == min(uint64(mtu), uint64(in.DH.MessageLength)-offset)
}

// land puts the payload of a request in its place, once.
func (c *Connection) land(s *Stream, m *inboundMessage, in *mr0.Packet, payload []byte, fresh bool) (mr0.NAKReason, bool) {
	if !fresh && !m.agrees(in) {
		return mr0.NAKReasonInvalidRequest, true
	}
	packet := in.DH.MessageOffset / uint32(c.mtu)
	if m.missing == 0 || m.arrived.has(packet) {
		return 0, true // by another path before
	}
	switch in.CH.Type {
	case mr0.TypeWrite, mr0.TypeSend:
		if !fullCut(in, c.mtu) {
			return mr0.NAKReasonInvalidRequest, true
		}
		if in.CH.Flags&mr0.FlagIMM != 0 && c.endpoint.completions.len() >= maxCompletions {
			return 0, false
		}
		if reason := c.put(s, m, in, payload); reason != 0 {
			return reason, true
		}
		if in.CH.Flags&mr0.FlagLast != 0 {
			m.flags, m.imm = in.CH.Flags, in.IMMH.Immediate
		}
	case mr0.TypeReadReq, mr0.TypeAtomicReq:
		if c.answering >= maxResponses {
			return 0, false
		}
		if reason := c.permit(in); reason != 0 {
			return reason, true
		}
	default:
	}
	if m.packets > 1 {
		m.arrived = m.arrived.add(packet)
	}
	m.missing--
	c.landed = m.missing == 0
	return 0, true
}

// put copies the payload of a WRITE or SEND to where it belongs.
func (c *Connection) put(s *Stream, m *inboundMessage, in *mr0.Packet, payload []byte) mr0.NAKReason {
	if in.CH.Type == mr0.TypeWrite {
		if len(payload) == 0 {
			return 0
		}
		to, err := c.endpoint.config.Memory.Slice(in.WETH.RKey, in.WETH.VirtualAddress, len(payload), AccessWrite)
		if err != nil {
			return mr0.NAKReasonRemoteAccessError
		}
		copy(to, payload)
		return 0
	}
	i := metaroce.Distance(s.firstRecv, m.index)
	if i >= int32(s.receives.len()) {
		return mr0.NAKReasonReceiverNotReady
	}
	if i < 0 {
		return mr0.NAKReasonInvalidRequest
	}
	r := s.receives.at(int(i))
	if uint64(m.length) > uint64(len(r.buffer)) || r.message != nil && r.message != m {
		return mr0.NAKReasonInvalidRequest
	}
	r.message = m
	copy(r.buffer[in.DH.MessageOffset:], payload)
	return 0
}

// permit checks a READ or atomic before it waits for its turn.
func (c *Connection) permit(in *mr0.Packet) mr0.NAKReason {
	memory := c.endpoint.config.Memory
	if in.CH.Type == mr0.TypeReadReq {
		if in.DH.MessageOffset != 0 {
			return mr0.NAKReasonInvalidRequest
		}
		if in.DH.MessageLength == 0 {
			return 0
		}
		if _, err := memory.Slice(in.RRETH.RKey, in.RRETH.VirtualAddress, int(in.DH.MessageLength), AccessRead); err != nil {
			return mr0.NAKReasonRemoteAccessError
		}
		return 0
	}
	if in.DH.MessageLength != 0 || in.AETH.VirtualAddress%8 != 0 || in.AETH.Operation > mr0.AtomicOperationCompareAndSwap {
		return mr0.NAKReasonInvalidRequest
	}
	if _, err := memory.Slice(in.AETH.RKey, in.AETH.VirtualAddress, 8, AccessAtomic); err != nil {
		return mr0.NAKReasonRemoteAccessError
	}
	return 0
}

// handUp completes the messages of a stream that have landed, in their order.
func (c *Connection) handUp(s *Stream) {
	for {
		key := messageKey{stream: s.id, msn: s.expected}
		m := c.partial[key]
		if m == nil || m.missing != 0 {
			return
		}
		delete(c.partial, key)
		c.execute(s, m)
		s.expected++
		c.endpoint.freeInbound(m)
	}
}

// execute is what a message of the peer does when it is its turn.
func (c *Connection) execute(s *Stream, m *inboundMessage) {
	done := Completion{
		Connection: c, StreamID: s.id, MSN: s.expected, Operation: OperationWrite, Received: true, Length: m.length,
		Immediate: m.imm, HasImmediate: m.flags&mr0.FlagIMM != 0, Solicited: m.flags&mr0.FlagSE != 0,
	}
	switch m.kind {
	case mr0.TypeSend:
		done.Operation = OperationSend
		done.ID = s.take(m)
		c.endpoint.completions.push(done)
	case mr0.TypeWrite:
		if done.HasImmediate {
			c.endpoint.completions.push(done)
		}
	case mr0.TypeReadReq:
		c.answer(s, m, mr0.TypeReadResp)
	case mr0.TypeAtomicReq:
		c.answer(s, m, mr0.TypeAtomicResp)
	default:
	}
}

// take removes the receive buffer that a SEND has filled, and returns its id.
func (s *Stream) take(m *inboundMessage) uint64 {
	r := s.receives.at(int(metaroce.Distance(s.firstRecv, m.index)))
	id := r.id
	*r = receive{message: taken}
	for s.receives.len() > 0 && s.receives.at(0).message == taken {
		s.receives.pop()
		s.firstRecv++
	}
	return id
}

// taken marks a receive buffer that was handed up before an older one.
var taken = &inboundMessage{}

// perform does an atomic and returns what was there before.
func perform(memory []byte, r *mr0.AETH) uint64 {
	before := binary.NativeEndian.Uint64(memory)
	switch {
	case r.Operation == mr0.AtomicOperationFetchAndAdd:
		binary.NativeEndian.PutUint64(memory, before+r.SwapOrAdd)
	case before == r.Compare:
		binary.NativeEndian.PutUint64(memory, r.SwapOrAdd)
	}
	return before
}
