package dissector

import (
	"encoding/binary"
	"math"

	"github.com/rocelens/rocelens/dissector/infiniband"
)

// quick decodes what captures of RDMA are full of in one straight line: Ethernet with at most one 802.1Q tag,
// IPv4 without options or IPv6 without extension headers, UDP to port 4791 with a base transport header beyond
// doubt, or to the port of a MetaRoCE profile with a packet that is right. It answers false when the frame is
// anything else, be it only unusual: the decoder has the last word then and overwrites all of p. Where it answers
// true, p is what the decoder would have made of the frame; a test holds the two to that.
func quick(data []byte, p *Packet) bool {
	const (
		shortest     = ethernetLength + ipv4Length + udpLength + shortestTransport
		tagged       = ethernetLength + vlanLength
		defaultKey   = 0x7fff
		fragmentBits = 0x3fff
		usual        = infiniband.HasBTH | infiniband.HasRETH | infiniband.HasAETH | infiniband.HasImmDt
	)
	if len(data) < shortest {
		return false
	}
	l3 := ethernetLength
	etherType := binary.BigEndian.Uint16(data[12:])
	var tci uint16
	if etherType == etherTypeVLAN {
		tci = binary.BigEndian.Uint16(data[14:])
		etherType = binary.BigEndian.Uint16(data[16:])
		l3 = tagged
	}

	var end, l4 int
	b := data[l3:]
	switch etherType {
	case etherTypeIPv4:
		_ = b[ipv4Length-1]
		end = l3 + int(binary.BigEndian.Uint16(b[2:]))
		l4 = l3 + ipv4Length
		if b[0] != 0x45 || b[9] != protocolUDP || binary.BigEndian.Uint16(b[6:])&fragmentBits != 0 {
			return false
		}
	case etherTypeIPv6:
		if len(b) < ipv6Length || b[0]>>4 != 6 || b[6] != protocolUDP {
			return false
		}
		end = l3 + ipv6Length + int(binary.BigEndian.Uint16(b[4:]))
		l4 = l3 + ipv6Length
	default:
		return false
	}

	start := l4 + udpLength
	if len(data) < start+infiniband.BTHLength || end > math.MaxUint16 {
		return false
	}
	u := data[l4 : start+infiniband.BTHLength]
	_ = u[udpLength+infiniband.BTHLength-1]
	t := u[udpLength:]
	_ = t[infiniband.BTHLength-1]
	opcode := infiniband.Opcode(t[0])
	headers := int(headerLengths[opcode])
	pad := int(t[1] >> 4 & 3)
	behind := start + headers
	port := binary.BigEndian.Uint16(u[2:])
	length := binary.BigEndian.Uint16(u[4:])
	if int(length) != end-l4 {
		return false
	}
	set, _ := opcode.Headers()
	if port == PortRoCEv2 {
		if headers == 0 || t[1]&0xf != 0 ||
			binary.BigEndian.Uint16(t[2:])&defaultKey != defaultKey || t[8]&0x7f != 0 ||
			behind+pad+icrcLength > end || behind > len(data) || set&infiniband.HasRDETH != 0 {
			return false
		}
	} else {
		profile := p.Meta.metaRoCE(port)
		if profile == MetaRoCENone {
			return false
		}
		p.MetaRoCE.use(profile)
		if p.MetaRoCE.decode(data[start:min(end, len(data))], end-start) != nil {
			return false
		}
		behind, pad, set = start+p.MetaRoCE.payloadOffset(), 0, 0
	}

	e := &p.Ethernet
	copy(e.Destination[:], data[0:6])
	copy(e.Source[:], data[6:12])
	e.EtherType = etherType
	i := 2
	p.Layers[0] = Layer{LayerEthernet, 0, ethernetLength}
	if l3 == ethernetLength {
		e.VLANCount = 0
		e.VLAN = [2]uint16{}
		i = 1
	} else {
		e.VLANCount = 1
		e.VLAN = [2]uint16{tci}
		p.Layers[1] = Layer{LayerVLAN, ethernetLength, vlanLength}
	}

	at := p.Layers[i : i+3]
	_ = at[2]
	ip := &p.Network
	if etherType == etherTypeIPv4 {
		ip.Version = 4
		ip.Protocol = protocolUDP
		ip.DSCP = b[1] >> 2
		ip.ECN = ECN(b[1] & 3)
		ip.TTL = b[8]
		ip.Fragment = false
		ip.LaterPart = false
		ip.Options = false
		ip.ID = binary.BigEndian.Uint16(b[4:])
		ip.FlowLabel = 0
		ip.Source.mapIPv4(b[12:16])
		ip.Destination.mapIPv4(b[16:20])
		at[0] = Layer{LayerIPv4, uint16(l3), ipv4Length}
	} else {
		ip.setIPv6(b, binary.BigEndian.Uint32(b))
		at[0] = Layer{LayerIPv6, uint16(l3), ipv6Length}
	}
	ip.TotalLength = uint32(end - l3)

	p.UDP.SourcePort = binary.BigEndian.Uint16(u)
	p.UDP.DestinationPort = port
	p.UDP.Length = length
	p.UDP.Checksum = binary.BigEndian.Uint16(u[6:])
	at[1] = Layer{LayerUDP, uint16(l4), udpLength}

	layer, off := LayerPayload, start+infiniband.BTHLength
	p.Has = set
	i += 3
	if port != PortRoCEv2 {
		at[2] = Layer{LayerMetaRoCE, uint16(start), uint16(behind - start)}
		p.Protocol = ProtocolMetaRoCE
	} else {
		at[2] = Layer{LayerBTH, uint16(start), infiniband.BTHLength}
		p.setBTH(t)
		p.Protocol = ProtocolRoCEv2
		if set&^usual != 0 {
			var ok bool
			if i, ok = p.quickExtended(i, data, off, set); !ok {
				return false
			}
			if set&infiniband.HasDETH != 0 && p.BTH.DestinationQP <= 1 {
				layer = LayerMAD
			}
		} else {
			if set&infiniband.HasRETH != 0 {
				p.setRETH(data[off:])
				p.Layers[i] = Layer{LayerRETH, uint16(off), infiniband.RETHLength}
				i++
				off += infiniband.RETHLength
			}
			if set&infiniband.HasAETH != 0 {
				p.setAETH(data[off:])
				p.Layers[i] = Layer{LayerAETH, uint16(off), infiniband.AETHLength}
				i++
				off += infiniband.AETHLength
			}
			if set&infiniband.HasImmDt != 0 {
				p.ImmDt.Data = binary.BigEndian.Uint32(data[off:])
				p.Layers[i] = Layer{LayerImmDt, uint16(off), infiniband.ImmDtLength}
				i++
			}
		}
	}

	icrc := end - icrcLength
	p.ICRCOffset = uint16(icrc)
	p.CapturedEnd = uint16(min(end, len(data)))
	p.PayloadOffset = uint16(behind)
	p.PayloadLength = uint16(icrc - pad - behind)
	if len(data) < end || pad != 0 || icrc == behind {
		i = p.quickTail(i, layer, behind, icrc-pad, icrc, len(data))
	} else {
		p.Layers[i] = Layer{layer, uint16(behind), uint16(icrc - behind)}
		p.Layers[i+1] = Layer{LayerICRC, uint16(icrc), icrcLength}
		i += 2
	}
	if len(data) > end {
		n := min(len(data)-end, math.MaxUint16)
		p.Layers[i] = Layer{LayerTrailer, uint16(end), uint16(n)}
		i++
	}
	p.LayerCount = uint8(i)
	return true
}

// quickTail lists payload, pad and ICRC as far as they were captured, behind i layers, and gives the new count.
func (p *Packet) quickTail(i int, layer LayerType, start, payloadEnd, icrc, captured int) int {
	if n := min(payloadEnd, captured) - start; n > 0 {
		p.Layers[i] = Layer{layer, uint16(start), uint16(n)}
		i++
	}
	if captured < icrc+icrcLength {
		return i
	}
	if payloadEnd < icrc {
		p.Layers[i] = Layer{LayerPad, uint16(payloadEnd), uint16(icrc - payloadEnd)}
		i++
	}
	p.Layers[i] = Layer{LayerICRC, uint16(icrc), icrcLength}
	return i + 1
}

// quickExtended reads the less usual extended headers, behind i layers, and gives the new count.
func (p *Packet) quickExtended(i int, data []byte, off int, set infiniband.HeaderSet) (int, bool) {
	p.LayerCount = uint8(i)
	d := decoder{p: p, data: data, off: off, end: len(data)}
	err := d.extended(set &^ infiniband.HasBTH)
	return int(p.LayerCount), err == nil
}
