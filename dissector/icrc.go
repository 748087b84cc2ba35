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

// longestHead is the most that stands up to the end of the BTH: IPv4 with all options, UDP, BTH.
const longestHead = 60 + udpLength + infiniband.BTHLength

// VerifyICRC computes the invariant CRC of a decoded packet and compares it with the one on the wire.
//
// The answer is ICRCUndetermined when the packet was cut, fragmented or not decoded up to its end, when IPv6
// extension headers stand before UDP, and when it does not match but the ICRC or the IPv4 total length is zero
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
	case received == 0, p.Network.Options, p.Tunnel.Truncated, p.Network.Version == 4 && binary.BigEndian.Uint16(p.Data[start+2:]) == 0:
		return ICRCUndetermined, 0
	}
	return ICRCBad, computed ^ received
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
	const grhThenBTH = grhLength + infiniband.BTHLength
	register := afterOnes
	var head [longestHead]byte
	var n int
	switch protocol {
	case ProtocolRoCEv2, ProtocolMRC:
		if n = maskIP(&head, packet); n == 0 {
			return 0, false
		}
	case ProtocolRoCEv1:
		if len(packet) < grhThenBTH {
			return 0, false
		}
		n = copy(head[:], packet[:grhThenBTH])
		maskIPv6(&head)
	case ProtocolInfiniBand:
		if len(packet) < lrhLength {
			return 0, false
		}
		if packet[1]&1 != 0 { // with a GRH, the LRH counts as ones
			packet = packet[lrhLength:]
			if len(packet) < grhThenBTH {
				return 0, false
			}
			n = copy(head[:], packet[:grhThenBTH])
			maskIPv6(&head)
			break
		}
		const lrhThenBTH = lrhLength + infiniband.BTHLength
		if len(packet) < lrhThenBTH {
			return 0, false
		}
		register = ^uint32(0)
		n = copy(head[:], packet[:lrhThenBTH])
		head[0] |= 0xf0 // the virtual lane
	default:
		return 0, false
	}
	head[n-infiniband.BTHLength+4] = 0xff
	return crc32.Update(^crc.Update(register, head[:n]), crc32.IEEETable, packet[n:]), true
}

// maskIP copies the headers of a RoCEv2 packet with their variant fields as ones. It is 0 when they are not
// all there.
func maskIP(head *[longestHead]byte, packet []byte) int {
	if len(packet) == 0 {
		return 0
	}
	ip := ipv6Length
	if packet[0]>>4 == 4 {
		ip = int(packet[0]&0xf) * 4
	}
	n := ip + udpLength + infiniband.BTHLength
	if ip < ipv4Length || len(packet) < n {
		return 0
	}
	copy(head[:], packet[:n])
	if packet[0]>>4 == 4 {
		head[1] = 0xff
		head[8] = 0xff
		head[10], head[11] = 0xff, 0xff
	} else {
		if head[6] != protocolUDP {
			return 0
		}
		maskIPv6(head)
	}
	head[ip+6], head[ip+7] = 0xff, 0xff
	return n
}

// maskIPv6 sets traffic class, flow label and hop limit to ones.
func maskIPv6(head *[longestHead]byte) {
	head[0] |= 0x0f
	head[1], head[2], head[3] = 0xff, 0xff, 0xff
	head[7] = 0xff
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
