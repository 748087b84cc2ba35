package dissector_test

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

var ipA, ipB = netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")

func overEthernet(etherType uint16, packet []byte) []byte {
	return build.Ethernet(nil, macB, macA, etherType, packet)
}

func datagram(sourcePort, destinationPort uint16, payload []byte) []byte {
	return overEthernet(0x0800, build.IP{Source: ipA, Destination: ipB}.AppendUDP(nil, sourcePort, destinationPort, payload))
}

func edited(data []byte, edit func([]byte)) []byte {
	data = slices.Clone(data)
	edit(data)
	return data
}

// TestDecodeTellsItsFourErrorsApart has one frame for each way not to be a RoCE packet.
func TestDecodeTellsItsFourErrorsApart(t *testing.T) {
	write := dataFrame(infiniband.RCWriteOnly, 8)
	good := mustBuild(t, write)
	plain := write
	plain.NoEthernet, plain.NoPadding = true, true
	packet := mustBuild(t, plain)
	nested := good
	for range dissector.MaxDepth + 1 {
		nested = overEthernet(0x0800, build.VXLAN(nil, build.IP{Source: ipA, Destination: ipB}, 5, 9, nested))
	}
	tags := []byte{}
	for range dissector.MaxLayers + 1 {
		tags = append(tags, 0x81, 0x00, 0x00, 0x01)
	}
	noTVer := write
	noTVer.BTH.TransportVersion = 3
	unplausible := write
	unplausible.BTH.PartitionKey = 0x8180
	unplausible.SourcePort = 53
	badUnplausible := unplausible
	badUnplausible.ICRCFlip = 1
	badVersion := noTVer
	badVersion.ICRCFlip = 1
	wrongPad := write
	wrongPad.KeepPadCount, wrongPad.Payload = true, nil
	wrongPad.BTH.PadCount = 3
	short := write
	short.BTH.Opcode, short.Payload = infiniband.RCSendOnly, nil
	tooShort := mustBuild(t, short)
	resealed := edited(tooShort, func(b []byte) { // a WRITE without its RETH, sent with a right ICRC
		b[42] = uint8(infiniband.RCWriteOnly)
		icrc, _ := dissector.ComputeICRC(dissector.ProtocolRoCEv2, b[14:54])
		binary.LittleEndian.PutUint32(b[54:], icrc)
	})

	for _, c := range []struct {
		name     string
		data     []byte
		link     dissector.LinkType
		original int // 0: as captured
		err      error
		protocol dissector.Protocol
		layer    dissector.LayerType
		reason   dissector.Reason
		offset   uint16
		has      infiniband.HeaderSet
	}{
		{name: "frame cut in Ethernet", data: good[:13], original: 82, err: dissector.ErrTruncated, layer: dissector.LayerEthernet, reason: dissector.ReasonCut},
		{name: "frame shorter than Ethernet", data: good[:13], err: dissector.ErrMalformed, layer: dissector.LayerEthernet, reason: dissector.ReasonTooShort},
		{name: "cut in the RETH", data: good[:60], original: 82, err: dissector.ErrTruncated, protocol: dissector.ProtocolRoCEv2, layer: dissector.LayerRETH, reason: dissector.ReasonCut, offset: 54, has: infiniband.HasBTH},
		{name: "link type", data: good, link: 147, err: dissector.ErrUnsupported, reason: dissector.ReasonLinkType},
		{name: "ethertype", data: overEthernet(0x0806, make([]byte, 28)), err: dissector.ErrNotRDMA, layer: dissector.LayerUnknown, reason: dissector.ReasonEtherType, offset: 14},
		{name: "MACsec", data: overEthernet(0x88e5, make([]byte, 46)), err: dissector.ErrUnsupported, layer: dissector.LayerUnknown, reason: dissector.ReasonEncrypted, offset: 14},
		{name: "IP version", data: overEthernet(0x86dd, packet), err: dissector.ErrMalformed, layer: dissector.LayerIPv6, reason: dissector.ReasonIPVersion, offset: 14},
		{name: "IHL", data: edited(good, func(b []byte) { b[14] = 0x44 }), err: dissector.ErrMalformed, layer: dissector.LayerIPv4, reason: dissector.ReasonIPHeaderLength, offset: 14},
		{name: "total length", data: edited(good, func(b []byte) { b[16], b[17] = 0, 19 }), err: dissector.ErrMalformed, layer: dissector.LayerIPv4, reason: dissector.ReasonIPTotalLength, offset: 14},
		{name: "UDP longer than IP", data: edited(good, func(b []byte) { b[39]++ }), err: dissector.ErrMalformed, layer: dissector.LayerUDP, reason: dissector.ReasonUDPLength, offset: 34},
		{name: "UDP length 7", data: edited(good, func(b []byte) { b[38], b[39] = 0, 7 }), err: dissector.ErrMalformed, layer: dissector.LayerUDP, reason: dissector.ReasonUDPLength, offset: 34},
		{name: "later fragment", data: edited(good, func(b []byte) { b[20], b[21] = 0, 5 }), err: dissector.ErrUnsupported, layer: dissector.LayerFragment, reason: dissector.ReasonFragment, offset: 34},
		{name: "first fragment", data: edited(good, func(b []byte) { b[20], b[21] = 0x20, 0 }), protocol: dissector.ProtocolRoCEv2, has: infiniband.HasBTH | infiniband.HasRETH},
		{name: "transport version, right ICRC", data: mustBuild(t, noTVer), err: dissector.ErrUnsupported, protocol: dissector.ProtocolRoCEv2, layer: dissector.LayerBTH, reason: dissector.ReasonTransportHeader, offset: 42, has: infiniband.HasBTH},
		{name: "transport version, wrong ICRC", data: mustBuild(t, badVersion), err: dissector.ErrNotRDMA, layer: dissector.LayerUDP, reason: dissector.ReasonNotRoCE, offset: 42},
		{name: "odd P_Key from a well-known port, right ICRC", data: mustBuild(t, unplausible), protocol: dissector.ProtocolRoCEv2, has: infiniband.HasBTH | infiniband.HasRETH},
		{name: "odd P_Key from a well-known port, wrong ICRC", data: mustBuild(t, badUnplausible), err: dissector.ErrNotRDMA, layer: dissector.LayerUDP, reason: dissector.ReasonNotRoCE, offset: 42},
		{name: "odd P_Key from a well-known port, cut", data: mustBuild(t, unplausible)[:74], original: 82, err: dissector.ErrNotRDMA, layer: dissector.LayerUDP, reason: dissector.ReasonNotRoCE, offset: 42},
		{name: "pad", data: mustBuild(t, wrongPad), err: dissector.ErrMalformed, protocol: dissector.ProtocolRoCEv2, layer: dissector.LayerBTH, reason: dissector.ReasonPad, offset: 42, has: infiniband.HasBTH},
		{name: "too short for its headers, right ICRC", data: resealed, err: dissector.ErrMalformed, protocol: dissector.ProtocolRoCEv2, layer: dissector.LayerBTH, reason: dissector.ReasonTooShort, offset: 54, has: infiniband.HasBTH},
		{name: "too short for its headers, wrong ICRC", data: edited(resealed, func(b []byte) { b[57] ^= 1 }), err: dissector.ErrNotRDMA, layer: dissector.LayerUDP, reason: dissector.ReasonNotRoCE, offset: 42},
		{name: "too short for a BTH", data: datagram(50000, 4791, make([]byte, 15)), err: dissector.ErrNotRDMA, layer: dissector.LayerUDP, reason: dissector.ReasonNotRoCE, offset: 42},
		{name: "other port", data: datagram(4791, 53, make([]byte, 40)), err: dissector.ErrNotRDMA, layer: dissector.LayerUDP, reason: dissector.ReasonUDPPort, offset: 42},
		{name: "UET", data: datagram(50000, 4793, make([]byte, 40)), err: dissector.ErrUnsupported, protocol: dissector.ProtocolUET, layer: dissector.LayerPayload, reason: dissector.ReasonUET, offset: 42},
		{name: "veRoCE", data: datagram(50000, 4794, make([]byte, 40)), err: dissector.ErrUnsupported, protocol: dissector.ProtocolVeRoCE, layer: dissector.LayerPayload, reason: dissector.ReasonVeRoCE, offset: 42},
		{name: "MRC", data: datagram(50000, 4971, make([]byte, 40)), err: dissector.ErrUnsupported, protocol: dissector.ProtocolMRC, layer: dissector.LayerPayload, reason: dissector.ReasonMRC, offset: 42},
		{name: "answer to a port that is UET's by chance", data: datagram(53, 4793, make([]byte, 40)), err: dissector.ErrNotRDMA, layer: dissector.LayerUDP, reason: dissector.ReasonUDPPort, offset: 42},
		{name: "tunnels", data: nested, err: dissector.ErrUnsupported, layer: dissector.LayerVXLAN, reason: dissector.ReasonTooManyTunnels, offset: 250},
		{name: "tags", data: overEthernet(0x8100, tags[2:]), err: dissector.ErrUnsupported, layer: dissector.LayerVLAN, reason: dissector.ReasonTooManyLayers, offset: 106},
		{name: "MPLS without a bottom", data: overEthernet(0x8847, []byte{0, 1, 0, 64}), err: dissector.ErrMalformed, layer: dissector.LayerMPLS, reason: dissector.ReasonMPLSStack, offset: 18},
		{name: "GRH version", data: overEthernet(0x8915, make([]byte, 60)), err: dissector.ErrMalformed, layer: dissector.LayerGRH, reason: dissector.ReasonGRHVersion, offset: 14},
		{name: "ESP", data: overEthernet(0x0800, build.IP{Source: ipA, Destination: ipB}.AppendIP(nil, 50, make([]byte, 40))), err: dissector.ErrUnsupported, layer: dissector.LayerUnknown, reason: dissector.ReasonEncrypted, offset: 34},
	} {
		t.Run(c.name, func(t *testing.T) {
			meta := metaOf(c.data)
			if c.link != 0 {
				meta.LinkType = c.link
			}
			if c.original != 0 {
				meta.OriginalLength = uint32(c.original)
			}
			var p dissector.Packet
			if err := dissector.Decode(c.data, meta, &p); !errors.Is(err, c.err) {
				t.Errorf("error %v, want %v", err, c.err)
			}
			if want := (dissector.Fault{Layer: c.layer, Reason: c.reason, Offset: c.offset}); p.Fault != want {
				t.Errorf("fault %+v, want %+v", p.Fault, want)
			}
			if p.Protocol != c.protocol || p.Has != c.has {
				t.Errorf("protocol %d, has %v; want %d, %v", p.Protocol, p.Has, c.protocol, c.has)
			}
		})
	}
}

