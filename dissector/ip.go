package dissector

import (
	"encoding/binary"
	"math"
)

// IP protocol numbers (IANA).
const (
	protocolHopByHop    = 0
	protocolICMP        = 1
	protocolIPv4        = 4
	protocolTCP         = 6
	protocolUDP         = 17
	protocolIBTransport = 0x1b // next header of a GRH before a BTH
	protocolIPv6        = 41
	protocolRouting     = 43
	protocolFragment    = 44
	protocolGRE         = 47
	protocolESP         = 50
	protocolAH          = 51
	protocolICMPv6      = 58
	protocolDestination = 60
	protocolMobility    = 135
	protocolMPLS        = 137
	protocolHIP         = 139
	protocolShim6       = 140
	protocolEthernet    = 143
)

const (
	ipv4Length = 20 // without options
	ipv6Length = 40
)

// ipv4 reads an IPv4 header with its options (RFC 791).
func (d *decoder) ipv4() error {
	if !d.has(ipv4Length) {
		return d.short(LayerIPv4, ipv4Length)
	}
	start := d.off
	b := d.data[start : start+ipv4Length]
	if b[0]>>4 != 4 {
		return d.fail(ErrMalformed, LayerIPv4, ReasonIPVersion)
	}
	header := int(b[0]&0xf) * 4
	if header != ipv4Length {
		if header < ipv4Length {
			return d.fail(ErrMalformed, LayerIPv4, ReasonIPHeaderLength)
		}
		if !d.has(header) {
			return d.short(LayerIPv4, header)
		}
	}
	total := int(binary.BigEndian.Uint16(b[2:]))
	if total < header {
		if total != 0 {
			return d.fail(ErrMalformed, LayerIPv4, ReasonIPTotalLength)
		}
		total = d.remaining() // segmentation offload: the field could not hold the length
	}
	flags := binary.BigEndian.Uint16(b[6:])
	ip := &d.p.Network
	ip.Version = 4
	ip.Protocol = b[9]
	ip.DSCP = b[1] >> 2
	ip.ECN = ECN(b[1] & 3)
	ip.TTL = b[8]
	ip.Fragment = flags&0x3fff != 0
	ip.LaterPart = flags&0x1fff != 0
	ip.Options = header != ipv4Length
	ip.ID = binary.BigEndian.Uint16(b[4:])
	ip.TotalLength = uint32(total)
	ip.FlowLabel = 0
	ip.Source.mapIPv4(b[12:16])
	ip.Destination.mapIPv4(b[16:20])
	d.wrote |= wroteNetwork
	if !d.push(LayerIPv4, header) {
		return d.full(LayerIPv4)
	}
	d.shorten(start + total)
	if ip.LaterPart {
		return d.laterPart()
	}
	if b[9] == protocolUDP {
		return d.udp()
	}
	return d.ipPayload(b[9], false)
}

// mapIPv4 sets the address to ::ffff:a.b.c.d.
func (a *Address) mapIPv4(b []byte) {
	binary.LittleEndian.PutUint64(a[:8], 0)
	binary.LittleEndian.PutUint64(a[8:], uint64(binary.LittleEndian.Uint32(b))<<32|0xffff0000)
}

// remaining is the length from off to the end of the packet, by the frame's word when no header said.
func (d *decoder) remaining() int {
	if d.end == math.MaxInt32 {
		return len(d.data) - d.off
	}
	return d.end - d.off
}

// laterPart notes the bytes of a fragment that has no transport header of its own.
func (d *decoder) laterPart() error {
	if n := len(d.data) - d.off; n > 0 {
		at := d.off
		if !d.push(LayerFragment, min(n, math.MaxUint16)) {
			return d.full(LayerFragment)
		}
		d.off = at
	}
	return d.fail(ErrUnsupported, LayerFragment, ReasonFragment)
}

// ipv6 reads an IPv6 header and its extension headers (RFC 8200).
func (d *decoder) ipv6() error {
	if !d.has(ipv6Length) {
		return d.short(LayerIPv6, ipv6Length)
	}
	start := d.off
	b := d.data[start : start+ipv6Length]
	word := binary.BigEndian.Uint32(b)
	if word>>28 != 6 {
		return d.fail(ErrMalformed, LayerIPv6, ReasonIPVersion)
	}
	total := int(binary.BigEndian.Uint16(b[4:])) + ipv6Length
	if total == ipv6Length && b[6] != protocolNone {
		total = max(d.remaining(), ipv6Length) // a jumbogram, or segmentation offload
	}
	ip := &d.p.Network
	ip.setIPv6(b, word)
	ip.TotalLength = uint32(total)
	d.wrote |= wroteNetwork
	if !d.push(LayerIPv6, ipv6Length) {
		return d.full(LayerIPv6)
	}
	d.shorten(start + total)
	if b[6] == protocolUDP {
		return d.udp()
	}
	return d.ipv6Extensions(b[6])
}

// setIPv6 fills the fields that an IPv6 header and a GRH have in common.
func (ip *IP) setIPv6(b []byte, word uint32) {
	ip.Version = 6
	ip.Protocol = b[6]
	ip.DSCP = uint8(word >> 22 & 0x3f)
	ip.ECN = ECN(word >> 20 & 3)
	ip.TTL = b[7]
	ip.Fragment = false
	ip.LaterPart = false
	ip.Options = false
	ip.ID = 0
	ip.FlowLabel = word & 0xfffff
	copy(ip.Source[:], b[8:24])
	copy(ip.Destination[:], b[24:40])
}

