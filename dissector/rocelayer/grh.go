package rocelayer

import (
	"encoding/binary"
	"net/netip"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/rocelens/rocelens/dissector"
)

const (
	grhLength           = 40
	protocolIBTransport = 0x1b
)

// GRH is the global route header, 40 bytes, with which a RoCEv1 packet begins behind its Ethernet header (IBTA
// volume 1, section 8.3 and annex A16). It has the layout of an IPv6 header.
type GRH struct {
	layers.BaseLayer // Payload ends where the header says, before Ethernet's padding

	TrafficClass  uint8
	FlowLabel     uint32 // 20 bits
	PayloadLength uint16 // bytes behind the header, ICRC included
	NextHeader    uint8  // 0x1b for InfiniBand's transport
	HopLimit      uint8
	Source        netip.Addr // GID; RoCE maps IPv4 addresses into IPv6
	Destination   netip.Addr
}

// LayerType is LayerTypeGRH.
func (g *GRH) LayerType() gopacket.LayerType { return LayerTypeGRH }

// CanDecode is LayerTypeGRH.
func (g *GRH) CanDecode() gopacket.LayerClass { return LayerTypeGRH }

// NextLayerType is LayerTypeRoCE when the next header is InfiniBand's transport.
func (g *GRH) NextLayerType() gopacket.LayerType {
	if g.NextHeader == protocolIBTransport {
		return LayerTypeRoCE
	}
	return gopacket.LayerTypePayload
}

// DecodeFromBytes reads the header. All of the layer is overwritten, and empty when the answer is an error:
// dissector.ErrTruncated for fewer than 40 bytes, dissector.ErrMalformed for an IP version other than 6.
func (g *GRH) DecodeFromBytes(data []byte, df gopacket.DecodeFeedback) error {
	*g = GRH{}
	if len(data) < grhLength {
		df.SetTruncated()
		return dissector.ErrTruncated
	}
	word := binary.BigEndian.Uint32(data)
	if word>>28 != 6 {
		return dissector.ErrMalformed
	}
	length := binary.BigEndian.Uint16(data[4:])
	end := grhLength + int(length)
	if end > len(data) {
		df.SetTruncated()
		end = len(data)
	}
	*g = GRH{
		BaseLayer:     layers.BaseLayer{Contents: data[:grhLength], Payload: data[grhLength:end]},
		TrafficClass:  uint8(word >> 20),
		FlowLabel:     word & 0xfffff,
		PayloadLength: length,
		NextHeader:    data[6],
		HopLimit:      data[7],
		Source:        netip.AddrFrom16([16]byte(data[8:24])),
		Destination:   netip.AddrFrom16([16]byte(data[24:40])),
	}
	return nil
}

func decodeGRH(data []byte, p gopacket.PacketBuilder) error {
	g := &GRH{}
	if err := g.DecodeFromBytes(data, p); err != nil {
		return err
	}
	p.AddLayer(g)
	return p.NextDecoder(g.NextLayerType())
}
