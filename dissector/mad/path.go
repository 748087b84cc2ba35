package mad

import "encoding/binary"

// Path is the way of a connection's packets as the sender of a REQ or LAP sees it, 44 bytes
// (IBTA volume 1, tables of sections 12.6.5 and 12.6.13). RoCE has no LIDs.
type Path struct {
	LocalLID     uint16
	RemoteLID    uint16
	LocalGID     GID
	RemoteGID    GID
	FlowLabel    uint32 // 20 bits
	Reserved     uint8  // 6 bits
	PacketRate   uint8  // 6 bits
	TrafficClass uint8
	HopLimit     uint8
	ServiceLevel uint8 // 4 bits
	SubnetLocal  bool
	ReservedSL   uint8   // 3 bits behind SubnetLocal
	AckTimeout   Timeout // 5 bits, 0 for none
	ReservedAck  uint8   // 3 bits behind AckTimeout
}

// decodeEnds reads the fields that the two forms of a path have in one place.
func (p *Path) decodeEnds(b []byte) {
	*p = Path{
		LocalLID:     binary.BigEndian.Uint16(b),
		RemoteLID:    binary.BigEndian.Uint16(b[2:]),
		LocalGID:     GID(b[4:20]),
		RemoteGID:    GID(b[20:36]),
		FlowLabel:    binary.BigEndian.Uint32(b[36:]) >> 12,
		ServiceLevel: b[42] >> 4,
		SubnetLocal:  b[42]&0x08 != 0,
		ReservedSL:   b[42] & 0x07,
		AckTimeout:   Timeout(b[43] >> 3),
		ReservedAck:  b[43] & 0x07,
	}
}

func (p *Path) decodeREQ(b []byte) {
	p.decodeEnds(b)
	p.Reserved = uint8(binary.BigEndian.Uint16(b[38:]) >> 6 & 0x3f)
	p.PacketRate = b[39] & 0x3f
	p.TrafficClass = b[40]
	p.HopLimit = b[41]
}

func (p *Path) decodeLAP(b []byte) {
	p.decodeEnds(b)
	p.Reserved = b[38]&0x0f<<2 | b[41]>>6
	p.PacketRate = b[41] & 0x3f
	p.TrafficClass = b[39]
	p.HopLimit = b[40]
}

func (p *Path) appendEnds(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, p.LocalLID)
	b = binary.BigEndian.AppendUint16(b, p.RemoteLID)
	b = append(b, p.LocalGID[:]...)
	return append(b, p.RemoteGID[:]...)
}

func (p *Path) appendLevel(b []byte) []byte {
	return append(b,
		p.ServiceLevel<<4|flag(p.SubnetLocal, 0x08)|p.ReservedSL&0x07,
		uint8(p.AckTimeout)<<3|p.ReservedAck&0x07)
}

func (p *Path) appendREQ(b []byte) []byte {
	b = p.appendEnds(b)
	b = binary.BigEndian.AppendUint32(b, p.FlowLabel<<12|uint32(p.Reserved&0x3f)<<6|uint32(p.PacketRate&0x3f))
	return p.appendLevel(append(b, p.TrafficClass, p.HopLimit))
}

func (p *Path) appendLAP(b []byte) []byte {
	b = p.appendEnds(b)
	b = binary.BigEndian.AppendUint32(b, p.FlowLabel<<12|uint32(p.Reserved>>2&0x0f)<<8|uint32(p.TrafficClass))
	return p.appendLevel(append(b, p.HopLimit, p.Reserved<<6|p.PacketRate&0x3f))
}