const (
	protocolNone      = 59
	routingTypeSRv6   = 4 // RFC 8754
	extensionMinimum  = 8
	extensionAHFactor = 4
)

// ipv6Extensions walks the extension headers that lead to the payload.
func (d *decoder) ipv6Extensions(next uint8) error {
	ip := &d.p.Network
	segments := false
	for {
		layer, n := LayerIPv6Extension, extensionMinimum
		switch next {
		case protocolHopByHop, protocolRouting, protocolDestination, protocolMobility, protocolHIP, protocolShim6, protocolAH, protocolFragment:
		default:
			ip.Protocol = next
			return d.ipPayload(next, segments)
		}
		if !d.has(n) {
			return d.short(layer, n)
		}
		b := d.data[d.off : d.off+n]
		switch next {
		case protocolFragment:
			// An atomic fragment (RFC 6946), offset 0 and nothing to come, is a whole packet.
			field := binary.BigEndian.Uint16(b[2:])
			ip.Fragment = field&0xfff9 != 0
			ip.LaterPart = field&0xfff8 != 0
		case protocolAH:
			n = (int(b[1]) + 2) * extensionAHFactor
		case protocolRouting:
			n = (int(b[1]) + 1) * extensionMinimum
			if b[2] == routingTypeSRv6 {
				layer, segments = LayerSRv6, true
			}
		default:
			n = (int(b[1]) + 1) * extensionMinimum
		}
		if !d.has(n) {
			return d.short(layer, n)
		}
		ip.Options = true
		next = b[0]
		ip.Protocol = next
		if !d.push(layer, n) {
			return d.full(layer)
		}
		if ip.LaterPart {
			return d.laterPart()
		}
	}
}

// ipPayload goes on with what an IP header of either version carries. After an SRv6 routing header an inner
// packet is that tunnel's.
func (d *decoder) ipPayload(protocol uint8, segments bool) error {
	tunnel := func(plain LayerType) LayerType {
		if segments {
			return LayerSRv6
		}
		return plain
	}
	switch protocol {
	case protocolUDP:
		return d.udp()
	case protocolIPv4:
		if !d.enter(tunnel(LayerIPv4), 0) {
			return d.tooDeep(LayerIPv4)
		}
		return d.ipv4()
	case protocolIPv6:
		if !d.enter(tunnel(LayerIPv6), 0) {
			return d.tooDeep(LayerIPv6)
		}
		return d.ipv6()
	case protocolEthernet:
		if !d.enter(tunnel(LayerEthernet), 0) {
			return d.tooDeep(LayerEthernet)
		}
		return d.ethernet()
	case protocolGRE:
		return d.gre()
	case protocolMPLS:
		return d.mpls()
	case protocolTCP:
		return d.tcp()
	case protocolAH:
		return d.authentication(segments)
	case protocolESP:
		return d.fail(ErrUnsupported, LayerUnknown, ReasonEncrypted)
	case protocolICMP, protocolICMPv6:
		return d.icmp()
	}
	return d.fail(ErrNotRDMA, LayerUnknown, ReasonIPProtocol)
}

// authentication steps over the authentication header of IPv4 (RFC 4302); what it signs stays readable.
func (d *decoder) authentication(segments bool) error {
	if !d.has(extensionMinimum) {
		return d.short(LayerUnknown, extensionMinimum)
	}
	next, n := d.data[d.off], (int(d.data[d.off+1])+2)*extensionAHFactor
	if !d.has(n) {
		return d.short(LayerUnknown, n)
	}
	d.p.Network.Options = true
	d.p.Network.Protocol = next
	if !d.push(LayerUnknown, n) {
		return d.full(LayerUnknown)
	}
	return d.ipPayload(next, segments)
}

func (d *decoder) icmp() error {
	const length = 8
	if d.has(length) && !d.push(LayerICMP, length) {
		return d.full(LayerICMP)
	}
	return d.fail(ErrNotRDMA, LayerICMP, ReasonIPProtocol)
}

// tcp recognises iWARP by the keys that open its MPA start-up frames (RFC 5044, section 7.1); later segments
// of such a connection cannot be told from other TCP.
func (d *decoder) tcp() error {
	const (
		minimum    = 20
		keyLength  = 16
		requestKey = "MPA ID Req Frame"
		replyKey   = "MPA ID Rep Frame"
	)
	if !d.has(minimum) {
		return d.short(LayerTCP, minimum)
	}
	header := int(d.data[d.off+12]>>4) * 4
	if header < minimum || !d.has(header) {
		return d.fail(ErrNotRDMA, LayerTCP, ReasonIPProtocol)
	}
	if !d.push(LayerTCP, header) {
		return d.full(LayerTCP)
	}
	if d.has(keyLength) {
		if key := d.data[d.off : d.off+keyLength]; string(key) == requestKey || string(key) == replyKey {
			d.p.Protocol = ProtocolIWARP
			return d.fail(ErrUnsupported, LayerPayload, ReasonIWARP)
		}
	}
	return d.fail(ErrNotRDMA, LayerTCP, ReasonIPProtocol)
}
