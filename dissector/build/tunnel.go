package build

import (
	"encoding/binary"
	"net/netip"

	"github.com/rocelens/rocelens/dissector"
)

const (
	protocolGRE    = 47
	etherTypeTEB   = 0x6558
	etherTypeSPAN2 = 0x88be
	etherTypeSPAN3 = 0x22eb
	greSequence    = 0x1000

	protocolIPv4     = 4
	protocolIPv6     = 41
	protocolRouting  = 43
	protocolEthernet = 143
)

// Ethernet appends an Ethernet header and its payload.
func Ethernet(b []byte, destination, source [6]byte, etherType uint16, payload []byte) []byte {
	b = append(b, destination[:]...)
	b = append(b, source[:]...)
	b = binary.BigEndian.AppendUint16(b, etherType)
	return append(b, payload...)
}

// VXLAN wraps an Ethernet frame; the result starts with the outer IP header.
func VXLAN(b []byte, outer IP, sourcePort uint16, vni uint32, frame []byte) []byte {
	inner := binary.BigEndian.AppendUint32(nil, 0x08<<24)
	inner = binary.BigEndian.AppendUint32(inner, vni<<8)
	return outer.AppendUDP(b, sourcePort, dissector.PortVXLAN, append(inner, frame...))
}

// GENEVE wraps an Ethernet frame, with options of a multiple of four bytes.
func GENEVE(b []byte, outer IP, sourcePort uint16, vni uint32, options, frame []byte) []byte {
	inner := []byte{uint8(len(options)/4) & 0x3f, 0}
	inner = binary.BigEndian.AppendUint16(inner, etherTypeTEB)
	inner = binary.BigEndian.AppendUint32(inner, vni<<8)
	inner = append(inner, options...)
	return outer.AppendUDP(b, sourcePort, dissector.PortGENEVE, append(inner, frame...))
}

// GRE wraps an Ethernet frame with a key.
func GRE(b []byte, outer IP, key uint32, frame []byte) []byte {
	inner := binary.BigEndian.AppendUint16(nil, 0x2000)
	inner = binary.BigEndian.AppendUint16(inner, etherTypeTEB)
	inner = binary.BigEndian.AppendUint32(inner, key)
	return outer.AppendIP(b, protocolGRE, append(inner, frame...))
}

// ERSPAN1 wraps a mirrored Ethernet frame (type I): GRE without a sequence number, and no header of its own.
func ERSPAN1(b []byte, outer IP, frame []byte) []byte {
	inner := binary.BigEndian.AppendUint16([]byte{0, 0}, etherTypeSPAN2)
	return outer.AppendIP(b, protocolGRE, append(inner, frame...))
}

// ERSPAN2 wraps a mirrored Ethernet frame (type II).
func ERSPAN2(b []byte, outer IP, sequence uint32, session, vlan uint16, frame []byte) []byte {
	inner := binary.BigEndian.AppendUint16(nil, greSequence)
	inner = binary.BigEndian.AppendUint16(inner, etherTypeSPAN2)
	inner = binary.BigEndian.AppendUint32(inner, sequence)
	inner = binary.BigEndian.AppendUint16(inner, 0x1000|vlan&0xfff)
	inner = binary.BigEndian.AppendUint16(inner, session&0x3ff)
	inner = binary.BigEndian.AppendUint32(inner, 0)
	return outer.AppendIP(b, protocolGRE, append(inner, frame...))
}

// ERSPAN3 describes the header of a mirrored copy of type III, 12 bytes and an optional platform header of 8
// (draft-foschiano-erspan, section 4.3).
type ERSPAN3 struct {
	VLAN              uint16 // 12 bits, of the original frame
	ClassOfService    uint8  // 3 bits
	BadShortOversized uint8  // 2 bits
	Truncated         bool   // the switch cut its copy
	Session           uint16 // 10 bits
	Timestamp         uint32 // in the unit that Granularity says
	SecurityGroup     uint16
	Ethernet          bool  // the copy is an Ethernet frame, protocol bit
	FrameType         uint8 // 5 bits: 0 Ethernet, 2 IP
	Hardware          uint8 // 6 bits
	Egress            bool  // mirrored on the way out
	Granularity       uint8 // 2 bits: 100 µs, 100 ns, IEEE 1588, by the platform header
	Platform          []byte
}