// TestNegativeCapturesHoldNoRoCE reads frames to or from port 4791 that are something else.
func TestNegativeCapturesHoldNoRoCE(t *testing.T) {
	for _, file := range []string{"neg-dns-sport4791.pcap", "neg-short-4791.pcap"} {
		for i, f := range readCapture(t, filepath.Join("testdata", file)) {
			var p dissector.Packet
			if err := dissector.Decode(f.data, f.meta, &p); !errors.Is(err, dissector.ErrNotRDMA) || p.IsRDMA() {
				t.Errorf("%s frame %d: %v, RDMA %t", file, i+1, err, p.IsRDMA())
			}
		}
	}
}

func TestPauseFrames(t *testing.T) {
	pfc := [8]uint16{3: 0xffff, 4: 200}
	for _, c := range []struct {
		name string
		data []byte
		want dissector.Pause
	}{
		{"802.3x", build.Pause(nil, macA, 0x1234), dissector.Pause{Opcode: 0x0001, Quanta: [8]uint16{0x1234}}},
		{"PFC", build.PFC(nil, macA, 0x18, pfc), dissector.Pause{Opcode: 0x0101, ClassEnable: 0x18, Quanta: pfc}},
	} {
		var p dissector.Packet
		if err := dissector.Decode(c.data, metaOf(c.data), &p); err != nil {
			t.Fatalf("%s: %v %v", c.name, err, p.Fault)
		}
		if diff := cmp.Diff(c.want, p.Pause); diff != "" || p.Protocol != dissector.ProtocolPause || p.IsRDMA() {
			t.Errorf("%s: protocol %d %s", c.name, p.Protocol, diff)
		}
		if last := p.Layers[p.LayerCount-1]; last.Type != dissector.LayerTrailer || last.End() != 60 {
			t.Errorf("%s: last layer %+v", c.name, last)
		}
	}

	want := []error{nil, nil, nil, nil, nil, nil, nil, dissector.ErrMalformed, dissector.ErrUnsupported}
	for i, f := range readCapture(t, filepath.Join("testdata", "pfc.pcap")) {
		var p dissector.Packet
		if err := dissector.Decode(f.data, f.meta, &p); !errors.Is(err, want[i]) {
			t.Errorf("pfc.pcap frame %d: %v, want %v", i+1, err, want[i])
		}
	}
}

