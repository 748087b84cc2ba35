package rocelayer_test

import (
	"fmt"
	"net/netip"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/rocelayer"
)

// frame is a RoCEv2 packet such as a capture would have.
func frame() ([]byte, error) {
	f := build.Frame{
		Source: netip.MustParseAddr("10.0.0.1"), Destination: netip.MustParseAddr("10.0.0.2"), SourcePort: 49152,
		BTH:     infiniband.BTH{Opcode: infiniband.RCWriteOnly, PartitionKey: infiniband.DefaultPartitionKey, DestinationQP: 0x11, PSN: 7},
		RETH:    infiniband.RETH{VirtualAddress: 0x1000, RemoteKey: 1, DMALength: 5},
		Payload: []byte("hello"),
	}
	return f.AppendTo(nil)
}

// A DecodingLayerParser reuses its layers, so that packets are decoded without allocation.
func Example() {
	data, err := frame()
	if err != nil {
		fmt.Println(err)
		return
	}
	var (
		ethernet layers.Ethernet
		ip       layers.IPv4
		udp      layers.UDP
		roce     rocelayer.RoCE
		payload  gopacket.Payload
	)
	parser := gopacket.NewDecodingLayerParser(layers.LayerTypeEthernet, &ethernet, &ip, &udp, &roce, &payload)
	var decoded []gopacket.LayerType
	if err := parser.DecodeLayers(data, &decoded); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(decoded)
	if roce.Has&infiniband.HasRETH != 0 {
		fmt.Printf("%v, QP %#x, PSN %d, %d bytes to %#x: %q\n",
			roce.BTH.Opcode, roce.BTH.DestinationQP, roce.BTH.PSN, roce.RETH.DMALength, roce.RETH.VirtualAddress, roce.Payload)
	}
	// Output:
	// [Ethernet IPv4 UDP RoCE Payload]
	// RC RDMA WRITE Only, QP 0x11, PSN 7, 5 bytes to 0x1000: "hello"
}

// A packet that gopacket decodes on its own has the layer, too.
func ExampleRoCE() {
	data, err := frame()
	if err != nil {
		fmt.Println(err)
		return
	}
	packet := gopacket.NewPacket(data, layers.LayerTypeEthernet, gopacket.Default)
	if roce, ok := packet.Layer(rocelayer.LayerTypeRoCE).(*rocelayer.RoCE); ok {
		fmt.Println(roce.BTH.Opcode, roce.Has)
	}
	// Output:
	// RC RDMA WRITE Only BTH+RETH
}