// AppendTo appends the header alone, with a platform header when there is one.
func (h *ERSPAN3) AppendTo(b []byte) []byte {
	const version, platformLength = 2, 8
	bit := func(set bool, shift int) uint16 {
		if set {
			return 1 << shift
		}
		return 0
	}
	b = binary.BigEndian.AppendUint16(b, version<<12|h.VLAN&0xfff)
	b = binary.BigEndian.AppendUint16(b,
		uint16(h.ClassOfService&7)<<13|uint16(h.BadShortOversized&3)<<11|bit(h.Truncated, 10)|h.Session&0x3ff)
	b = binary.BigEndian.AppendUint32(b, h.Timestamp)
	b = binary.BigEndian.AppendUint16(b, h.SecurityGroup)
	b = binary.BigEndian.AppendUint16(b, bit(h.Ethernet, 15)|uint16(h.FrameType&0x1f)<<10|uint16(h.Hardware&0x3f)<<4|
		bit(h.Egress, 3)|uint16(h.Granularity&3)<<1|bit(len(h.Platform) == platformLength, 0))
	if len(h.Platform) == platformLength {
		b = append(b, h.Platform...)
	}
	return b
}

// Wrap wraps a mirrored frame; the result starts with the outer IP header.
func (h *ERSPAN3) Wrap(b []byte, outer IP, sequence uint32, frame []byte) []byte {
	inner := binary.BigEndian.AppendUint16(nil, greSequence)
	inner = binary.BigEndian.AppendUint16(inner, etherTypeSPAN3)
	inner = binary.BigEndian.AppendUint32(inner, sequence)
	return outer.AppendIP(b, protocolGRE, append(h.AppendTo(inner), frame...))
}

// SegmentRouting describes the routing header of SRv6 (RFC 8754, section 2).
type SegmentRouting struct {
	SegmentsLeft uint8
	Flags        uint8
	Tag          uint16
	Segments     []netip.Addr // the last of the path first, as on the wire
	TLVs         []byte       // a multiple of eight bytes
}

// AppendTo appends the header, which the given protocol follows.
func (h *SegmentRouting) AppendTo(b []byte, next uint8) []byte {
	const kind, address = 4, 16
	words := (len(h.Segments)*address + len(h.TLVs)) / 8
	b = append(b, next, uint8(words), kind, h.SegmentsLeft, uint8(max(len(h.Segments), 1)-1), h.Flags)
	b = binary.BigEndian.AppendUint16(b, h.Tag)
	for _, s := range h.Segments {
		a := s.As16()
		b = append(b, a[:]...)
	}
	return append(b, h.TLVs...)
}

// WrapIP wraps an IP packet; outer is an IPv6 header.
func (h *SegmentRouting) WrapIP(b []byte, outer IP, packet []byte) []byte {
	next := uint8(protocolIPv4)
	if len(packet) > 0 && packet[0]>>4 == 6 {
		next = protocolIPv6
	}
	return outer.AppendIP(b, protocolRouting, append(h.AppendTo(nil, next), packet...))
}

// WrapEthernet wraps an Ethernet frame; outer is an IPv6 header.
func (h *SegmentRouting) WrapEthernet(b []byte, outer IP, frame []byte) []byte {
	return outer.AppendIP(b, protocolRouting, append(h.AppendTo(nil, protocolEthernet), frame...))
}

// MPLS puts a stack of labels, outermost first, before an IP packet.
func MPLS(b []byte, labels []uint32, packet []byte) []byte {
	for i, label := range labels {
		entry := label<<12 | defaultTTL
		if i == len(labels)-1 {
			entry |= 0x100
		}
		b = binary.BigEndian.AppendUint32(b, entry)
	}
	return append(b, packet...)
}

// Pause is an 802.3x pause frame of 60 bytes.
func Pause(b []byte, source [6]byte, quanta uint16) []byte {
	body := binary.BigEndian.AppendUint16([]byte{0x00, 0x01}, quanta)
	return macControl(b, source, body)
}

// PFC is a priority flow control frame of 60 bytes for the classes whose bit is set.
func PFC(b []byte, source [6]byte, classes uint8, quanta [8]uint16) []byte {
	body := []byte{0x01, 0x01, 0, classes}
	for _, q := range quanta {
		body = binary.BigEndian.AppendUint16(body, q)
	}
	return macControl(b, source, body)
}

func macControl(b []byte, source [6]byte, body []byte) []byte {
	body = append(body, make([]byte, minimumFrame-ethernetLength-len(body))...)
	return Ethernet(b, [6]byte{0x01, 0x80, 0xc2, 0x00, 0x00, 0x01}, source, dissector.EtherTypeMACControl, body)
}
