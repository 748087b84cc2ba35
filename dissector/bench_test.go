package dissector_test

import (
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

// shape is a kind of frame whose decoding is measured.
type shape struct {
	name string
	data []byte
}

func dataFrame(opcode infiniband.Opcode, payload int) build.Frame {
	return build.Frame{
		DestinationMAC: [6]byte{2, 0, 0, 0, 0, 2}, SourceMAC: [6]byte{2, 0, 0, 0, 0, 1},
		Source: netip.MustParseAddr("10.0.0.1"), Destination: netip.MustParseAddr("10.0.0.2"),
		DSCP: 26, ECN: dissector.ECNECT0, ID: 7, SourcePort: 49153,
		BTH: infiniband.BTH{
			Opcode: opcode, PartitionKey: 0xffff, DestinationQP: 0x11, PSN: 0x123456, AckRequest: true, MigrationRequest: true,
		},
		RETH:    infiniband.RETH{VirtualAddress: 0x7f0012345678, RemoteKey: 0x1234, DMALength: 4096},
		AETH:    infiniband.AETH{Syndrome: 0x1f, MSN: 9},
		DETH:    infiniband.DETH{QueueKey: 0x80010000, SourceQP: 1},
		ImmDt:   infiniband.ImmDt{Data: 42},
		Payload: make([]byte, payload),
	}
}

func shapes(tb testing.TB) []shape {
	tb.Helper()
	tagged := dataFrame(infiniband.RCWriteMiddle, 4096)
	tagged.VLANs = []uint16{0x6064}
	six := dataFrame(infiniband.RCWriteMiddle, 4096)
	six.Source, six.Destination = netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	one := dataFrame(infiniband.RCWriteMiddle, 1024)
	one.RoCEv1 = true
	list := []struct {
		name  string
		frame build.Frame
	}{
		{"WriteMiddle", dataFrame(infiniband.RCWriteMiddle, 4096)},
		{"WriteFirst", dataFrame(infiniband.RCWriteFirst, 4096)},
		{"ACK", dataFrame(infiniband.RCAcknowledge, 0)},
		{"UDSendOnly", dataFrame(infiniband.UDSendOnly, 256)},
		{"WriteOnlyImmediate", dataFrame(infiniband.RCWriteOnlyImmediate, 256)},
		{"VLAN", tagged},
		{"IPv6", six},
		{"RoCEv1", one},
	}
	var out []shape
	for _, s := range list {
		data, err := s.frame.AppendTo(nil)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, shape{s.name, data})
	}
	inner := dataFrame(infiniband.RCWriteMiddle, 4096)
	data, err := inner.AppendTo(nil)
	if err != nil {
		tb.Fatal(err)
	}
	outer := build.IP{Source: netip.MustParseAddr("192.0.2.1"), Destination: netip.MustParseAddr("192.0.2.2")}
	vxlan := build.Ethernet(nil, [6]byte{2, 0, 0, 0, 0, 4}, [6]byte{2, 0, 0, 0, 0, 3}, 0x0800, build.VXLAN(nil, outer, 51000, 5001, data))
	return append(out, shape{"VXLAN", vxlan})
}

// BenchmarkDecode measures each header shape, and beside it how long gopacket's zero-copy parser takes to
// get to UDP on the same bytes.
func BenchmarkDecode(b *testing.B) {
	for _, s := range shapes(b) {
		b.Run(s.name, func(b *testing.B) {
			meta := dissector.Meta{LinkType: dissector.LinkTypeEthernet, OriginalLength: uint32(len(s.data)), Number: 1, HasTime: true}
			var p dissector.Packet
			b.ReportAllocs()
			for b.Loop() {
				if err := dissector.Decode(s.data, meta, &p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	for _, s := range shapes(b)[:1] {
		b.Run(s.name+"/gopacket-to-UDP", func(b *testing.B) {
			var (
				ethernet layers.Ethernet
				ip       layers.IPv4
				udp      layers.UDP
				payload  gopacket.Payload
			)
			parser := gopacket.NewDecodingLayerParser(layers.LayerTypeEthernet)
			parser.SetDecodingLayerContainer(gopacket.DecodingLayerArray(nil))
			parser.AddDecodingLayer(&ethernet)
			parser.AddDecodingLayer(&ip)
			parser.AddDecodingLayer(&udp)
			parser.AddDecodingLayer(&payload)
			parser.IgnoreUnsupported = true // an example of this package teaches gopacket a layer behind UDP
			decoded := make([]gopacket.LayerType, 0, 8)
			b.ReportAllocs()
			for b.Loop() {
				if err := parser.DecodeLayers(s.data, &decoded); err != nil {
					b.Fatal(err)
				}
			}
			if len(decoded) < 3 || decoded[2] != layers.LayerTypeUDP {
				b.Fatalf("gopacket did not get to UDP: %v", decoded)
			}
		})
	}
}

// BenchmarkVerifyICRC measures the check of packets that Decode has read.
func BenchmarkVerifyICRC(b *testing.B) {
	for _, s := range shapes(b) {
		b.Run(s.name, func(b *testing.B) {
			var p dissector.Packet
			if err := dissector.Decode(s.data, dissector.Meta{LinkType: dissector.LinkTypeEthernet}, &p); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(s.data)))
			b.ReportAllocs()
			for b.Loop() {
				if dissector.VerifyICRC(&p) != dissector.ICRCGood {
					b.Fatal("not good")
				}
			}
		})
	}
}
