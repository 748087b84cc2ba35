package dissector_test

import (
	"errors"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

var (
	macA = [6]byte{2, 0, 0, 0, 0, 1}
	macB = [6]byte{2, 0, 0, 0, 0, 2}
)

func metaOf(data []byte) dissector.Meta {
	return dissector.Meta{LinkType: dissector.LinkTypeEthernet, OriginalLength: uint32(len(data)), Number: 1}
}

func mustBuild(tb testing.TB, f build.Frame) []byte {
	tb.Helper()
	data, err := f.AppendTo(nil)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func address(s string) dissector.Address { return netip.MustParseAddr(s).As16() }

// layersOf are the layers that a packet has.
func layersOf(p *dissector.Packet) []dissector.Layer {
	return append([]dissector.Layer(nil), p.Layers[:p.LayerCount]...)
}

func TestDecodeFillsThePacket(t *testing.T) {
	bth := infiniband.BTH{
		Opcode: infiniband.RCWriteFirst, SolicitedEvent: true, MigrationRequest: true, PartitionKey: 0xffff, FECN: true,
		DestinationQP: 0xabcdef, AckRequest: true, PSN: 0xfedcba,
	}
	reth := infiniband.RETH{VirtualAddress: 0x7fff12345678, RemoteKey: 0x1234, DMALength: 9000}
	payload := []byte("hello, world!!!!")
	v4 := build.Frame{
		DestinationMAC: macB, SourceMAC: macA, VLANs: []uint16{0x6064},
		Source: netip.MustParseAddr("10.0.0.1"), Destination: netip.MustParseAddr("10.0.0.2"),
		DSCP: 26, ECN: dissector.ECNCE, TTL: 63, ID: 0x1234, SourcePort: 49152, BTH: bth, RETH: reth, Payload: payload,
	}
	v1 := v4
	v1.VLANs, v1.RoCEv1, v1.FlowLabel = nil, true, 0x12345
	v1.BTH.Opcode, v1.Payload = infiniband.RCSendOnly, []byte("odd")

	wantV4 := dissector.Packet{
		Protocol: dissector.ProtocolRoCEv2, LayerCount: 8,
		Ethernet: dissector.Ethernet{Destination: macB, Source: macA, EtherType: 0x0800, VLANCount: 1, VLAN: [2]uint16{0x6064}},
		Network: dissector.IP{
			Version: 4, Protocol: 17, DSCP: 26, ECN: dissector.ECNCE, TTL: 63, ID: 0x1234, TotalLength: 20 + 8 + 12 + 16 + 16 + 4,
			Source: address("::ffff:10.0.0.1"), Destination: address("::ffff:10.0.0.2"),
		},
		UDP:           dissector.UDP{SourcePort: 49152, DestinationPort: 4791, Length: 8 + 12 + 16 + 16 + 4},
		Has:           infiniband.HasBTH | infiniband.HasRETH,
		BTH:           bth,
		RETH:          reth,
		PayloadOffset: 74, PayloadLength: 16, ICRCOffset: 90, CapturedEnd: 94,
	}
	copy(wantV4.Layers[:], []dissector.Layer{
		{Type: dissector.LayerEthernet, Offset: 0, Length: 14},
		{Type: dissector.LayerVLAN, Offset: 14, Length: 4},
		{Type: dissector.LayerIPv4, Offset: 18, Length: 20},
		{Type: dissector.LayerUDP, Offset: 38, Length: 8},
		{Type: dissector.LayerBTH, Offset: 46, Length: 12},
		{Type: dissector.LayerRETH, Offset: 58, Length: 16},
		{Type: dissector.LayerPayload, Offset: 74, Length: 16},
		{Type: dissector.LayerICRC, Offset: 90, Length: 4},
	})
	wantV1 := dissector.Packet{
		Protocol: dissector.ProtocolRoCEv1, LayerCount: 6,
		Ethernet: dissector.Ethernet{Destination: macB, Source: macA, EtherType: 0x8915},
		Network: dissector.IP{
			Version: 6, Protocol: 0x1b, DSCP: 26, ECN: dissector.ECNCE, TTL: 63, FlowLabel: 0x12345, TotalLength: 40 + 12 + 4 + 4,
			Source: address("::ffff:10.0.0.1"), Destination: address("::ffff:10.0.0.2"),
		},
		Has: infiniband.HasBTH, BTH: bth,
		PayloadOffset: 66, PayloadLength: 3, ICRCOffset: 70, CapturedEnd: 74,
	}
	wantV1.BTH.Opcode, wantV1.BTH.PadCount = infiniband.RCSendOnly, 1
	copy(wantV1.Layers[:], []dissector.Layer{
		{Type: dissector.LayerEthernet, Offset: 0, Length: 14},
		{Type: dissector.LayerGRH, Offset: 14, Length: 40},
		{Type: dissector.LayerBTH, Offset: 54, Length: 12},
		{Type: dissector.LayerPayload, Offset: 66, Length: 3},
		{Type: dissector.LayerPad, Offset: 69, Length: 1},
		{Type: dissector.LayerICRC, Offset: 70, Length: 4},
	})
	for _, c := range []struct {
		name  string
		frame build.Frame
		want  dissector.Packet
	}{{"RoCEv2 in a tagged frame", v4, wantV4}, {"RoCEv1 with a pad", v1, wantV1}} {
		t.Run(c.name, func(t *testing.T) {
			data := mustBuild(t, c.frame)
			c.want.Data, c.want.Meta = data, metaOf(data)
			var got dissector.Packet
			if err := dissector.Decode(data, metaOf(data), &got); err != nil {
				t.Fatalf("%v: %v", err, got.Fault)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if got := dissector.VerifyICRC(&got); got != dissector.ICRCGood {
				t.Errorf("ICRC state %d", got)
			}
		})
	}
}

// TestDecodeReadsExactlyTheHeadersOfEachOpcode builds a packet for every opcode and compares all headers.
func TestDecodeReadsExactlyTheHeadersOfEachOpcode(t *testing.T) {
	for code := range 256 {
		opcode := infiniband.Opcode(code)
		f := build.Frame{
			DestinationMAC: macB, SourceMAC: macA,
			Source: netip.MustParseAddr("2001:db8::1"), Destination: netip.MustParseAddr("2001:db8::2"), SourcePort: 50000,
			BTH:          infiniband.BTH{Opcode: opcode, PartitionKey: 0xffff, DestinationQP: 0x11, PSN: 1},
			RDETH:        infiniband.RDETH{EEContext: 0x010203},
			DETH:         infiniband.DETH{QueueKey: 0x11111111, SourceQP: 0x222222},
			XRCETH:       infiniband.XRCETH{SRQ: 0x333333},
			RETH:         infiniband.RETH{VirtualAddress: 4, RemoteKey: 5, DMALength: 6},
			AtomicETH:    infiniband.AtomicETH{VirtualAddress: 7, RemoteKey: 8, SwapOrAdd: 9, Compare: 10},
			AETH:         infiniband.AETH{Syndrome: 0x61, MSN: 11},
			AtomicAckETH: infiniband.AtomicAckETH{OriginalData: 12},
			ImmDt:        infiniband.ImmDt{Data: 13},
			IETH:         infiniband.IETH{RemoteKey: 14},
			FETH:         infiniband.FETH{Selectivity: 1, Placement: 2},
			Payload:      []byte{1, 2, 3, 4},
		}
		data := mustBuild(t, f)
		var p dissector.Packet
		err := dissector.Decode(data, metaOf(data), &p)
		set, known := opcode.Headers()
		if !known {
			if !errors.Is(err, dissector.ErrUnsupported) || p.Has != infiniband.HasBTH || p.BTH.Opcode != opcode {
				t.Errorf("%v: %v, has %v", opcode, err, p.Has)
			}
			if mrc := p.Protocol == dissector.ProtocolMRC; mrc != (code >= 0xc0) {
				t.Errorf("%v: protocol %d", opcode, p.Protocol)
			}
			continue
		}
		if err != nil {
			t.Errorf("%v: %v %v", opcode, err, p.Fault)
			continue
		}
		want := dissector.Packet{Has: set, BTH: f.BTH}
		has := func(h infiniband.HeaderSet) bool { return set&h != 0 }
		if has(infiniband.HasRDETH) {
			want.RDETH = f.RDETH
		}
		if has(infiniband.HasDETH) {
			want.DETH = f.DETH
		}
		if has(infiniband.HasXRCETH) {
			want.XRCETH = f.XRCETH
		}
		if has(infiniband.HasRETH) {
			want.RETH = f.RETH
		}
		if has(infiniband.HasAtomicETH) {
			want.AtomicETH = f.AtomicETH
		}
		if has(infiniband.HasAETH) {
			want.AETH = f.AETH
		}
		if has(infiniband.HasAtomicAckETH) {
			want.AtomicAckETH = f.AtomicAckETH
		}
		if has(infiniband.HasImmDt) {
			want.ImmDt = f.ImmDt
		}
		if has(infiniband.HasIETH) {
			want.IETH = f.IETH
		}
		if has(infiniband.HasFETH) {
			want.FETH = f.FETH
		}
		if diff := cmp.Diff(want, transportOf(&p)); diff != "" {
			t.Errorf("%v: %s", opcode, diff)
		}
		if string(p.Payload()) != string(f.Payload) {
			t.Errorf("%v: payload %x", opcode, p.Payload())
		}
		if got := dissector.VerifyICRC(&p); got != dissector.ICRCGood {
			t.Errorf("%v: ICRC state %d", opcode, got)
		}
	}
}

// transportOf keeps what an encapsulation must not change.
func transportOf(p *dissector.Packet) dissector.Packet {
	return dissector.Packet{
		Has: p.Has, BTH: p.BTH, RDETH: p.RDETH, DETH: p.DETH, XRCETH: p.XRCETH, RETH: p.RETH, AtomicETH: p.AtomicETH,
		AETH: p.AETH, AtomicAckETH: p.AtomicAckETH, ImmDt: p.ImmDt, IETH: p.IETH, FETH: p.FETH,
	}
}

// TestEncapsulationsCarryTheSamePackets compares the files that wrap one exchange with the exchange itself.
func TestEncapsulationsCarryTheSamePackets(t *testing.T) {
	base := readCapture(t, filepath.Join("testdata", "base-cm-send-write-read.pcap"))
	for _, c := range []struct {
		file   string
		before string // layers before the inner IP header
		vlan   []uint16
		tunnel dissector.Tunnel
		outer  bool // the tunnel has an IP header of its own
	}{
		{file: "enc-vlan-pcp3.pcap", before: "Ethernet VLAN", vlan: []uint16{3<<13 | 100}},
		{file: "enc-qinq.pcap", before: "Ethernet VLAN VLAN", vlan: []uint16{5<<13 | 200, 3<<13 | 100}},
		{file: "enc-vlan-prio-tag.pcap", before: "Ethernet VLAN", vlan: []uint16{3 << 13}},
		{file: "enc-vxlan.pcap", before: "Ethernet IPv4 UDP VXLAN Ethernet", tunnel: dissector.Tunnel{Type: dissector.LayerVXLAN, ID: 5001}, outer: true},
		{file: "enc-vxlan-8472.pcap", before: "Ethernet IPv4 UDP VXLAN Ethernet", tunnel: dissector.Tunnel{Type: dissector.LayerVXLAN, ID: 5001}, outer: true},
		{file: "enc-geneve.pcap", before: "Ethernet IPv4 UDP GENEVE Ethernet", tunnel: dissector.Tunnel{Type: dissector.LayerGENEVE, ID: 77}, outer: true},
		{file: "enc-gre-teb.pcap", before: "Ethernet IPv4 GRE Ethernet", tunnel: dissector.Tunnel{Type: dissector.LayerGRE, ID: 9}, outer: true},
		{file: "enc-erspan1.pcap", before: "Ethernet IPv4 GRE Ethernet", tunnel: dissector.Tunnel{Type: dissector.LayerERSPAN1, Mirror: true}, outer: true},
		{file: "enc-erspan2.pcap", before: "Ethernet IPv4 GRE ERSPAN II Ethernet", tunnel: dissector.Tunnel{Type: dissector.LayerERSPAN2, Mirror: true, ID: 7, OuterID: 100}, outer: true},
		{file: "enc-erspan3.pcap", before: "Ethernet IPv4 GRE ERSPAN III Ethernet", tunnel: dissector.Tunnel{Type: dissector.LayerERSPAN3, Mirror: true, ID: 7, OuterID: 100, Timestamp: 123456}, outer: true},
		{file: "enc-mpls.pcap", before: "Ethernet MPLS MPLS", tunnel: dissector.Tunnel{Type: dissector.LayerMPLS, ID: 16000}},
		{file: "enc-sll.pcap", before: "Linux SLL"},
		{file: "enc-sll2.pcap", before: "Linux SLL2"},
		{file: "enc-rawip.pcap", before: ""},
		{file: "enc-loopback.pcap", before: "BSD loopback"},
	} {
		t.Run(c.file, func(t *testing.T) {
			frames := readCapture(t, filepath.Join("testdata", c.file))
			if len(frames) != len(base) {
				t.Fatalf("%d frames, want %d", len(frames), len(base))
			}
			var plain, p dissector.Packet
			for i, f := range frames {
				if err := dissector.Decode(base[i].data, base[i].meta, &plain); err != nil {
					t.Fatal(err)
				}
				if err := dissector.Decode(f.data, f.meta, &p); err != nil {
					t.Fatalf("frame %d: %v %v", i+1, err, p.Fault)
				}
				if diff := cmp.Diff(transportOf(&plain), transportOf(&p)); diff != "" {
					t.Errorf("frame %d: %s", i+1, diff)
				}
				if diff := cmp.Diff([]any{plain.Network, plain.UDP, plain.Payload()}, []any{p.Network, p.UDP, p.Payload()}); diff != "" {
					t.Errorf("frame %d: %s", i+1, diff)
				}
				if got := dissector.VerifyICRC(&p); got != dissector.ICRCGood {
					t.Errorf("frame %d: ICRC state %d", i+1, got)
				}
				var names []string
				for _, l := range layersOf(&p) {
					names = append(names, l.Type.String())
				}
				if got := strings.Join(names, " "); !strings.HasPrefix(got, strings.TrimSpace(c.before+" IPv4 UDP BTH")) {
					t.Errorf("frame %d: layers %s", i+1, got)
				}
				for j, tci := range c.vlan {
					if p.Ethernet.VLAN[j] != tci {
						t.Errorf("frame %d: TCI %#x", i+1, p.Ethernet.VLAN[j])
					}
				}
				want := c.tunnel
				if want.Type != dissector.LayerNone {
					want.Depth = 1
				}
				if want.Timestamp != 0 { // one tick a frame
					want.Timestamp += uint32(i)
				}
				if want.Outer = p.Tunnel.Outer; c.outer != (want.Outer.Version == 4 && want.Outer.Source != p.Network.Source) {
					t.Errorf("frame %d: outer header %+v", i+1, want.Outer)
				}
				if diff := cmp.Diff(want, p.Tunnel); diff != "" {
					t.Errorf("frame %d: %s", i+1, diff)
				}
			}
		})
	}
}
