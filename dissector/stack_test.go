package dissector_test

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

// cat joins bytes, and 16-bit words that are given as int.
func cat(parts ...any) []byte {
	var b []byte
	for _, part := range parts {
		switch v := part.(type) {
		case []byte:
			b = append(b, v...)
		case string:
			b = append(b, v...)
		case int:
			b = binary.BigEndian.AppendUint16(b, uint16(v))
		}
	}
	return b
}

// route is the local route of the native InfiniBand packets of these tests.
var route = dissector.LRH{VirtualLane: 3, ServiceLevel: 5, SourceLID: 1, DestinationLID: 2}

// native is a native InfiniBand packet with its variant CRC.
func native(tb testing.TB, global bool) []byte {
	tb.Helper()
	f := dataFrame(infiniband.RCSendOnly, 8)
	f.RoCEv1, f.NoEthernet, f.NoPadding = true, true, true
	return build.Native(nil, route, mustBuild(tb, f), global, 0xeeee)
}

func erfRecord(kind uint8, extensions int, frame []byte) []byte {
	h := build.ERF{Type: kind, Flags: 4}
	for range extensions {
		h.Extensions = append(h.Extensions, [8]byte{5})
	}
	return h.AppendTo(nil, frame)
}

// TestStacks decodes one packet in ways that the captures of testdata do not have.
func TestStacks(t *testing.T) {
	f := dataFrame(infiniband.RCSendOnly, 8)
	f.NoPadding = true
	framed := mustBuild(t, f)
	four := framed[14:]
	sixFrame := mustBuild(t, six(f))
	udp := sixFrame[54:] // from UDP on
	v4, v6 := build.IP{Source: ipA, Destination: ipB}, build.IP{Source: netip.MustParseAddr("2001:db8::1"), Destination: netip.MustParseAddr("2001:db8::2")}
	options := slices.Concat(four[:20], []byte{0x94, 4, 0, 0}, four[20:])
	options[0], options[3] = 0x46, options[3]+4
	over4 := func(protocol uint8, parts ...any) []byte {
		return overEthernet(0x0800, v4.AppendIP(nil, protocol, cat(parts...)))
	}
	over6 := func(protocol uint8, parts ...any) []byte {
		return overEthernet(0x86dd, v6.AppendIP(nil, protocol, cat(parts...)))
	}
	erspan3 := func(last int, rest ...any) []byte {
		return over4(47, 0x1000, 0x22eb, 0, 1, 0x2064, 0x0407, 0, 9, 0, last, cat(rest...))
	}
	zeroLength := slices.Clone(four)
	zeroLength[2], zeroLength[3] = 0, 0
	fromEight := f
	fromEight.Source = netip.MustParseAddr("8.0.1.1")
	pseudowire := func(first byte) []byte {
		return overEthernet(0x8847, build.MPLS(nil, []uint32{20}, edited(framed, func(b []byte) { copy(b, []byte{first, 0x59, 0x9f, 0x12, 0x34, 0x56}) })))
	}
	srh := func(next byte) []byte {
		return cat([]byte{next, 2, 4, 0, 0, 0, 0, 0}, make([]byte, 16))
	}

	for _, c := range []struct {
		name   string
		link   dissector.LinkType
		data   []byte
		layers string // up to the BTH, or all when there is none
		tunnel dissector.LayerType
		depth  uint8
		err    error
		icrc   dissector.ICRCState
	}{
		{name: "raw IPv4", link: 101, data: four, layers: "IPv4 UDP BTH", icrc: 1},
		{name: "raw IPv6", link: 101, data: sixFrame[14:], layers: "IPv6 UDP BTH", icrc: 1},
		{name: "raw IP, number of the BSDs", link: 12, data: four, layers: "IPv4 UDP BTH", icrc: 1},
		{name: "raw IP, number of OpenBSD", link: 14, data: four, layers: "IPv4 UDP BTH", icrc: 1},
		{name: "raw, neither", link: 101, data: []byte{0x50}, err: dissector.ErrMalformed, icrc: 3},
		{name: "IPv4 link", link: 228, data: four, layers: "IPv4 UDP BTH", icrc: 1},
		{name: "IPv6 link", link: 229, data: sixFrame[14:], layers: "IPv6 UDP BTH", icrc: 1},
		{name: "IPv4 link with IPv6", link: 228, data: sixFrame[14:], err: dissector.ErrMalformed, icrc: 3},
		{name: "null, little-endian", link: 0, data: cat([]byte{2, 0, 0, 0}, four), layers: "BSD loopback IPv4 UDP BTH", icrc: 1},
		{name: "null, big-endian", link: 0, data: cat([]byte{0, 0, 0, 2}, four), layers: "BSD loopback IPv4 UDP BTH", icrc: 1},
		{name: "loop with macOS's IPv6", link: 108, data: cat([]byte{0, 0, 0, 30}, sixFrame[14:]), layers: "BSD loopback IPv6 UDP BTH", icrc: 1},
		{name: "SLL with a tag", link: 113, data: cat(0, 1, 6, macA[:], 0, 0x8100, 0x6064, 0x0800, four), layers: "Linux SLL VLAN IPv4 UDP BTH", icrc: 1},
		{name: "SLL, address length absurd", link: 113, data: cat(0, 1, 0xffff, make([]byte, 8), 0x0800, four), layers: "Linux SLL IPv4 UDP BTH", icrc: 1},
		{name: "SLL2", link: 276, data: cat(0x0800, 0, 0, 3, 1, []byte{0, 6}, macA[:], 0, four), layers: "Linux SLL2 IPv4 UDP BTH", icrc: 1},
		{name: "SLL2 of 802.2", link: 276, data: cat(4, 0, 0, 3, 1, []byte{0, 6}, macA[:], 0, []byte{0x42, 0x42, 3}), layers: "Linux SLL2", err: dissector.ErrNotRDMA, icrc: 3},
		{name: "PPI", link: 192, data: framed, err: dissector.ErrUnsupported, icrc: 3},
		{name: "SNAP", data: cat(macB[:], macA[:], 8+len(four), []byte{0xaa, 0xaa, 3, 0, 0, 0}, 0x0800, four), layers: "Ethernet LLC IPv4 UDP BTH", icrc: 1},
		{name: "802.3, other", data: cat(macB[:], macA[:], 38, make([]byte, 46)), layers: "Ethernet", err: dissector.ErrNotRDMA, icrc: 3},
		{name: "ERF Ethernet", link: 197, data: erfRecord(2, 0, framed), layers: "ERF Ethernet IPv4 UDP BTH", icrc: 1},
		{name: "ERF Ethernet, extended", link: 197, data: erfRecord(2, 2, framed), layers: "ERF Ethernet IPv4 UDP BTH", icrc: 1},
		{name: "ERF IPv4", link: 197, data: erfRecord(22, 0, four), layers: "ERF IPv4 UDP BTH", icrc: 1},
		{name: "ERF InfiniBand", link: 197, data: erfRecord(21, 0, native(t, false)), layers: "ERF LRH BTH", icrc: 1},
		{name: "ERF InfiniBand, GRH", link: 197, data: erfRecord(21, 1, native(t, true)), layers: "ERF LRH GRH BTH", icrc: 1},
		{name: "ERF ATM", link: 197, data: erfRecord(3, 0, make([]byte, 60)), layers: "ERF", err: dissector.ErrUnsupported, icrc: 3},
		{name: "IPv4 options", data: overEthernet(0x0800, options), layers: "Ethernet IPv4 UDP BTH", icrc: 3},
		{name: "IPv4 length left to segmentation offload", data: overEthernet(0x0800, zeroLength), layers: "Ethernet IPv4 UDP BTH", icrc: 3},
		{name: "IPv4 AH", data: over4(51, []byte{17, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, udp), layers: "Ethernet IPv4 unknown UDP BTH", icrc: 3},
		{name: "IPv6 hop-by-hop, destination", data: over6(0, []byte{60, 0, 1, 4, 0, 0, 0, 0, 17, 1}, make([]byte, 14), udp), layers: "Ethernet IPv6 IPv6 extension IPv6 extension UDP BTH", icrc: 3},
		{name: "IPv6 AH", data: over6(51, []byte{17, 4}, make([]byte, 22), udp), layers: "Ethernet IPv6 IPv6 extension UDP BTH", icrc: 3},
		{name: "IPv6 atomic fragment", data: over6(44, []byte{17, 0, 0, 0, 0, 0, 0, 1}, udp), layers: "Ethernet IPv6 IPv6 extension UDP BTH", icrc: 3},
		{name: "IPv6 first fragment", data: over6(44, []byte{17, 0, 0, 1, 0, 0, 0, 1}, udp), layers: "Ethernet IPv6 IPv6 extension UDP BTH", icrc: 3},
		{name: "IPv6 later fragment", data: over6(44, []byte{17, 0, 0, 9, 0, 0, 0, 1}, udp), layers: "Ethernet IPv6 IPv6 extension IP fragment", err: dissector.ErrUnsupported, icrc: 3},
		{name: "IPv6 no next header", data: over6(59), layers: "Ethernet IPv6", err: dissector.ErrNotRDMA, icrc: 3},
		{name: "ICMPv6", data: over6(58, make([]byte, 8)), layers: "Ethernet IPv6 ICMP", err: dissector.ErrNotRDMA, icrc: 3},
		{name: "SRv6, inserted", data: over6(43, srh(17), udp), layers: "Ethernet IPv6 SRv6 UDP BTH", icrc: 3},
		{name: "SRv6 with IPv4", data: over6(43, srh(4), four), layers: "Ethernet IPv6 SRv6 IPv4 UDP BTH", tunnel: dissector.LayerSRv6, depth: 1, icrc: 1},
		{name: "SRv6 with IPv6", data: over6(43, srh(41), sixFrame[14:]), layers: "Ethernet IPv6 SRv6 IPv6 UDP BTH", tunnel: dissector.LayerSRv6, depth: 1, icrc: 1},
		{name: "SRv6 with Ethernet", data: over6(43, srh(143), framed), layers: "Ethernet IPv6 SRv6 Ethernet IPv4 UDP BTH", tunnel: dissector.LayerSRv6, depth: 1, icrc: 1},
		{name: "IPv4 in IPv4", data: over4(4, four), layers: "Ethernet IPv4 IPv4 UDP BTH", tunnel: dissector.LayerIPv4, depth: 1, icrc: 1},
		{name: "6in4", data: over4(41, sixFrame[14:]), layers: "Ethernet IPv4 IPv6 UDP BTH", tunnel: dissector.LayerIPv6, depth: 1, icrc: 1},
		{name: "4in6", data: over6(4, four), layers: "Ethernet IPv6 IPv4 UDP BTH", tunnel: dissector.LayerIPv4, depth: 1, icrc: 1},
		{name: "GRE, all flags", data: over4(47, 0xf000, 0x0800, 0, 0, 0, 9, 0, 1, []byte{0, 0, 0, 4}, 1, 2, []byte{0, 0, 0, 0}, four), layers: "Ethernet IPv4 GRE IPv4 UDP BTH", tunnel: dissector.LayerGRE, depth: 1, icrc: 1},
		{name: "GRE with RoCEv1 behind a tag", data: over4(47, 0, 0x8100, 100, 0x8915, mustBuild(t, roceV1(f))[14:]), layers: "Ethernet IPv4 GRE VLAN GRH BTH", tunnel: dissector.LayerGRE, depth: 1, icrc: 1},
		{name: "GRE of PPTP", data: over4(47, 0x3001, 0x880b, 0, 0), layers: "Ethernet IPv4", err: dissector.ErrUnsupported, icrc: 3},
		{name: "GRE with ISO", data: over4(47, 0, 0x00fe, make([]byte, 20)), layers: "Ethernet IPv4 GRE", tunnel: dissector.LayerGRE, depth: 1, err: dissector.ErrNotRDMA, icrc: 3},
		{name: "ERSPAN III with platform header", data: erspan3(1, make([]byte, 8), framed), layers: "Ethernet IPv4 GRE ERSPAN III Ethernet IPv4 UDP BTH", tunnel: dissector.LayerERSPAN3, depth: 1, icrc: 1},
		{name: "ERSPAN III of IP", data: erspan3(2<<10, four), layers: "Ethernet IPv4 GRE ERSPAN III IPv4 UDP BTH", tunnel: dissector.LayerERSPAN3, depth: 1, icrc: 1},
		{name: "ERSPAN III marker", data: erspan3(7<<10, make([]byte, 30)), layers: "Ethernet IPv4 GRE ERSPAN III", tunnel: dissector.LayerERSPAN3, depth: 1, err: dissector.ErrUnsupported, icrc: 3},
		{name: "ERSPAN of another version", data: over4(47, 0x1000, 0x88be, 0, 1, 0x3000, 0, 0, 0), layers: "Ethernet IPv4 GRE", err: dissector.ErrUnsupported, icrc: 3},
		{name: "VXLAN in ERSPAN II", data: overEthernet(0x0800, build.ERSPAN2(nil, v4, 1, 7, 1, overEthernet(0x86dd, build.VXLAN(nil, v6, 9, 9, framed)))), layers: "Ethernet IPv4 GRE ERSPAN II Ethernet IPv6 UDP VXLAN Ethernet IPv4 UDP BTH", tunnel: dissector.LayerVXLAN, depth: 2, icrc: 1},
		{name: "VXLAN without its flag", data: datagram(9, 4789, make([]byte, 60)), layers: "Ethernet IPv4 UDP", err: dissector.ErrNotRDMA, icrc: 3},
		{name: "VXLAN-GPE with IPv6", data: datagram(9, 4790, cat([]byte{0x0c, 0, 0, 2}, 0, 0x0100, sixFrame[14:])), layers: "Ethernet IPv4 UDP VXLAN IPv6 UDP BTH", tunnel: dissector.LayerVXLAN, depth: 1, icrc: 1},
		{name: "VXLAN-GPE with NSH", data: datagram(9, 4790, cat([]byte{0x0c, 0, 0, 4}, 0, 0x0100, make([]byte, 40))), layers: "Ethernet IPv4 UDP VXLAN", tunnel: dissector.LayerVXLAN, depth: 1, err: dissector.ErrUnsupported, icrc: 3},
		{name: "GENEVE with IPv4", data: datagram(9, 6081, cat([]byte{0, 0}, 0x0800, 0, 0x0100, four)), layers: "Ethernet IPv4 UDP GENEVE IPv4 UDP BTH", tunnel: dissector.LayerGENEVE, depth: 1, icrc: 1},
		{name: "GENEVE of another version", data: datagram(9, 6081, cat([]byte{0x40, 0}, 0x0800, 0, 0x0100, four)), layers: "Ethernet IPv4 UDP", err: dissector.ErrUnsupported, icrc: 3},
		{name: "MPLS in UDP", data: datagram(9, 6635, build.MPLS(nil, []uint32{20}, four)), layers: "Ethernet IPv4 UDP MPLS IPv4 UDP BTH", tunnel: dissector.LayerMPLS, depth: 1, icrc: 1},
		{name: "MPLS pseudowire", data: overEthernet(0x8847, build.MPLS(nil, []uint32{20, 21}, cat(0, 0, framed))), layers: "Ethernet MPLS MPLS MPLS Ethernet IPv4 UDP BTH", tunnel: dissector.LayerMPLS, depth: 1, icrc: 1},
		{name: "MPLS pseudowire without control word", data: pseudowire(0x0c), layers: "Ethernet MPLS Ethernet IPv4 UDP BTH", tunnel: dissector.LayerMPLS, depth: 1, icrc: 1},
		{name: "MPLS pseudowire without control word, like IPv4", data: pseudowire(0x48), layers: "Ethernet MPLS Ethernet IPv4 UDP BTH", tunnel: dissector.LayerMPLS, depth: 1, icrc: 1},
		{name: "MPLS pseudowire without control word, like IPv6", data: pseudowire(0x68), layers: "Ethernet MPLS Ethernet IPv4 UDP BTH", tunnel: dissector.LayerMPLS, depth: 1, icrc: 1},
		{name: "MPLS pseudowire without control word, like neither", data: pseudowire(0xb8), layers: "Ethernet MPLS Ethernet IPv4 UDP BTH", tunnel: dissector.LayerMPLS, depth: 1, icrc: 1},
		{name: "MPLS with an IPv4 address like an ethertype", data: overEthernet(0x8847, build.MPLS(nil, []uint32{20}, mustBuild(t, fromEight)[14:])), layers: "Ethernet MPLS IPv4 UDP BTH", tunnel: dissector.LayerMPLS, depth: 1, icrc: 1},
		{name: "MPLS with entropy label", data: overEthernet(0x8847, build.MPLS(nil, []uint32{20, 7, 99999}, four)), layers: "Ethernet MPLS MPLS MPLS IPv4 UDP BTH", tunnel: dissector.LayerMPLS, depth: 1, icrc: 1},
		{name: "MPLS associated channel", data: overEthernet(0x8847, build.MPLS(nil, []uint32{20, 13}, cat(0x1000, 7, make([]byte, 20)))), layers: "Ethernet MPLS MPLS", tunnel: dissector.LayerMPLS, depth: 1, err: dissector.ErrUnsupported, icrc: 3},
		{name: "MPLS in GRE in MPLS", data: overEthernet(0x8847, build.MPLS(nil, []uint32{20}, v4.AppendIP(nil, 47, cat(0, 0x8847, build.MPLS(nil, []uint32{30}, four))))), layers: "Ethernet MPLS IPv4 GRE MPLS IPv4 UDP BTH", tunnel: dissector.LayerMPLS, depth: 3, icrc: 1},
		{name: "MPLS in IP", data: over4(137, build.MPLS(nil, []uint32{20}, sixFrame[14:])), layers: "Ethernet IPv4 MPLS IPv6 UDP BTH", tunnel: dissector.LayerMPLS, depth: 1, icrc: 1},
		{name: "iWARP", data: over4(6, make([]byte, 12), []byte{0x50, 0x18}, 0, 0, 0, "MPA ID Req Frame", make([]byte, 4)), layers: "Ethernet IPv4 TCP", err: dissector.ErrUnsupported, icrc: 3},
		{name: "TCP", data: over4(6, make([]byte, 12), []byte{0x50, 0x18}, 0, 0, 0, "GET / HTTP/1.1\r\n"), layers: "Ethernet IPv4 TCP", err: dissector.ErrNotRDMA, icrc: 3},
		{name: "TCP to port 4791", data: over4(6, 9, 4791, make([]byte, 8), []byte{0x50, 0x18}, 0, 0, 0, framed), layers: "Ethernet IPv4 TCP", err: dissector.ErrNotRDMA, icrc: 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			meta := metaOf(c.data)
			if c.link != 0 || strings.HasPrefix(c.name, "null") {
				meta.LinkType = c.link
			}
			var p dissector.Packet
			if err := dissector.Decode(c.data, meta, &p); !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v: %+v", err, c.err, p.Fault)
			}
			checkInvariants(t, &p, c.err)
			var names []string
			for _, l := range layersOf(&p) {
				names = append(names, l.Type.String())
				if l.Type == dissector.LayerBTH {
					break
				}
			}
			if got := strings.Join(names, " "); got != c.layers {
				t.Errorf("layers %q, want %q", got, c.layers)
			}
			if p.Tunnel.Type != c.tunnel || p.Tunnel.Depth != c.depth {
				t.Errorf("tunnel %v of depth %d, want %v of %d", p.Tunnel.Type, p.Tunnel.Depth, c.tunnel, c.depth)
			}
			if got := dissector.VerifyICRC(&p); got != c.icrc {
				t.Errorf("ICRC state %d, want %d", got, c.icrc)
			}
			if rdma := strings.HasSuffix(c.layers, "BTH"); p.IsRDMA() != rdma || rdma != (p.BTH.PSN == 0x123456) {
				t.Errorf("RDMA %t, PSN %#x", p.IsRDMA(), p.BTH.PSN)
			}
			for n := range c.data { // cut everywhere
				err := dissector.Decode(c.data[:n], meta, &p)
				checkInvariants(t, &p, err)
			}
		})
	}
}

