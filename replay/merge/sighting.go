package merge

import (
	"encoding/binary"
	"math/bits"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/finding"
)

// kind is what a packet is to the evidence.
type kind uint8

const (
	kindOther   kind = iota // counted and timed only
	kindRequest             // of RC: takes a PSN, and is acknowledged
	kindRead                // a READ request: one that is sent again may ask for a part, so that its PSN is another
	kindCover               // an answer that stands for all requests up to its PSN
	kindNAK                 // PSN sequence error: asks for its PSN
	kindRefuse              // any other NAK: stands for requests before its PSN
	kindCNP
	kindSequenced // of MetaRoCE: takes a PSN of its path; one that is sent again keeps it, but for its timestamp
	kindSACK      // of MetaRoCE: says what of a path has arrived, and which transmission it answers
	kindUnready   // of MetaRoCE: a NAK, which names a packet that has arrived
)

// lane is a sequence of packets that keep their order when the network does: one direction of a connection, or
// of a path of MetaRoCE; CNPs go by another class of traffic.
type lane struct {
	flow uint64 // the same for both captures
	path int16  // -1: not of MetaRoCE
	cnp  bool
}

// Sighting is one packet as one capture showed it.
type Sighting struct {
	Number uint64 // of the packet in its capture
	Time   int64  // ns since the Unix epoch by the capture's clock

	lane                lane
	partner             uint64 // flow of the opposite direction; 0: unknown
	source, destination dissector.Address
	qp                  uint32 // destination QP, or connection id
	sequence            uint32 // PSN
	key                 uint64 // what the packet is, of what no hop changes and the shortest capture holds
	icrc                uint32 // as on the wire
	ipID                uint16
	kind                kind
	hasICRC, hasID      bool
	ackRequest          bool
	damaged             bool // the ICRC is wrong
	ecn                 dissector.ECN
	stamp               uint32 // of MetaRoCE: the sender's timestamp, which names the transmission
	ack                 *mr0.ACKH
}

// New describes a packet. false: it belongs to no connection, is a mirror's copy, or has no time stamp.
func New(s *finding.Sighting) (Sighting, bool) {
	p := s.Packet
	if s.Flow == 0 || s.Copy || !p.Meta.HasTime {
		return Sighting{}, false
	}
	out := Sighting{
		Number: p.Meta.Number, Time: p.Meta.Time, lane: lane{flow: s.Flow, path: -1}, partner: s.Partner,
		ipID: p.Network.ID, hasID: p.Network.Version == 4, ecn: p.Network.ECN,
		damaged: s.ICRC == dissector.ICRCBad, qp: p.BTH.DestinationQP, sequence: p.BTH.PSN,
	}
	out.source, out.destination = p.Ends()
	if end := int(p.ICRCOffset); end > 0 && end+4 <= min(int(p.CapturedEnd), len(p.Data)) {
		out.icrc, out.hasICRC = binary.LittleEndian.Uint32(p.Data[end:]), true
	}
	if p.Protocol == dissector.ProtocolMetaRoCE {
		h := &p.MetaRoCE.MR0.CH
		out.lane.path, out.qp, out.sequence = int16(h.PathID), h.DestConnID, h.PSN
		out.metaroce(&p.MetaRoCE.MR0)
		out.key = out.identity(p, uint64(h.Type)|uint64(h.Flags)<<8|uint64(h.PayloadLength)<<16|uint64(out.stamp)<<32)
		return out, true
	}
	b := &p.BTH
	out.ackRequest = b.AckRequest
	out.kind = kindOf(p)
	out.lane.cnp = out.kind == kindCNP
	header := uint64(b.Opcode) | bit(b.SolicitedEvent)<<8 | bit(b.MigrationRequest)<<9 | uint64(b.PadCount)<<10 |
		bit(b.AckRequest)<<12 | uint64(b.PartitionKey)<<16
	if b.Opcode.IsAck() {
		header |= uint64(p.AETH.Syndrome)<<32 | uint64(p.AETH.MSN)<<40
	}
	out.key = out.identity(p, header)
	return out, true
}

func (s *Sighting) metaroce(m *mr0.Packet) {
	switch {
	case m.CH.Type.Sequenced() && m.Has&mr0.HasDH != 0:
		s.kind, s.stamp = kindSequenced, m.DH.Timestamp
	case m.CH.Type == mr0.TypeACK && m.Has&mr0.HasACKH != 0:
		ack := m.ACKH
		s.kind, s.ack = kindSACK, &ack
	case m.CH.Type == mr0.TypeNAK && m.Has&mr0.HasNAKH != 0:
		s.kind, s.sequence = kindUnready, m.NAKH.RefusedPSN
	}
}

func kindOf(p *dissector.Packet) kind {
	op := p.BTH.Opcode
	switch service := op.Service(); {
	case op.IsCNP():
		return kindCNP
	case service != infiniband.ServiceRC && service != infiniband.ServiceXRC:
		return kindOther
	case op.IsReadRequest():
		return kindRead
	case op.IsRequest():
		return kindRequest
	case op.IsReadResponse(), op.IsAtomicAck():
		return kindCover
	case !op.IsAck() || p.Has&infiniband.HasAETH == 0:
		return kindOther
	case p.AETH.Syndrome.IsACK():
		return kindCover
	case p.AETH.Syndrome.IsNAK() && p.AETH.Syndrome.NAKCode() == infiniband.NAKPSNSequenceError:
		return kindNAK
	}
	return kindRefuse
}

// identity hashes what no hop changes: neither ECN nor TTL, nor a source port that a device rewrites.
func (s *Sighting) identity(p *dissector.Packet, header uint64) uint64 {
	h := mix(s.lane.flow, header^0x6a09e667f3bcc909)
	h = mix(h^uint64(s.sequence)^uint64(s.qp)<<32, 0xbb67ae8584caa73b)
	return mix(h^uint64(s.ipID)^uint64(p.Network.TotalLength)<<16, 0x3c6ef372fe94f82b^uint64(p.Protocol))
}

func mix(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
