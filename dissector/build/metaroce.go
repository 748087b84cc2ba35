package build

import (
	"net/netip"

	"github.com/rocelens/rocelens/dissector/metaroce"
)

// MetaRoCE is a packet of a MetaRoCE profile that can be sent.
type MetaRoCE interface {
	// Profile is the profile whose port is the destination unless another is set.
	Profile() *metaroce.Profile
	// AppendDatagram appends the whole UDP payload: headers, payload, ICRC.
	AppendDatagram(b, payload []byte, source, destination netip.AddrPort) ([]byte, error)
}

// appendMetaRoCE appends everything from the IP header to the ICRC.
func (f *Frame) appendMetaRoCE(b []byte) ([]byte, error) {
	if f.RoCEv1 {
		return b, ErrAddress
	}
	datagram, err := f.MetaRoCE.AppendDatagram(nil, f.Payload,
		netip.AddrPortFrom(f.Source, f.SourcePort), netip.AddrPortFrom(f.Destination, f.destinationPort()))
	if err != nil {
		return b, err
	}
	if ipv4Length+udpLength+len(datagram) > 0xffff {
		return b, ErrLength
	}
	for i := range metaroce.ICRCLength {
		datagram[len(datagram)-metaroce.ICRCLength+i] ^= byte(f.ICRCFlip >> (8 * i))
	}
	start := len(b)
	if f.is4() {
		b = f.outer().appendIPv4(b, ipv4Length+udpLength+len(datagram), protocolUDP)
	} else {
		b = f.appendIPv6(b, udpLength+len(datagram), protocolUDP)
	}
	udp := len(b) - start
	b = append(f.appendUDP(b, udpLength+len(datagram)), datagram...)
	if f.UDPChecksum {
		f.fillChecksum(b[start:], udp)
	}
	return b, nil
}
