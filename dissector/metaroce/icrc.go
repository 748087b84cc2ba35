package metaroce

import (
	"encoding/binary"
	"hash/crc32"
	"net/netip"

	"github.com/rocelens/rocelens/dissector/internal/crc"
)

// ICRCLength is the size of the invariant CRC that ends the UDP payload, in bytes.
const ICRCLength = 4

const udpHeaderLength = 8

// UDPPseudoICRC is the CRC-32 of Ethernet over source address, destination address, source port, destination
// port and UDP length, then over the UDP payload without its last four bytes, where the CRC stands least
// significant byte first. It covers nothing that an endpoint on UDP sockets does not know or that a switch may
// change (profile mr0, "Packets").
//
// The payload ends before the ICRC. IPv4 addresses mapped into IPv6 count as IPv4.
func UDPPseudoICRC(source, destination netip.AddrPort, payload []byte) uint32 {
	var head [2*16 + 6]byte
	n := 0
	if from, to := source.Addr().Unmap(), destination.Addr().Unmap(); from.Is4() && to.Is4() {
		a, b := from.As4(), to.As4()
		n += copy(head[n:], a[:])
		n += copy(head[n:], b[:])
	} else {
		a, b := source.Addr().As16(), destination.Addr().As16()
		n += copy(head[n:], a[:])
		n += copy(head[n:], b[:])
	}
	binary.BigEndian.PutUint16(head[n:], source.Port())
	binary.BigEndian.PutUint16(head[n+2:], destination.Port())
	binary.BigEndian.PutUint16(head[n+4:], uint16(udpHeaderLength+len(payload)+ICRCLength))
	return crc32.Update(^crc.Update(^uint32(0), head[:n+6]), crc32.IEEETable, payload)
}

// AppendUDPPseudoICRC appends to a UDP payload, which starts at payload[from], its ICRC.
func AppendUDPPseudoICRC(payload []byte, from int, source, destination netip.AddrPort) []byte {
	return binary.LittleEndian.AppendUint32(payload, UDPPseudoICRC(source, destination, payload[from:]))
}

// VerifyUDPPseudoICRC tells whether a whole UDP payload ends with its ICRC.
func VerifyUDPPseudoICRC(payload []byte, source, destination netip.AddrPort) bool {
	n := len(payload) - ICRCLength
	return n >= 0 && binary.LittleEndian.Uint32(payload[n:]) == UDPPseudoICRC(source, destination, payload[:n])
}
