package metaroce

import (
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// message is an outbound message: a work request, or the answer to a peer's READ or atomic.
type message struct {
	stream         *Stream
	request        WorkRequest
	kind           mr0.Type // of its packets
	msn            uint32
	length         uint32 // DH.message_length
	packets        uint32 // number of packets
	next           uint32 // first packet that was never sent
	unacked        uint32 // packets that are not acknowledged
	receive        uint32 // SEND: receive_index
	readID         uint32 // READ and its answer
	original       uint64 // value that an atomic found
	arrived        bitmap // READ: packets of the answer that have landed
	answersMissing uint32 // READ: packets of the answer that have not
	complete       bool   // but may wait for earlier ones of its stream
	err            error
	reference      int // from slots, the queue of moved packets, and its stream or the answers
}

// segment is a packet of a message.
type segment struct {
	message *message
	packet  uint32
}

func (e *Endpoint) newMessage() *message {
	if n := len(e.messages); n > 0 {
		m := e.messages[n-1]
		e.messages = e.messages[:n-1]
		m.reference = 1
		return m
	}
	return &message{reference: 1}
}

// release drops a reference, and with the last the message.
func (e *Endpoint) release(m *message) {
	if m.reference--; m.reference == 0 {
		arrived := m.arrived[:0]
		*m = message{arrived: arrived}
		e.messages = append(e.messages, m)
	}
}

// packetCount is how many packets a payload takes: an empty one takes one.
func packetCount(length uint32, mtu int) uint32 {
	return max(1, uint32((uint64(length)+uint64(mtu)-1)/uint64(mtu)))
}

// fill sets e.out to the packet of the message and returns its payload.
func (c *Connection) fill(m *message, packet uint32) ([]byte, error) {
	e := c.endpoint
	out := &e.out
	out.CH.Type = m.kind
	out.DH = mr0.DH{StreamID: m.stream.id, MSN: m.msn, MessageLength: m.length}
	var from, to uint64
	if m.kind.BearsPayload() {
		from = uint64(packet) * uint64(c.mtu)
		to = min(from+uint64(c.mtu), uint64(m.length))
		out.DH.MessageOffset = uint32(from)
		if to == uint64(m.length) {
			out.CH.Flags |= mr0.FlagLast
		}
	} else if m.length == 0 {
		out.CH.Flags |= mr0.FlagLast
	}
	if from == 0 {
		out.CH.Flags |= mr0.FlagFirst
	}
	r := &m.request
	last := out.CH.Flags&mr0.FlagLast != 0
	if last && r.HasImmediate && (m.kind == mr0.TypeWrite || m.kind == mr0.TypeSend) {
		out.CH.Flags |= mr0.FlagIMM
		out.IMMH = mr0.IMMH{Immediate: r.Immediate}
	}
	if last && r.Solicited {
		out.CH.Flags |= mr0.FlagSE
	}
	switch m.kind {
	case mr0.TypeWrite:
		out.WETH = mr0.WETH{VirtualAddress: r.RemoteAddress + from, RKey: r.RKey}
		return r.Data[from:to], nil
	case mr0.TypeSend:
		out.SETH = mr0.SETH{ReceiveIndex: m.receive}
		return r.Data[from:to], nil
	case mr0.TypeReadReq:
		out.RRETH = mr0.RRETH{VirtualAddress: r.RemoteAddress, RKey: r.RKey, ReadID: m.readID}
	case mr0.TypeReadResp:
		out.RSETH = mr0.RSETH{ReadID: m.readID}
		if from == to {
			return nil, nil
		}
		return e.config.Memory.Slice(r.RKey, r.RemoteAddress+from, int(to-from), AccessRead)
	case mr0.TypeAtomicReq:
		out.AETH = mr0.AETH{
			VirtualAddress: r.RemoteAddress, RKey: r.RKey, Operation: r.Operation.atomic(), SwapOrAdd: r.SwapOrAdd, Compare: r.Compare,
		}
	case mr0.TypeAtomicResp:
		out.ARETH = mr0.ARETH{OriginalValue: m.original}
	default:
	}
	return nil, nil
}

// bitmap is a set of packets of a message.
type bitmap []uint64

func (b bitmap) has(i uint32) bool { return int(i>>6) < len(b) && b[i>>6]>>(i&63)&1 != 0 }

// add grows the set as far as it has to: a length that a peer claims allocates nothing.
func (b bitmap) add(i uint32) bitmap {
	for int(i>>6) >= len(b) {
		b = append(b, 0)
	}
	b[i>>6] |= 1 << (i & 63)
	return b
}
