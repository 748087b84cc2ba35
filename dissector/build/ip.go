package build

import (
	"encoding/binary"
	"net/netip"

	"github.com/rocelens/rocelens/dissector"
)

// IP describes an IP header: IPv4 if both addresses are, otherwise IPv6.
type IP struct {
	Source      netip.Addr
	Destination netip.Addr
	DSCP        uint8
	ECN         dissector.ECN
	TTL         uint8 // 0 means 64
	ID          uint16
	FlowLabel   uint32 // IPv6
}

// AppendIP appends the header and the payload of the given protocol.
func (h IP) AppendIP(b []byte, protocol uint8, payload []byte) []byte {
	if h.Source.Unmap().Is4() && h.Destination.Unmap().Is4() {
		b = h.appendIPv4(b, ipv4Length+len(payload), protocol)
	} else {
		b = h.appendIPv6(b, len(payload), protocol)
	}
	return append(b, payload...)
}

// AppendUDP appends the header, a UDP header without checksum, and the payload.
func (h IP) AppendUDP(b []byte, sourcePort, destinationPort uint16, payload []byte) []byte {
	datagram := appendUDP(nil, sourcePort, destinationPort, udpLength+len(payload))
	return h.AppendIP(b, protocolUDP, append(datagram, payload...))
}

func (h IP) ttl() uint8 {
	if h.TTL == 0 {
		return defaultTTL
	}
	return h.TTL
}

// appendIPv4 appends a header without options, don't fragment set.
func (h IP) appendIPv4(b []byte, total int, protocol uint8) []byte {
	const dontFragment = 0x4000
	start := len(b)
	b = append(b, 0x45, h.DSCP<<2|uint8(h.ECN)&3)
	b = binary.BigEndian.AppendUint16(b, uint16(total))
	b = binary.BigEndian.AppendUint16(b, h.ID)
	b = binary.BigEndian.AppendUint16(b, dontFragment)
	b = append(b, h.ttl(), protocol, 0, 0)
	source, destination := h.Source.Unmap().As4(), h.Destination.Unmap().As4()
	b = append(b, source[:]...)
	b = append(b, destination[:]...)
	binary.BigEndian.PutUint16(b[start+10:], fold(add16(0, b[start:])))
	return b
}

// appendIPv6 appends an IPv6 header; a GRH has the same layout.
func (h IP) appendIPv6(b []byte, payload int, next uint8) []byte {
	class := uint32(h.DSCP)<<2 | uint32(h.ECN)&3
	b = binary.BigEndian.AppendUint32(b, 6<<28|class<<20|h.FlowLabel&0xfffff)
	b = binary.BigEndian.AppendUint16(b, uint16(payload))
	b = append(b, next, h.ttl())
	source, destination := h.Source.As16(), h.Destination.As16()
	b = append(b, source[:]...)
	return append(b, destination[:]...)
}

func appendUDP(b []byte, sourcePort, destinationPort uint16, length int) []byte {
	b = binary.BigEndian.AppendUint16(b, sourcePort)
	b = binary.BigEndian.AppendUint16(b, destinationPort)
	b = binary.BigEndian.AppendUint16(b, uint16(length))
	return append(b, 0, 0)
}

// add16 adds the big-endian words of b.
func add16(sum uint32, b []byte) uint32 {
	for ; len(b) >= 2; b = b[2:] {
		sum += uint32(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		sum += uint32(b[0]) << 8
	}
	return sum
}

// fold is the Internet checksum (RFC 1071) of what was added.
func fold(sum uint32) uint16 {
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}
