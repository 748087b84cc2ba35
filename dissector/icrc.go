package dissector

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/internal/crc"
)

// The invariant CRC is the CRC-32 of Ethernet over the packet as it was sent, with every field that a switch
// or router may change read as ones: eight bytes in place of the LRH, traffic class, TTL and header checksum
// of IPv4, traffic class, flow label and hop limit of IPv6 and the GRH, the UDP checksum, and byte 4 of the
// BTH (IBTA volume 1, section 7.8.1, annexes A16 and A17). It is sent least significant byte first.

// afterOnes is the CRC register after the eight bytes of ones that replace the LRH.
const afterOnes uint32 = 0xdebb20e3

// Masks of what the ICRC does not cover, up to the virtual lane and byte 4 of the BTH.
var (
	maskIPv4 = crc.Mask{1: 0xff, 8: 0xff, 10: 0xff, 11: 0xff, 26: 0xff, 27: 0xff, ipv4Length + udpLength + 4: 0xff}
	maskIPv6 = crc.Mask{0: 0x0f, 1: 0xff, 2: 0xff, 3: 0xff, 7: 0xff, 46: 0xff, 47: 0xff, ipv6Length + udpLength + 4: 0xff}
	maskGRH  = crc.Mask{0: 0x0f, 1: 0xff, 2: 0xff, 3: 0xff, 7: 0xff, grhLength + 4: 0xff}
	maskLRH  = crc.Mask{0: 0xf0, lrhLength + 4: 0xff}
	maskBTH  = crc.Mask{4: 0xff}
)

// VerifyICRC computes the invariant CRC of a decoded packet and compares it with the one on the wire.
//
// The answer is ICRCUndetermined when the packet was cut, fragmented or not decoded up to its end, when IPv6
// extension headers stand before UDP, and when it does not match but the ICRC or the length in the IP header is zero
// (captured before the NIC filled it in), there are IPv4 options, some of which routers change, or the switch says
// that it cut its mirrored copy, whose lengths it may have made to fit.
func VerifyICRC(p *Packet) ICRCState {
	state, _ := verifyICRC(p)
	return state
}

// verifyICRC gives, beside the verdict, how computed and received CRC differ, for ICRCBad.
func verifyICRC(p *Packet) (ICRCState, uint32) {
	if p.Protocol == ProtocolMetaRoCE {
		return verifyMetaRoCE(p), 0
	}
	end := int(p.ICRCOffset)
	if end == 0 || end+icrcLength > min(int(p.CapturedEnd), len(p.Data)) || p.Network.Fragment || p.Has&infiniband.HasBTH == 0 {
		return ICRCUndetermined, 0
	}
	if p.Network.Options && p.Network.Version == 6 {
		return ICRCUndetermined, 0
	}
	start := coverage(p)
	if start < 0 || start > end {
		return ICRCUndetermined, 0
	}
	computed, ok := ComputeICRC(p.Protocol, p.Data[start:end])
	if !ok {
		return ICRCUndetermined, 0
	}
	received := binary.LittleEndian.Uint32(p.Data[end:])
	switch {
	case computed == received:
		return ICRCGood, 0
	case received == 0, p.Network.Options, p.Tunnel.Truncated, (p.Protocol == ProtocolRoCEv2 || p.Protocol == ProtocolMRC) && p.lengthless(start):
		return ICRCUndetermined, 0
	}
	return ICRCBad, computed ^ received
}

// lengthless tells whether the length in the IP header at that offset is zero.
func (p *Packet) lengthless(at int) bool {
	const ofIPv4, ofIPv6 = 2, 4
	if p.Network.Version == 4 {
		return binary.BigEndian.Uint16(p.Data[at+ofIPv4:]) == 0
	}
	return binary.BigEndian.Uint16(p.Data[at+ofIPv6:]) == 0
}

// coverage is the offset of the first header that the ICRC covers, or -1.
func coverage(p *Packet) int {
	i := p.last(LayerBTH)
	switch p.Protocol {
	case ProtocolRoCEv2, ProtocolMRC:
		i -= 2
	case ProtocolRoCEv1:
		i--
	case ProtocolInfiniBand:
		i = p.last(LayerLRH)
	case ProtocolOther, ProtocolMetaRoCE, ProtocolUET, ProtocolVeRoCE, ProtocolIWARP, ProtocolPause:
		return -1
	}
	if i < 0 {
		return -1
	}
	return int(p.Layers[i].Offset)
}