func TestUDPChecksum(t *testing.T) {
	four := dataFrame(infiniband.RCSendOnly, 5)
	six := four
	six.Source, six.Destination = netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	for _, f := range []build.Frame{four, six} {
		absent := mustBuild(t, f)
		f.UDPChecksum = true
		right := mustBuild(t, f)
		f.RoCEv1 = true
		for _, c := range []struct {
			name string
			data []byte
			want dissector.ChecksumState
		}{
			{"absent", absent, dissector.ChecksumAbsent},
			{"right", right, dissector.ChecksumRight},
			{"wrong", edited(right, func(b []byte) { b[len(b)-1] ^= 1 }), dissector.ChecksumWrong},
			{"cut", right[:len(right)-1], dissector.ChecksumNotCheckable},
			{"no UDP", mustBuild(t, f), dissector.ChecksumNotCheckable},
		} {
			var p dissector.Packet
			meta := metaOf(right)
			if err := dissector.Decode(c.data, meta, &p); err != nil {
				t.Fatalf("%s: %v %v", c.name, err, p.Fault)
			}
			if got := dissector.UDPChecksum(&p); got != c.want {
				t.Errorf("%s over %v: %d, want %d", c.name, f.Source, got, c.want)
			}
		}
	}
}

// TestLengthsOfIPDecide has frames whose length says something else than their IP header.
func TestLengthsOfIPDecide(t *testing.T) {
	f := dataFrame(infiniband.RCSendOnly, 3)
	f.NoPadding = true
	data := mustBuild(t, f)
	whole := len(data)
	fcs := append(slices.Clone(data), 1, 2, 3, 4)
	padded := append(slices.Clone(data), make([]byte, 20)...)
	for _, c := range []struct {
		name string
		data []byte
		meta dissector.Meta
		last dissector.Layer
	}{
		{"padding", padded, metaOf(padded), dissector.Layer{Type: dissector.LayerTrailer, Offset: uint16(whole), Length: 20}},
		{"captured more than the wire had", padded, metaOf(data), dissector.Layer{Type: dissector.LayerTrailer, Offset: uint16(whole), Length: 20}},
		{"FCS", fcs, dissector.Meta{LinkType: 1, OriginalLength: uint32(len(fcs)), FCSLength: 4}, dissector.Layer{Type: dissector.LayerFCS, Offset: uint16(whole), Length: 4}},
		{"FCS cut away", data, dissector.Meta{LinkType: 1, OriginalLength: uint32(len(fcs)), FCSLength: 4}, dissector.Layer{Type: dissector.LayerICRC, Offset: uint16(whole - 4), Length: 4}},
		{"wire length unknown", data, dissector.Meta{LinkType: 1}, dissector.Layer{Type: dissector.LayerICRC, Offset: uint16(whole - 4), Length: 4}},
		{"wire length absurd", data, dissector.Meta{LinkType: 1, OriginalLength: 1 << 31}, dissector.Layer{Type: dissector.LayerICRC, Offset: uint16(whole - 4), Length: 4}},
	} {
		var p dissector.Packet
		if err := dissector.Decode(c.data, c.meta, &p); err != nil {
			t.Fatalf("%s: %v %v", c.name, err, p.Fault)
		}
		if string(p.Payload()) != string(f.Payload) || p.PayloadLength != 3 {
			t.Errorf("%s: payload %x of %d", c.name, p.Payload(), p.PayloadLength)
		}
		if got := p.Layers[p.LayerCount-1]; got != c.last {
			t.Errorf("%s: last layer %+v, want %+v", c.name, got, c.last)
		}
		if got := dissector.VerifyICRC(&p); got != dissector.ICRCGood {
			t.Errorf("%s: ICRC state %d", c.name, got)
		}
	}

	// The switch left the ICRC away from its copy; the FCS of the outer frame stands in its place.
	bare := whole - 4
	outer := build.IP{Source: ipA, Destination: ipB}
	without := append(overEthernet(0x0800, build.ERSPAN2(nil, outer, 1, 7, 100, data[:bare])), 1, 2, 3, 4)
	var q dissector.Packet
	if err := dissector.Decode(without, metaOf(without), &q); err != nil {
		t.Fatalf("copy without ICRC: %v %v", err, q.Fault)
	}
	if got := dissector.VerifyICRC(&q); got != dissector.ICRCUndetermined || string(q.Payload()) != string(f.Payload) {
		t.Errorf("copy without ICRC: state %d, payload %x", got, q.Payload())
	}

	// A switch cut the mirrored copy, so that the inner IP header says more than there is.
	long := mustBuild(t, dataFrame(infiniband.RCWriteMiddle, 1024))[:128]
	copied := overEthernet(0x0800, build.ERSPAN2(nil, build.IP{Source: ipA, Destination: ipB}, 1, 7, 100, long))
	copied = append(copied, 1, 2, 3, 4) // what follows the outer packet is not the inner one's
	var p dissector.Packet
	if err := dissector.Decode(copied, metaOf(copied), &p); err != nil {
		t.Fatalf("cut copy: %v %v", err, p.Fault)
	}
	if p.PayloadLength != 1024 || len(p.Payload()) != 128-54 || dissector.VerifyICRC(&p) != dissector.ICRCUndetermined {
		t.Errorf("cut copy: payload %d of %d, ICRC state %d", len(p.Payload()), p.PayloadLength, dissector.VerifyICRC(&p))
	}
}

// six is the frame over IPv6.
func six(f build.Frame) build.Frame {
	f.Source, f.Destination = netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	return f
}
