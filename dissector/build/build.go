// Package build makes whole RoCE and MetaRoCE frames: what the generator of captures, the tests and the reference
// transports send. A frame built from a description that names no length, checksum or ICRC gets right ones.
package build

import (
	"encoding/binary"
	"errors"
	"net/netip"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

// Errors of AppendTo.
var (
	ErrAddress = errors.New("source and destination address are not of one family")
	ErrLength  = errors.New("packet longer than 65,535 bytes")
)

const (
	ipv4Length     = 20
	ipv6Length     = 40
	udpLength      = 8
	icrcLength     = 4
	ethernetLength = 14
	minimumFrame   = 60 // of Ethernet, without FCS

	protocolUDP         = 17
	protocolIBTransport = 0x1b
	defaultTTL          = 64

	etherTypeIPv4 = 0x0800
	etherTypeIPv6 = 0x86dd
	etherTypeVLAN = 0x8100
	etherTypeQinQ = 0x88a8
)

// Frame describes a RoCE packet and the Ethernet frame around it. The headers behind the BTH are those of
// BTH.Opcode; of an opcode that nobody knows there are none. Zero means, where it is no useful value, what a
// sender would choose: see the fields.
type Frame struct {
	DestinationMAC [6]byte
	SourceMAC      [6]byte
	VLANs          []uint16 // TCIs, outermost first; of two or more, all but the last are 802.1ad tags
	NoEthernet     bool     // start with the IP header (the GRH for RoCEv1)
	NoPadding      bool     // do not fill frames up to Ethernet's 60 bytes

	RoCEv1      bool       // GRH in ethertype 0x8915; Source and Destination are GIDs, IPv4 mapped if need be
	Source      netip.Addr // IPv4 or IPv6
	Destination netip.Addr // of the same family
	DSCP        uint8
	ECN         dissector.ECN
	TTL         uint8 // 0 means 64
	ID          uint16
	FlowLabel   uint32 // 20 bits, IPv6 and RoCEv1

	SourcePort      uint16
	DestinationPort uint16 // 0 means 4791, or the port of the MetaRoCE profile
	UDPChecksum     bool   // compute it; otherwise it is sent as 0, absent

	BTH          infiniband.BTH // PadCount is set from the payload unless KeepPadCount
	KeepPadCount bool           // send BTH.PadCount as it is and append no pad
	RDETH        infiniband.RDETH
	DETH         infiniband.DETH
	XRCETH       infiniband.XRCETH
	RETH         infiniband.RETH
	AtomicETH    infiniband.AtomicETH
	AETH         infiniband.AETH
	AtomicAckETH infiniband.AtomicAckETH
	ImmDt        infiniband.ImmDt
	IETH         infiniband.IETH
	FETH         infiniband.FETH

	// MetaRoCE is a packet of a MetaRoCE profile, such as a *mr0.Packet, that takes the place of the BTH and the
	// headers behind it.
	MetaRoCE MetaRoCE

	Payload []byte

	ICRCFlip uint32 // bits of the ICRC to send wrong, as read little-endian
}

// AppendTo appends the frame to b.
func (f *Frame) AppendTo(b []byte) ([]byte, error) {
	if !f.Source.IsValid() || (!f.RoCEv1 && f.Source.Unmap().Is4() != f.Destination.Unmap().Is4()) {
		return b, ErrAddress
	}
	start := len(b)
	if !f.NoEthernet {
		b = f.appendEthernet(b)
	}
	b, err := f.appendPacket(b)
	if err != nil {
		return b, err
	}
	if !f.NoEthernet && !f.NoPadding {
		for len(b)-start < minimumFrame {
			b = append(b, 0)
		}
	}
	return b, nil
}

func (f *Frame) is4() bool { return !f.RoCEv1 && f.Source.Unmap().Is4() }

func (f *Frame) appendEthernet(b []byte) []byte {
	b = append(b, f.DestinationMAC[:]...)
	b = append(b, f.SourceMAC[:]...)
	for i, tci := range f.VLANs {
		tag := uint16(etherTypeVLAN)
		if i < len(f.VLANs)-1 {
			tag = etherTypeQinQ
		}
		b = binary.BigEndian.AppendUint16(b, tag)
		b = binary.BigEndian.AppendUint16(b, tci)
	}
	switch {
	case f.RoCEv1:
		return binary.BigEndian.AppendUint16(b, dissector.EtherTypeRoCEv1)
	case f.is4():
		return binary.BigEndian.AppendUint16(b, etherTypeIPv4)
	}
	return binary.BigEndian.AppendUint16(b, etherTypeIPv6)
}

// appendPacket appends everything from the IP header or GRH to the ICRC.
func (f *Frame) appendPacket(b []byte) ([]byte, error) {
	if f.MetaRoCE != nil {
		return f.appendMetaRoCE(b)
	}
	bth := f.BTH
	pad := 0
	if !f.KeepPadCount {
		pad = -len(f.Payload) & 3
		bth.PadCount = uint8(pad)
	}
	set, _ := bth.Opcode.Headers()
	transport := set.Length() + len(f.Payload) + pad + icrcLength
	if transport+udpLength+ipv4Length > 0xffff {
		return b, ErrLength
	}

	start := len(b)
	protocol := dissector.ProtocolRoCEv2
	switch {
	case f.RoCEv1:
		protocol = dissector.ProtocolRoCEv1
		b = f.appendIPv6(b, transport, protocolIBTransport)
	case f.is4():
		b = f.outer().appendIPv4(b, ipv4Length+udpLength+transport, protocolUDP)
		b = f.appendUDP(b, udpLength+transport)
	default:
		b = f.appendIPv6(b, udpLength+transport, protocolUDP)
		b = f.appendUDP(b, udpLength+transport)
	}
	transportStart := len(b)
	b = bth.AppendTo(b)
	b = f.appendExtended(b, set)
	b = append(b, f.Payload...)
	for range pad {
		b = append(b, 0)
	}
	icrc, _ := dissector.ComputeICRC(protocol, b[start:]) // the packet is whole: it was made above
	b = binary.LittleEndian.AppendUint32(b, icrc^f.ICRCFlip)
	if f.UDPChecksum && !f.RoCEv1 {
		f.fillChecksum(b[start:], transportStart-udpLength-start)
	}
	return b, nil
}

// appendExtended appends the headers of set behind the BTH.
func (f *Frame) appendExtended(b []byte, set infiniband.HeaderSet) []byte {
	for _, header := range infiniband.WireOrder {
		switch set & header {
		case infiniband.HasRDETH:
			b = f.RDETH.AppendTo(b)
		case infiniband.HasDETH:
			b = f.DETH.AppendTo(b)
		case infiniband.HasXRCETH:
			b = f.XRCETH.AppendTo(b)
		case infiniband.HasRETH:
			b = f.RETH.AppendTo(b)
		case infiniband.HasAtomicETH:
			b = f.AtomicETH.AppendTo(b)
		case infiniband.HasAETH:
			b = f.AETH.AppendTo(b)
		case infiniband.HasAtomicAckETH:
			b = f.AtomicAckETH.AppendTo(b)
		case infiniband.HasImmDt:
			b = f.ImmDt.AppendTo(b)
		case infiniband.HasIETH:
			b = f.IETH.AppendTo(b)
		case infiniband.HasFETH:
			b = f.FETH.AppendTo(b)
		case infiniband.HasCNP:
			b = append(b, make([]byte, infiniband.CNPLength)...)
		default: // HasBTH, which is there, or a header that is not in the set
		}
	}
	return b
}

func (f *Frame) outer() IP {
	return IP{
		Source: f.Source, Destination: f.Destination, DSCP: f.DSCP, ECN: f.ECN,
		TTL: f.TTL, ID: f.ID, FlowLabel: f.FlowLabel,
	}
}

func (f *Frame) appendIPv6(b []byte, payload int, next uint8) []byte {
	return f.outer().appendIPv6(b, payload, next)
}

func (f *Frame) appendUDP(b []byte, length int) []byte {
	return appendUDP(b, f.SourcePort, f.destinationPort(), length)
}

func (f *Frame) destinationPort() uint16 {
	switch {
	case f.DestinationPort != 0:
		return f.DestinationPort
	case f.MetaRoCE != nil:
		return f.MetaRoCE.Profile().Port
	}
	return dissector.PortRoCEv2
}

// fillChecksum computes the UDP checksum of the packet that starts with its IP header. The ICRC does not
// cover it.
func (f *Frame) fillChecksum(packet []byte, udp int) {
	var sum uint32
	if f.is4() {
		sum = add16(sum, packet[12:20])
	} else {
		sum = add16(sum, packet[8:40])
	}
	sum = add16(sum+protocolUDP+uint32(len(packet)-udp), packet[udp:])
	c := fold(sum)
	if c == 0 {
		c = 0xffff // 0 would say that there is none
	}
	binary.BigEndian.PutUint16(packet[udp+6:], c)
}
