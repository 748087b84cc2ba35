package build

import (
	"encoding/binary"

	"github.com/rocelens/rocelens/dissector"
)

// SLL describes the pseudo header of a Linux cooked capture, 16 bytes (LINKTYPE_LINUX_SLL), and of its version 2, 20
// bytes (LINKTYPE_LINUX_SLL2). An interface index is in version 2 only.
type SLL struct {
	PacketType    uint8  // 0 to us, 1 broadcast, 2 multicast, 3 to another host, 4 sent by us
	Hardware      uint16 // ARPHRD_ number of the interface; 1 is Ethernet
	AddressLength uint8  // bytes of Address that are in use
	Address       [8]byte
	Protocol      uint16 // ethertype, or one of Linux's numbers below 0x600
	Interface     uint32 // index
}

// AppendTo appends the header of version 1 and the payload.
func (h SLL) AppendTo(b, payload []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(h.PacketType))
	b = binary.BigEndian.AppendUint16(b, h.Hardware)
	b = binary.BigEndian.AppendUint16(b, uint16(h.AddressLength))
	b = append(b, h.Address[:]...)
	b = binary.BigEndian.AppendUint16(b, h.Protocol)
	return append(b, payload...)
}

// AppendVersion2 appends the header of version 2 and the payload.
func (h SLL) AppendVersion2(b, payload []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, h.Protocol)
	b = binary.BigEndian.AppendUint16(b, 0)
	b = binary.BigEndian.AppendUint32(b, h.Interface)
	b = binary.BigEndian.AppendUint16(b, h.Hardware)
	b = append(b, h.PacketType, h.AddressLength)
	b = append(b, h.Address[:]...)
	return append(b, payload...)
}

// ERF record types that [ERF] needs a name for.
const (
	ERFEthernet   = 2
	ERFInfiniBand = 21
	ERFIPv4       = 22
	ERFIPv6       = 23
)

// ERF describes the record header of an extensible record format capture (Endace), 16 bytes and what follows them:
// extension headers, and two bytes before an Ethernet frame.
type ERF struct {
	Timestamp  uint64    // units of 2^-32 s since 1970, UTC
	Type       uint8     // 7 bits
	Flags      uint8     // interface in the lowest two bits
	Lost       uint16    // loss counter, or the colour
	Extensions [][8]byte // their highest bits are set as the chain needs it
	Offset     [2]byte   // before an Ethernet frame
	WireLength int       // of the frame; 0 means that of the payload
}

// AppendTo appends the record of a frame.
func (h ERF) AppendTo(b, frame []byte) []byte {
	const length, more = 16, 0x80
	start := len(b)
	b = binary.LittleEndian.AppendUint64(b, h.Timestamp)
	kind := h.Type &^ more
	if len(h.Extensions) > 0 {
		kind |= more
	}
	b = append(b, kind, h.Flags)
	b = append(b, make([]byte, length-10)...)
	for i, e := range h.Extensions {
		e[0] &^= more
		if i < len(h.Extensions)-1 {
			e[0] |= more
		}
		b = append(b, e[:]...)
	}
	if h.Type == ERFEthernet {
		b = append(b, h.Offset[:]...)
	}
	b = append(b, frame...)
	wire := h.WireLength
	if wire == 0 {
		wire = len(frame)
	}
	header := b[start:]
	binary.BigEndian.PutUint16(header[10:], uint16(len(header)))
	binary.BigEndian.PutUint16(header[12:], h.Lost)
	binary.BigEndian.PutUint16(header[14:], uint16(wire))
	return b
}

// Native makes a native InfiniBand packet of what AppendTo of a Frame of RoCEv1 without Ethernet and padding built: local route
// header, packet with the ICRC of that header, variant CRC. Without a global route its GRH is left out.
func Native(b []byte, route dissector.LRH, packet []byte, global bool, variantCRC uint16) []byte {
	const grhLength, nextTransport, nextGRH = 40, 2, 3
	next := uint8(nextGRH)
	if !global {
		packet, next = packet[grhLength:], nextTransport
	}
	start := len(b)
	b = append(b, route.VirtualLane<<4, route.ServiceLevel<<4|next)
	b = binary.BigEndian.AppendUint16(b, route.DestinationLID)
	b = binary.BigEndian.AppendUint16(b, uint16(8+len(packet))/4)
	b = binary.BigEndian.AppendUint16(b, route.SourceLID)
	b = append(b, packet[:len(packet)-icrcLength]...)
	icrc, _ := dissector.ComputeICRC(dissector.ProtocolInfiniBand, b[start:]) // the packet is whole
	b = binary.LittleEndian.AppendUint32(b, icrc)
	return binary.BigEndian.AppendUint16(b, variantCRC)
}
