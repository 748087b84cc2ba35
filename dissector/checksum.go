package dissector

import "encoding/binary"

// UDPChecksum tells whether the checksum of the innermost UDP header is right. RoCEv2 senders are free to
// leave it out, and most do.
func UDPChecksum(p *Packet) ChecksumState {
	at := p.last(LayerUDP)
	if at < 1 || p.Network.Fragment || p.isOuter(at) {
		return ChecksumNotCheckable
	}
	if p.UDP.Checksum == 0 {
		return ChecksumAbsent
	}
	start := int(p.Layers[at].Offset)
	end := start + int(p.UDP.Length)
	if p.UDP.Length < udpLength || end > min(int(p.CapturedEnd), len(p.Data)) {
		return ChecksumNotCheckable
	}
	final, known := p.finalDestination(at)
	if !known {
		return ChecksumNotCheckable
	}
	var sum uint64
	if p.Network.Version == 4 {
		sum = add16(sum, p.Network.Source[12:])
	} else {
		sum = add16(sum, p.Network.Source[:])
	}
	sum = add16(sum, final)
	sum += protocolUDP + uint64(p.UDP.Length)
	sum = add16(sum, p.Data[start:end])
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	if sum == 0xffff {
		return ChecksumRight
	}
	return ChecksumWrong
}

// finalDestination is the destination that the checksum of the UDP header of that layer is over: the last one of a
// source route that is not yet at its end (RFC 1122, section 3.2.1.8; RFC 8200, section 8.1), otherwise the one in the IP
// header. It answers false where options do not say, or damaged ones do not let one know.
func (p *Packet) finalDestination(udp int) ([]byte, bool) {
	switch {
	case p.Network.Version == 6 && !p.Network.Options:
		return p.Network.Destination[:], true
	case p.Network.Version == 6:
		return p.finalDestinationIPv6(udp)
	case !p.Network.Options:
		return p.Network.Destination[12:], true
	}
	ip := p.last(LayerIPv4)
	if ip < 0 {
		return nil, false
	}
	const looseRoute, strictRoute, address = 131, 137, 4
	final := p.Network.Destination[12:]
	options := p.Data[int(p.Layers[ip].Offset)+ipv4Length : p.Layers[ip].End()]
	for len(options) > 0 {
		const end, none, shortest = 0, 1, 2
		switch kind := options[0]; {
		case kind == end:
			return final, true
		case kind == none:
			options = options[1:]
			continue
		case len(options) < shortest || options[1] < shortest || int(options[1]) > len(options):
			return nil, false
		case kind == looseRoute, kind == strictRoute:
			n := int(options[1])
			if n < 3+address {
				return nil, false
			}
			if pointer := int(options[2]); pointer <= n { // there are addresses to come
				final = options[n-address : n]
			}
		}
		options = options[options[1]:]
	}
	return final, true
}

// finalDestinationIPv6 follows the extension headers that stand before the UDP header of that layer.
func (p *Packet) finalDestinationIPv6(udp int) ([]byte, bool) {
	const (
		oldRoute, homeRoute = 0, 2 // types of routing headers (RFC 5095, RFC 6275)
		address             = 16
	)
	ip := p.last(LayerIPv6)
	if ip < 0 {
		return nil, false
	}
	final := p.Network.Destination[:]
	next := p.Data[int(p.Layers[ip].Offset)+6]
	for _, l := range p.Layers[ip+1 : udp] {
		b := p.Data[l.Offset:l.End()]
		switch next {
		case protocolDestination:
			if replacesSource(b) {
				return nil, false
			}
		case protocolRouting:
			kind, left := b[2], b[3]
			switch {
			case left == 0:
			case len(b) < extensionMinimum+address:
				return nil, false
			case kind == routingTypeSRv6: // the last segment stands first
				final = b[extensionMinimum : extensionMinimum+address]
			case kind == oldRoute, kind == homeRoute:
				final = b[len(b)-address:]
			default:
				return nil, false
			}
		}
		next = b[0]
	}
	return final, true
}

// replacesSource tells whether destination options have a home address, which the checksum is over in place of the
// source (RFC 6275, section 6.3), or are damaged.
func replacesSource(header []byte) bool {
	const pad1, homeAddress, shortest = 0, 201, 2
	for b := header[2:]; len(b) > 0; {
		switch {
		case b[0] == pad1:
			b = b[1:]
			continue
		case b[0] == homeAddress, len(b) < shortest, shortest+int(b[1]) > len(b):
			return true
		}
		b = b[shortest+int(b[1]):]
	}
	return false
}

// add16 adds big-endian 16-bit words; an odd last byte is the upper half of one.
func add16(sum uint64, b []byte) uint64 {
	for len(b) >= 2 {
		sum += uint64(binary.BigEndian.Uint16(b))
		b = b[2:]
	}
	if len(b) == 1 {
		sum += uint64(b[0]) << 8
	}
	return sum
}