// ComputeICRC is the invariant CRC of a packet; on the wire it stands least significant byte first. The bytes
// start with the IP header (RoCEv2), the GRH (RoCEv1) or the LRH (native InfiniBand), all fields as sent, and
// end with the last byte of payload or pad. It answers false when they are not such a packet, or when IPv6
// extension headers stand before UDP.
func ComputeICRC(protocol Protocol, packet []byte) (uint32, bool) {
	register, mask, least := afterOnes, &maskGRH, grhLength
	switch protocol {
	case ProtocolRoCEv2, ProtocolMRC:
		return icrcOfIP(packet)
	case ProtocolRoCEv1:
	case ProtocolInfiniBand:
		if len(packet) < lrhLength {
			return 0, false
		}
		if packet[1]&1 != 0 { // with a GRH, the LRH counts as ones
			packet = packet[lrhLength:]
			break
		}
		register, mask, least = ^uint32(0), &maskLRH, lrhLength
	default:
		return 0, false
	}
	if len(packet) < least+infiniband.BTHLength {
		return 0, false
	}
	return ^crc.UpdateMasked(register, packet, mask), true
}

// icrcOfIP is the ICRC of a RoCEv2 packet; false when its headers are not all there, or not those that were asked for.
func icrcOfIP(packet []byte) (uint32, bool) {
	const udpThenBTH = udpLength + infiniband.BTHLength
	switch {
	case len(packet) < ipv4Length+udpThenBTH:
		return 0, false
	case packet[0] == 0x45:
		return ^crc.UpdateMasked(afterOnes, packet, &maskIPv4), true
	case packet[0]>>4 != 4:
		if len(packet) < ipv6Length+udpThenBTH || packet[6] != protocolUDP {
			return 0, false
		}
		return ^crc.UpdateMasked(afterOnes, packet, &maskIPv6), true
	}
	ip := int(packet[0]&0xf) * 4
	if ip < ipv4Length || len(packet) < ip+udpThenBTH {
		return 0, false
	}
	var head [60 + udpLength]byte // with all options that there can be
	n := copy(head[:], packet[:ip+udpLength])
	head[1], head[8], head[10], head[11] = 0xff, 0xff, 0xff, 0xff
	head[ip+6], head[ip+7] = 0xff, 0xff
	return ^crc.UpdateMasked(crc.Update(afterOnes, head[:n]), packet[n:], &maskBTH), true
}

// FindRewrittenPort looks for the one UDP source port with which the ICRC of a RoCEv2 packet would be right.
// Load balancers and taps that rewrite the port without knowing of the ICRC leave such packets. One hit may
// be chance, once in 65,536 packets; the same port on every packet of a flow is a rewritten header and no
// corruption. It answers false for packets whose ICRC is not bad.
func FindRewrittenPort(p *Packet) (port uint16, ok bool) {
	if p.Protocol != ProtocolRoCEv2 {
		return 0, false
	}
	state, difference := verifyICRC(p)
	udp := p.last(LayerUDP)
	if state != ICRCBad || udp < 0 {
		return 0, false
	}
	// A CRC is linear: the difference of the two CRCs is what the difference of the two ports became on its
	// way through the register. Run the register backwards over that way; what was put in are the two bytes.
	for n := int(p.ICRCOffset) - int(p.Layers[udp].Offset); n > 0; n-- {
		i := crcReverse[difference>>24]
		difference = (difference^crc.Tables[0][i])<<8 | uint32(i)
	}
	if difference > 0xffff {
		return 0, false
	}
	return p.UDP.SourcePort ^ uint16(difference<<8|difference>>8), true
}

// crcReverse finds the index of a table entry by its top byte.
var crcReverse = func() (r [256]uint8) {
	for i, v := range crc32.IEEETable {
		r[v>>24] = uint8(i)
	}
	return r
}()
