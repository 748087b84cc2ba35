// Package metagen makes random packets of the profile mr0 that keep to it, for tests.
package metagen

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// MaxPayload is the longest payload that Packet makes, in bytes.
const MaxPayload = 300

// Types are all packet types.
func Types() []mr0.Type {
	var types []mr0.Type
	for t := range mr0.Type(1 << 4) {
		if t.Known() {
			types = append(types, t)
		}
	}
	return types
}

// Packet makes a packet of a type, with every field of its headers filled in, reserved ones with zero, and its
// payload.
func Packet(r *rand.Rand, typ mr0.Type) (p mr0.Packet, payload []byte) {
	p.CH = mr0.CH{
		Version: mr0.Version, Type: typ, Flags: mr0.Flags(r.Uint32()) & (mr0.FlagAR | mr0.FlagRTX | mr0.FlagSE),
		DestConnID: r.Uint32(), PathID: uint8(r.UintN(128)), PlaneID: uint8(r.Uint32()), PartitionKey: uint16(r.Uint32()), PSN: r.Uint32(),
	}
	if typ.Sequenced() {
		p.CH.PathID |= uint8(r.UintN(2)) << 7
		payload = message(r, &p)
	}
	switch typ {
	case mr0.TypeConnReq, mr0.TypeConnRep:
		p.CONN = mr0.CONN{
			SourceConnID: r.Uint32(), PathCount: 1 + uint8(r.UintN(128)), PlaneCount: 1 + uint8(r.UintN(255)), MTU: 256 << r.UintN(6),
			LinkRate: r.Uint32(), InitialPSN: r.Uint32(), StreamCount: uint16(r.Uint32()), MaxWindow: uint16(r.UintN(257)), Nonce: r.Uint64(),
		}
	case mr0.TypeConnRej:
		p.REJ = mr0.REJ{Reason: mr0.RejectReason(r.UintN(7)), Nonce: r.Uint64()}
	case mr0.TypeDisconnect:
		p.DISC = mr0.DISC{SourceConnID: r.Uint32(), Reason: mr0.DisconnectReason(r.UintN(4))}
	case mr0.TypeWrite:
		p.WETH = mr0.WETH{VirtualAddress: r.Uint64(), RKey: r.Uint32()}
	case mr0.TypeSend:
		p.SETH = mr0.SETH{ReceiveIndex: r.Uint32()}
	case mr0.TypeReadReq:
		p.RRETH = mr0.RRETH{VirtualAddress: r.Uint64(), RKey: r.Uint32(), ReadID: r.Uint32()}
	case mr0.TypeReadResp:
		p.RSETH = mr0.RSETH{ReadID: r.Uint32()}
	case mr0.TypeAtomicReq:
		p.AETH = mr0.AETH{
			VirtualAddress: r.Uint64(), RKey: r.Uint32(), Operation: mr0.AtomicOperation(r.UintN(3)), SwapOrAdd: r.Uint64(), Compare: r.Uint64(),
		}
	case mr0.TypeAtomicResp:
		p.ARETH = mr0.ARETH{OriginalValue: r.Uint64()}
	case mr0.TypeACK:
		p.ACKH = ack(r)
	case mr0.TypeNAK:
		p.NAKH = mr0.NAKH{
			Reason: mr0.NAKReason(r.UintN(7)), StreamID: uint16(r.Uint32()), MSN: r.Uint32(), RefusedPSN: r.Uint32(), RetryAfter: r.Uint32(),
		}
	case mr0.TypeProbe:
	}
	return p, payload
}

// message gives a sequenced packet a place in a message, with the flags that go with it.
func message(r *rand.Rand, p *mr0.Packet) (payload []byte) {
	p.DH = mr0.DH{Timestamp: r.Uint32(), StreamID: uint16(r.Uint32()), MSN: r.Uint32()}
	if r.UintN(2) == 0 {
		p.DH.MessageOffset = r.Uint32N(1 << 30)
	}
	if p.CH.Type.BearsPayload() {
		payload = make([]byte, r.UintN(MaxPayload))
		for i := range payload {
			payload[i] = byte(r.Uint32())
		}
	}
	p.CH.PayloadLength = uint16(len(payload))
	end := p.DH.MessageOffset + uint32(len(payload))
	p.DH.MessageLength = end
	last := r.UintN(2) == 0
	if !last {
		p.DH.MessageLength += 1 + r.Uint32N(1<<30)
	}
	if p.DH.MessageOffset == 0 {
		p.CH.Flags |= mr0.FlagFirst
	}
	if last {
		p.CH.Flags |= mr0.FlagLast
		if t := p.CH.Type; (t == mr0.TypeWrite || t == mr0.TypeSend) && r.UintN(2) == 0 {
			p.CH.Flags |= mr0.FlagIMM
			p.IMMH.Immediate = r.Uint32()
		}
	}
	return payload
}

// ack makes an ACK whose vector is empty, full, sparse or dense.
func ack(r *rand.Rand) mr0.ACKH {
	h := mr0.ACKH{
		CumulativePSN: r.Uint32(), EchoTimestamp: r.Uint32(), ACKDelay: r.Uint32(), RateHint: r.Uint32(), CECount: r.Uint32(),
		PacketCount: r.Uint32(), Trigger: mr0.ACKTrigger(r.UintN(10)),
	}
	if r.UintN(4) == 0 {
		h.RateHint = mr0.ACKHRateHintNoLimit
	}
	if r.UintN(8) == 0 {
		h.CumulativePSN = ^uint32(0) - r.Uint32N(300) // ranges pass the end of the circle
	}
	for i := 0; i < len(h.SACK); i += 8 {
		word := r.Uint64()
		switch r.UintN(4) {
		case 0:
			word = 0
		case 1:
			word = ^uint64(0)
		case 2:
			word &= r.Uint64() & r.Uint64()
		}
		binary.LittleEndian.PutUint64(h.SACK[i:], word)
	}
	return h
}
