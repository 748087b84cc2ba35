package dissector_test

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

// described is the description of a packet, made of nothing but what Decode learnt of it.
func described(p *dissector.Packet) build.Frame {
	return build.Frame{
		DestinationMAC: p.Ethernet.Destination, SourceMAC: p.Ethernet.Source, VLANs: p.Ethernet.VLAN[:p.Ethernet.VLANCount], NoPadding: true,
		RoCEv1: p.Protocol == dissector.ProtocolRoCEv1, Source: p.Network.Source.Addr(), Destination: p.Network.Destination.Addr(),
		DSCP: p.Network.DSCP, ECN: p.Network.ECN, TTL: p.Network.TTL, ID: p.Network.ID, FlowLabel: p.Network.FlowLabel,
		SourcePort: p.UDP.SourcePort, UDPChecksum: p.UDP.Checksum != 0,
		BTH: p.BTH, RDETH: p.RDETH, DETH: p.DETH, XRCETH: p.XRCETH, RETH: p.RETH, AtomicETH: p.AtomicETH, AETH: p.AETH,
		AtomicAckETH: p.AtomicAckETH, ImmDt: p.ImmDt, IETH: p.IETH, FETH: p.FETH, Payload: p.Payload(),
	}
}

// outer is the description of a header around a tunnel.
func outer(h *dissector.IP) build.IP {
	return build.IP{
		Source: h.Source.Addr(), Destination: h.Destination.Addr(), DSCP: h.DSCP, ECN: h.ECN, TTL: h.TTL, ID: h.ID, FlowLabel: h.FlowLabel,
	}
}

// TestFramesRoundTrip decodes frames of every opcode with random fields and builds them again from the packet: the
// bytes must be the same, so that no field of a header that carries RoCE is lost or taken for another.
func TestFramesRoundTrip(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	bits := func(n int) uint32 { return random.Uint32() >> (32 - n) }
	flag := func() bool { return bits(1) == 1 }
	var p dissector.Packet
	for i := range 256 * 24 {
		opcode := infiniband.Opcode(i)
		if _, known := opcode.Headers(); !known {
			continue
		}
		f := build.Frame{
			NoPadding: true, DestinationMAC: [6]byte{2, byte(bits(8)), byte(bits(8)), 5: 1}, SourceMAC: [6]byte{2, 1: byte(bits(8)), 5: 2},
			Source: ipA, Destination: ipB, DSCP: uint8(bits(6)), ECN: dissector.ECN(bits(2)), TTL: 1 + uint8(bits(7)), ID: uint16(bits(16)),
			SourcePort: 49152 + uint16(bits(14)), UDPChecksum: flag(),
			BTH: infiniband.BTH{
				Opcode: opcode, SolicitedEvent: flag(), MigrationRequest: flag(), PartitionKey: 0x8001 | uint16(bits(15)),
				FECN: flag(), BECN: flag(), Reserved6: uint8(bits(6)), DestinationQP: bits(24), AckRequest: flag(), PSN: bits(24),
			},
			RDETH: infiniband.RDETH{EEContext: bits(24)}, DETH: infiniband.DETH{QueueKey: bits(32), SourceQP: bits(24)},
			XRCETH:    infiniband.XRCETH{SRQ: bits(24)},
			RETH:      infiniband.RETH{VirtualAddress: random.Uint64(), RemoteKey: bits(32), DMALength: bits(32)},
			AtomicETH: infiniband.AtomicETH{VirtualAddress: random.Uint64(), RemoteKey: bits(32), SwapOrAdd: random.Uint64(), Compare: random.Uint64()},
			AETH:      infiniband.AETH{Syndrome: infiniband.Syndrome(bits(8)), MSN: bits(24)}, AtomicAckETH: infiniband.AtomicAckETH{OriginalData: random.Uint64()},
			ImmDt: infiniband.ImmDt{Data: bits(32)}, IETH: infiniband.IETH{RemoteKey: bits(32)},
			FETH: infiniband.FETH{Selectivity: uint8(bits(2)), Placement: uint8(bits(4))},
		}
		if opcode.CarriesPayload() {
			f.Payload = bytes.Repeat([]byte{byte(i)}, int(bits(7)))
		}
		switch i / 256 % 3 {
		case 1:
			f.ID, f.FlowLabel = 0, bits(20)
			f = six(f)
		case 2:
			f.ID, f.FlowLabel, f.SourcePort, f.UDPChecksum, f.RoCEv1 = 0, bits(20), 0, false, true
		}
		for range i / 256 / 3 % 3 {
			f.VLANs = append(f.VLANs, uint16(bits(16)))
		}
		data := mustBuild(t, f)
		if err := dissector.Decode(data, metaOf(data), &p); err != nil {
			t.Fatalf("%v: %v %v", opcode, err, p.Fault)
		}
		again := described(&p)
		if got := mustBuild(t, again); !bytes.Equal(got, data) {
			t.Fatalf("%v:\n%x\n%x", opcode, data, got)
		}
	}
}

