package rocelayer

import (
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/rocelens/rocelens/dissector"
)

// Layer types, with numbers of their own: the UDP port and the ethertype.
var (
	LayerTypeRoCE = gopacket.LayerType(dissector.PortRoCEv2)
	LayerTypeGRH  = gopacket.LayerType(dissector.EtherTypeRoCEv1)
)

// init makes the layers known to gopacket, whose tables may be written at no other time.
func init() {
	gopacket.RegisterLayerType(int(LayerTypeRoCE), gopacket.LayerTypeMetadata{
		Name: "RoCE", Decoder: gopacket.DecodeFunc(decodeRoCE),
	})
	gopacket.RegisterLayerType(int(LayerTypeGRH), gopacket.LayerTypeMetadata{
		Name: "GRH", Decoder: gopacket.DecodeFunc(decodeGRH),
	})
	layers.RegisterUDPPortLayerType(dissector.PortRoCEv2, LayerTypeRoCE)
	layers.EthernetTypeMetadata[dissector.EtherTypeRoCEv1] = layers.EnumMetadata{
		DecodeWith: gopacket.DecodeFunc(decodeGRH), Name: "RoCEv1", LayerType: LayerTypeGRH,
	}
}