func roceV1(f build.Frame) build.Frame {
	f.RoCEv1 = true
	return f
}

func TestNativeInfiniBandHasItsLocalRoute(t *testing.T) {
	data := erfRecord(21, 0, native(t, false))
	var p dissector.Packet
	if err := dissector.Decode(data, dissector.Meta{LinkType: dissector.LinkTypeERF}, &p); err != nil {
		t.Fatal(err)
	}
	if p.LRH != route || p.Protocol != dissector.ProtocolInfiniBand || p.Network.Version != 0 {
		t.Errorf("%+v, protocol %d, IP version %d", p.LRH, p.Protocol, p.Network.Version)
	}
	if last := p.Layers[p.LayerCount-1]; last.Type != dissector.LayerTrailer || last.Length != 2 {
		t.Errorf("last layer %+v, want the variant CRC", last)
	}
}

func TestUDManagementIsNamed(t *testing.T) {
	for qp, want := range map[uint32]dissector.LayerType{0: dissector.LayerMAD, 1: dissector.LayerMAD, 2: dissector.LayerPayload} {
		f := dataFrame(infiniband.UDSendOnly, 256)
		f.BTH.DestinationQP = qp
		data := mustBuild(t, f)
		var p dissector.Packet
		if err := dissector.Decode(data, metaOf(data), &p); err != nil {
			t.Fatal(err)
		}
		if got := p.Layers[5].Type; got != want {
			t.Errorf("QP %d: %v, want %v", qp, got, want)
		}
	}
	// A connection may have QP 1 as its number in the code space of another service (ConnectX DC does).
	f := dataFrame(infiniband.RCSendOnly, 256)
	f.BTH.DestinationQP = 1
	data := mustBuild(t, f)
	var p dissector.Packet
	if err := dissector.Decode(data, metaOf(data), &p); err != nil || p.Layers[4].Type != dissector.LayerPayload {
		t.Errorf("%v, %v", err, p.Layers[4].Type)
	}
}
