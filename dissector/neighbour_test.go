package dissector_test

import (
	"errors"
	"testing"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

// TestNeighboursAreNeverCountedAsRoCE has the protocols that a capture of RoCE may be full of and that are none, and
// what only looks like one of them. IsRDMA is what statistics count by.
func TestNeighboursAreNeverCountedAsRoCE(t *testing.T) {
	f := dataFrame(infiniband.RCSendOnly, 40)
	mrc := f
	mrc.BTH.Opcode = 0xc5
	spoiled := mrc
	spoiled.ICRCFlip = 1
	oddKey := mrc
	oddKey.BTH.PartitionKey, oddKey.SourcePort, oddKey.ICRCFlip = 0x8180, 53, 1
	legacy := mrc
	legacy.RoCEv1 = true
	zero := f
	zero.BTH.Opcode = 0x80
	key := func(text string) []byte {
		tcp := cat(50000, 3260, make([]byte, 8), []byte{0x50, 0x18}, make([]byte, 6), text)
		return overEthernet(0x0800, build.IP{Source: ipA, Destination: ipB}.AppendIP(nil, 6, tcp))
	}
	outer := build.IP{Source: ipA, Destination: ipB}
	inside := func(data []byte) []byte { return overEthernet(0x0800, build.VXLAN(nil, outer, 9, 9, data)) }
	for _, c := range []struct {
		name     string
		data     []byte
		protocol dissector.Protocol
		reason   dissector.Reason
		err      error
		rdma     bool
	}{
		{"MRC on RoCE's port", mustBuild(t, mrc), dissector.ProtocolMRC, dissector.ReasonMRC, dissector.ErrUnsupported, false},
		{"MRC on RoCE's port, with an ICRC of another rule", mustBuild(t, spoiled), dissector.ProtocolMRC, dissector.ReasonMRC, dissector.ErrUnsupported, false},
		{"MRC over IPv6", mustBuild(t, six(mrc)), dissector.ProtocolMRC, dissector.ReasonMRC, dissector.ErrUnsupported, false},
		{"MRC in VXLAN", inside(mustBuild(t, mrc)), dissector.ProtocolMRC, dissector.ReasonMRC, dissector.ErrUnsupported, false},
		{"MRC on its own port", datagram(50000, 4971, make([]byte, 40)), dissector.ProtocolMRC, dissector.ReasonMRC, dissector.ErrUnsupported, false},
		{"UET in VXLAN", inside(datagram(50000, 4793, make([]byte, 40))), dissector.ProtocolUET, dissector.ReasonUET, dissector.ErrUnsupported, false},
		{"veRoCE", datagram(50000, 4794, make([]byte, 40)), dissector.ProtocolVeRoCE, dissector.ReasonVeRoCE, dissector.ErrUnsupported, false},
		{"iWARP request", key("MPA ID Req Frame"), dissector.ProtocolIWARP, dissector.ReasonIWARP, dissector.ErrUnsupported, false},
		{"iWARP reply", key("MPA ID Rep Frame"), dissector.ProtocolIWARP, dissector.ReasonIWARP, dissector.ErrUnsupported, false},
		{"an answer of a name server to port 4791", mustBuild(t, oddKey), dissector.ProtocolOther, dissector.ReasonNotRoCE, dissector.ErrNotRDMA, false},
		{"a manufacturer's opcode in RoCEv1", mustBuild(t, legacy), dissector.ProtocolRoCEv1, dissector.ReasonOpcode, dissector.ErrUnsupported, true},
		{"0x80, which is no CNP", mustBuild(t, zero), dissector.ProtocolRoCEv2, dissector.ReasonOpcode, dissector.ErrUnsupported, true},
	} {
		var p dissector.Packet
		err := dissector.Decode(c.data, metaOf(c.data), &p)
		if !errors.Is(err, c.err) || p.Protocol != c.protocol || p.Fault.Reason != c.reason || p.IsRDMA() != c.rdma {
			t.Errorf("%s: %v, protocol %v, %v, RDMA %t", c.name, err, p.Protocol, p.Fault.Reason, p.IsRDMA())
		}
	}
}

// TestMirrorsSayWhatTheyKnow reads what ERSPAN III says of a copy, and what ERSPAN II can say, also through a tunnel
// that was inside the copied frame.
func TestMirrorsSayWhatTheyKnow(t *testing.T) {
	f := dataFrame(infiniband.RCSendOnly, 8)
	f.NoPadding = true
	plain := mustBuild(t, f)
	outer := build.IP{Source: ipA, Destination: ipB}
	nested := overEthernet(0x0800, build.VXLAN(nil, outer, 9, 5001, plain))
	gre := func(proto int, header []byte, frame []byte) []byte {
		return overEthernet(0x0800, outer.AppendIP(nil, 47, cat(0x1000, proto, 0, 1, header, frame)))
	}
	const (
		session  = 0x3ff
		truncate = 0x400
		egress   = 0x8
	)
	three := func(flags, last int, frame []byte) []byte {
		return gre(0x22eb, cat(0x2064, flags|session, 0xdead, 0xbeef, 7, last), frame)
	}
	two := func(flags int, frame []byte) []byte { return gre(0x88be, cat(0x1064, flags|session, 0, 9), frame) }
	for _, c := range []struct {
		name string
		data []byte
		want dissector.Tunnel
	}{
		{"III, ingress", three(0, 0, plain), dissector.Tunnel{Type: dissector.LayerERSPAN3, Depth: 1, ID: session, OuterID: 100, Timestamp: 0xdeadbeef}},
		{"III, egress", three(0, egress, plain), dissector.Tunnel{Type: dissector.LayerERSPAN3, Depth: 1, ID: session, OuterID: 100, Timestamp: 0xdeadbeef, Egress: true}},
		{"III, truncated", three(truncate, egress, plain), dissector.Tunnel{Type: dissector.LayerERSPAN3, Depth: 1, ID: session, OuterID: 100, Timestamp: 0xdeadbeef, Egress: true, Truncated: true}},
		{"III of VXLAN", three(truncate, egress, nested), dissector.Tunnel{Type: dissector.LayerVXLAN, Depth: 2, ID: 5001, Timestamp: 0xdeadbeef, Egress: true, Truncated: true}},
		{"II", two(0, plain), dissector.Tunnel{Type: dissector.LayerERSPAN2, Depth: 1, ID: session, OuterID: 100}},
		{"II, truncated, in III", three(0, egress, two(truncate, plain)), dissector.Tunnel{Type: dissector.LayerERSPAN2, Depth: 2, ID: session, OuterID: 100, Truncated: true}},
	} {
		var p dissector.Packet
		if err := dissector.Decode(c.data, metaOf(c.data), &p); err != nil {
			t.Fatalf("%s: %v %v", c.name, err, p.Fault)
		}
		c.want.Mirror, c.want.Outer = true, p.Tunnel.Outer
		if p.Tunnel != c.want || p.Tunnel.Outer.Source != address("10.0.0.1") {
			t.Errorf("%s: %+v", c.name, p.Tunnel)
		}
		if got := dissector.VerifyICRC(&p); got != dissector.ICRCGood {
			t.Errorf("%s: ICRC state %d", c.name, got)
		}
		// A wrong ICRC accuses a sender only when nobody in between says that he changed the copy.
		spoiled := edited(c.data, func(b []byte) { b[len(b)-1] ^= 1 })
		want := dissector.ICRCBad
		if c.want.Truncated {
			want = dissector.ICRCUndetermined
		}
		if err := dissector.Decode(spoiled, metaOf(spoiled), &p); err != nil || dissector.VerifyICRC(&p) != want {
			t.Errorf("%s, spoiled: %v, ICRC state %d", c.name, err, dissector.VerifyICRC(&p))
		}
	}
}

// TestUDPChecksumIsOfTheInnermostPacket has packets of which the UDP header that was read is another's, or not all.
func TestUDPChecksumIsOfTheInnermostPacket(t *testing.T) {
	f := dataFrame(infiniband.RCSendOnly, 8)
	f.UDPChecksum = true
	right := mustBuild(t, f)
	outer := build.IP{Source: ipA, Destination: ipB}
	tcp := overEthernet(0x0800, outer.AppendIP(nil, 6, make([]byte, 40)))
	f.RoCEv1 = true
	legacy := mustBuild(t, f)
	for _, c := range []struct {
		name string
		data []byte
		want dissector.ChecksumState
	}{
		{"right in VXLAN", overEthernet(0x0800, build.VXLAN(nil, outer, 9, 9, right)), dissector.ChecksumRight},
		{"TCP in VXLAN", overEthernet(0x0800, build.VXLAN(nil, outer, 9, 9, tcp)), dissector.ChecksumNotCheckable},
		{"RoCEv1 in VXLAN", overEthernet(0x0800, build.VXLAN(nil, outer, 9, 9, legacy)), dissector.ChecksumNotCheckable},
		{"first fragment", edited(right, func(b []byte) { b[20] = 0x20 }), dissector.ChecksumNotCheckable},
	} {
		var p dissector.Packet
		err := dissector.Decode(c.data, metaOf(c.data), &p)
		if got := dissector.UDPChecksum(&p); got != c.want {
			t.Errorf("%s: %v, state %d, want %d", c.name, err, got, c.want)
		}
	}
}