// TestTunnelsRoundTrip builds the tunnels around a packet again from what Decode learnt of them. The outer MAC addresses
// and UDP source port are no part of a Packet, whose Ethernet and UDP are the innermost.
func TestTunnelsRoundTrip(t *testing.T) {
	f := dataFrame(infiniband.RCWriteOnly, 33)
	f.NoPadding = true
	for _, h := range []build.IP{
		{Source: ipA, Destination: ipB, DSCP: 46, ECN: dissector.ECNCE, TTL: 9, ID: 0x1234},
		{Source: six(f).Source, Destination: six(f).Destination, DSCP: 10, ECN: dissector.ECNECT1, TTL: 250, FlowLabel: 0xabcde},
	} {
		etherType := uint16(0x0800)
		if h.Source.Is6() {
			etherType = 0x86dd
		}
		for name, wrap := range map[string]func(h build.IP, tunnel *dissector.Tunnel, frame []byte) []byte{
			"VXLAN":  func(h build.IP, t *dissector.Tunnel, b []byte) []byte { return build.VXLAN(nil, h, 9, t.ID, b) },
			"GENEVE": func(h build.IP, t *dissector.Tunnel, b []byte) []byte { return build.GENEVE(nil, h, 9, t.ID, nil, b) },
			"GRE":    func(h build.IP, t *dissector.Tunnel, b []byte) []byte { return build.GRE(nil, h, t.ID, b) },
			"ERSPAN II": func(h build.IP, t *dissector.Tunnel, b []byte) []byte {
				return build.ERSPAN2(nil, h, 5, uint16(t.ID), uint16(t.OuterID), b)
			},
			"ERSPAN III": func(h build.IP, t *dissector.Tunnel, b []byte) []byte {
				e := build.ERSPAN3{VLAN: uint16(t.OuterID), Session: uint16(t.ID), Timestamp: t.Timestamp, Truncated: t.Truncated, Egress: t.Egress}
				return e.Wrap(nil, h, 5, b)
			},
			"IP": func(h build.IP, _ *dissector.Tunnel, b []byte) []byte { return h.AppendIP(nil, 4, b[14:]) },
		} {
			sent := dissector.Tunnel{ID: 0x2a5, OuterID: 0x123, Timestamp: 0xdeadbeef, Truncated: true, Egress: true}
			data := overEthernet(etherType, wrap(h, &sent, mustBuild(t, f)))
			var p dissector.Packet
			if err := dissector.Decode(data, metaOf(data), &p); err != nil {
				t.Fatalf("%s: %v %v", name, err, p.Fault)
			}
			inner := described(&p)
			got := overEthernet(etherType, wrap(outer(&p.Tunnel.Outer), &p.Tunnel, mustBuild(t, inner)))
			if !bytes.Equal(got, data) {
				t.Errorf("%s:\n%x\n%x", name, data, got)
			}
		}
	}
}

