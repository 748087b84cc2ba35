package dissector

import (
	"encoding/binary"
	"math"
)

const udpLength = 8

// udp reads a UDP header (RFC 768) and goes on by its destination port.
func (d *decoder) udp() error {
	if !d.has(udpLength) {
		return d.short(LayerUDP, udpLength)
	}
	b := d.data[d.off : d.off+udpLength]
	length := int(binary.BigEndian.Uint16(b[4:]))
	port := binary.BigEndian.Uint16(b[2:])
	u := &d.p.UDP
	u.SourcePort = binary.BigEndian.Uint16(b)
	u.DestinationPort = port
	u.Length = uint16(length)
	u.Checksum = binary.BigEndian.Uint16(b[6:])
	d.wrote |= wroteUDP
	if carried := d.end - d.off; length != carried {
		switch {
		case length == 0 && carried > math.MaxUint16: // a jumbogram, or segmentation offload
		case length < udpLength, length > carried && !d.p.Network.Fragment:
			return d.fail(ErrMalformed, LayerUDP, ReasonUDPLength)
		case length < carried:
			d.shorten(d.off + length)
		}
	}
	if !d.push(LayerUDP, udpLength) {
		return d.full(LayerUDP)
	}
	if port == PortRoCEv2 {
		return d.transport(ProtocolRoCEv2)
	}
	return d.udpPayload(port)
}

// udpPayload goes on by a port other than RoCEv2's. A datagram from a well-known port is an answer to
// somebody whose own port happens to be the number.
func (d *decoder) udpPayload(port uint16) error {
	if profile := d.p.Meta.metaRoCE(port); profile != MetaRoCENone {
		return d.metaRoCE(profile)
	}
	switch port {
	case PortVXLAN, PortVXLANLinux:
		return d.vxlan(false)
	case PortVXLANGPE:
		return d.vxlan(true)
	case PortGENEVE:
		return d.geneve()
	case PortMPLS:
		return d.mpls()
	case PortUET:
		return d.neighbour(ProtocolUET, ReasonUET)
	case PortVeRoCE:
		return d.neighbour(ProtocolVeRoCE, ReasonVeRoCE)
	case PortMRC:
		return d.neighbour(ProtocolMRC, ReasonMRC)
	}
	return d.fail(ErrNotRDMA, LayerUDP, ReasonUDPPort)
}

func (d *decoder) neighbour(protocol Protocol, reason Reason) error {
	if wellKnown(d.p.UDP.SourcePort) || d.end == d.off {
		return d.fail(ErrNotRDMA, LayerUDP, ReasonUDPPort)
	}
	d.p.Protocol = protocol
	return d.fail(ErrUnsupported, LayerPayload, reason)
}

// wellKnown tells whether a port is a server's. Zero, which NICs use as source port of a CNP, is not.
func wellKnown(port uint16) bool { return port != 0 && port < 1024 }

// isOuter tells whether another packet stands behind a layer.
func (p *Packet) isOuter(at int) bool {
	for _, l := range p.Layers[at+1 : min(p.LayerCount, MaxLayers)] {
		switch l.Type {
		case LayerEthernet, LayerIPv4, LayerIPv6, LayerGRH, LayerMPLS:
			return true
		default:
		}
	}
	return false
}

// last is the index of the last layer of a type, or -1.
func (p *Packet) last(t LayerType) int {
	for i := int(min(p.LayerCount, MaxLayers)) - 1; i >= 0; i-- {
		if p.Layers[i].Type == t {
			return i
		}
	}
	return -1
}
