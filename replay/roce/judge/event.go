package judge

import (
	"errors"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/replay/finding"
)

// event is what the rules need of one packet.
type event struct {
	packet   *dissector.Packet
	number   uint64
	time     int64
	hasTime  bool
	psn      uint32
	opcode   infiniband.Opcode
	length   uint32 // payload
	wire     uint32 // bytes of the frame
	whole    bool   // every header was captured
	marked   bool   // CE
	capable  bool   // ECN-capable, marked or not
	ecnKnown bool
	icrc     dissector.ICRCState
}

// read fills the event from a sighting and tells whether the rules may be applied to it: a packet of which the
// headers are not there, or cannot be right, says nothing about its sender.
func (e *event) read(s *finding.Sighting) bool {
	p := s.Packet
	if !p.IsRDMA() || errors.Is(s.Err, dissector.ErrMalformed) || errors.Is(s.Err, dissector.ErrUnsupported) {
		return false
	}
	headers, known := p.BTH.Opcode.Headers()
	if !known {
		return false
	}
	*e = event{
		packet: p, number: p.Meta.Number, time: p.Meta.Time, hasTime: p.Meta.HasTime,
		psn: p.BTH.PSN, opcode: p.BTH.Opcode, length: uint32(p.PayloadLength),
		wire: max(p.Meta.OriginalLength, uint32(len(p.Data))),
		icrc: s.ICRC, whole: p.Has&headers == headers,
	}
	if s.Err != nil && !e.whole { // cut before the end of its headers: the decoder did not come to the payload
		e.length = 0
	}
	if p.Protocol == dissector.ProtocolRoCEv2 {
		e.ecnKnown = true
		e.marked = p.Network.ECN == dissector.ECNCE
		e.capable = p.Network.ECN != dissector.ECNNotECT
	}
	return true
}

// has tells whether a header of the packet was captured.
func (e *event) has(h infiniband.HeaderSet) bool { return e.packet.Has&h != 0 }