func TestPauseFramesRoundTrip(t *testing.T) {
	pfc := build.PFC(nil, macA, 0xa5, [8]uint16{1, 2, 3, 4, 5, 6, 7, 0xffff})
	var p dissector.Packet
	if err := dissector.Decode(pfc, metaOf(pfc), &p); err != nil {
		t.Fatal(err)
	}
	if got := build.PFC(nil, p.Ethernet.Source, p.Pause.ClassEnable, p.Pause.Quanta); !bytes.Equal(got, pfc) {
		t.Errorf("%x, want %x", got, pfc)
	}
	pause := build.Pause(nil, macB, 0x1234)
	if err := dissector.Decode(pause, metaOf(pause), &p); err != nil {
		t.Fatal(err)
	}
	if got := build.Pause(nil, p.Ethernet.Source, p.Pause.Quanta[0]); !bytes.Equal(got, pause) {
		t.Errorf("%x, want %x", got, pause)
	}
}

// TestSegmentsRoundTrip builds what SRv6 carries again, and the header around it; the segments themselves are no part of
// a Packet, and package tree's tests hold them.
func TestSegmentsRoundTrip(t *testing.T) {
	f := six(dataFrame(infiniband.RCReadRequest, 0))
	h := build.SegmentRouting{SegmentsLeft: 1, Tag: 7, Segments: []netip.Addr{f.Source, f.Destination}, TLVs: []byte{4, 6, 0, 0, 0, 0, 0, 0}}
	around := build.IP{Source: f.Destination, Destination: f.Source, DSCP: 3, ECN: dissector.ECNECT0, TTL: 8, FlowLabel: 5}
	f.NoPadding = true
	data := overEthernet(0x86dd, h.WrapEthernet(nil, around, mustBuild(t, f)))
	var p dissector.Packet
	if err := dissector.Decode(data, metaOf(data), &p); err != nil {
		t.Fatal(err, p.Fault)
	}
	inner := described(&p)
	if got := overEthernet(0x86dd, h.WrapEthernet(nil, outer(&p.Tunnel.Outer), mustBuild(t, inner))); !bytes.Equal(got, data) {
		t.Errorf("%x, want %x", got, data)
	}
}

// TestCookedFramesRoundTrip builds pseudo headers again from the address and the protocol that Decode keeps of them, and
// records of native InfiniBand from their local route.
func TestCookedFramesRoundTrip(t *testing.T) {
	f := dataFrame(infiniband.RCSendOnly, 9)
	f.NoEthernet = true
	packet := mustBuild(t, f)
	for link, cook := range map[dissector.LinkType]func(h build.SLL, b []byte) []byte{
		dissector.LinkTypeLinuxSLL: func(h build.SLL, b []byte) []byte { return h.AppendTo(nil, b) },
		dissector.LinkTypeSLL2:     func(h build.SLL, b []byte) []byte { return h.AppendVersion2(nil, b) },
	} {
		h := sllOf(0x0800, macA)
		data := cook(h, packet)
		meta := metaOf(data)
		meta.LinkType = link
		var p dissector.Packet
		if err := dissector.Decode(data, meta, &p); err != nil {
			t.Fatal(err, p.Fault)
		}
		again := described(&p)
		again.NoEthernet, again.VLANs = true, nil
		if got := cook(sllOf(p.Ethernet.EtherType, p.Ethernet.Source), mustBuild(t, again)); !bytes.Equal(got, data) {
			t.Errorf("%x, want %x", got, data)
		}
	}
	record := erfRecord(build.ERFInfiniBand, 1, native(t, true))
	var p dissector.Packet
	if err := dissector.Decode(record, dissector.Meta{LinkType: dissector.LinkTypeERF}, &p); err != nil {
		t.Fatal(err, p.Fault)
	}
	again := described(&p)
	again.RoCEv1, again.NoEthernet = true, true
	if got := erfRecord(build.ERFInfiniBand, 1, build.Native(nil, p.LRH, mustBuild(t, again), true, 0xeeee)); !bytes.Equal(got, record) {
		t.Errorf("%x, want %x", got, record)
	}
}

// sllOf is the pseudo header of a frame that came from an Ethernet address.
func sllOf(protocol uint16, source [6]byte) build.SLL {
	h := build.SLL{Hardware: 1, AddressLength: 6, Protocol: protocol, Interface: 3}
	copy(h.Address[:], source[:])
	return h
}
