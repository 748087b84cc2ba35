package tree_test

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/mad"
)

// generator makes frames from a seed: every opcode, in every tunnel, with headers of random values.
type generator struct {
	tb     testing.TB
	random *rand.Rand
}

// network is how the packet itself travels.
type network uint8

const (
	overIPv4 network = iota
	overIPv6
	overGRH // RoCEv1
	networks
)

// wrapping is what stands around the packet.
type wrapping uint8

const (
	bare wrapping = iota
	vlan
	qinq
	vxlan
	geneve
	gre
	erspan1
	erspan2
	erspan3
	mpls
	ipInIP
	segmentRouting
	vxlanInVXLAN
	wrappings
)

// frames makes n frames, which go through all combinations of opcode, network and wrapping in turn.
func (g *generator) frames(n int) [][]byte {
	all := make([][]byte, 0, n)
	for i := range n {
		opcode := infiniband.Opcode(i)
		combination := i / 256
		all = append(all, g.frame(opcode, network(combination%int(networks)), wrapping(combination/int(networks)%int(wrappings))))
	}
	return all
}

func (g *generator) bits(n int) uint32 { return g.random.Uint32() >> (32 - n) }

func (g *generator) one(in int) bool { return g.random.IntN(in) == 0 }

func (g *generator) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(g.random.Uint32())
	}
	return b
}

func (g *generator) mac() [6]byte {
	m := [6]byte(g.bytes(6))
	m[0] = m[0]&0xfc | 2
	return m
}

// addresses are of hosts, so that nothing about them is special.
func (g *generator) addresses(v6 bool) (source, destination netip.Addr) {
	if !v6 {
		return netip.AddrFrom4([4]byte{10, 1, byte(g.bits(8)), 1 + byte(g.bits(7))}),
			netip.AddrFrom4([4]byte{10, 2, byte(g.bits(8)), 1 + byte(g.bits(7))})
	}
	address := func(net byte) netip.Addr {
		a := [16]byte{0x20, 0x01, 0x0d, 0xb8, net}
		copy(a[8:], g.bytes(8))
		return netip.AddrFrom16(a)
	}
	return address(1), address(2)
}

// ip is an outer header.
func (g *generator) ip() build.IP {
	source, destination := g.addresses(g.one(3))
	return build.IP{
		Source: source, Destination: destination, DSCP: uint8(g.bits(6)), ECN: dissector.ECN(g.bits(2)), TTL: 2 + uint8(g.bits(7)),
		ID: uint16(g.bits(16)), FlowLabel: g.bits(20),
	}
}

func (g *generator) frame(opcode infiniband.Opcode, n network, w wrapping) []byte {
	if _, known := opcode.Headers(); !known && g.one(2) { // not so many of which nothing is known
		opcode = infiniband.UDSendOnly
	}
	f := g.packet(opcode, n)
	return g.wrap(&f, n, w)
}

// wrap makes a frame and puts it into a tunnel.
func (g *generator) wrap(f *build.Frame, n network, w wrapping) []byte {
	switch w {
	case vlan:
		f.VLANs = []uint16{uint16(g.bits(16))}
	case qinq:
		f.VLANs = []uint16{uint16(g.bits(16)), uint16(g.bits(16))}
	case segmentRouting:
		f.NoEthernet = n != overGRH
	case mpls, ipInIP:
		if n == overGRH { // which needs an Ethernet header
			w = gre
			break
		}
		f.NoEthernet = true
	default:
	}
	f.NoPadding = w > qinq
	inner, err := f.AppendTo(nil)
	require.NoError(g.tb, err)
	outer := g.ip()
	port := 49152 + uint16(g.bits(14))
	etherType := uint16(0x0800)
	if outer.Source.Is6() {
		etherType = 0x86dd
	}
	var packet []byte
	switch w {
	case vxlan:
		packet = build.VXLAN(nil, outer, port, g.bits(24), inner)
	case segmentRouting:
		outer.Source, outer.Destination = g.addresses(true)
		etherType = 0x86dd
		h := g.segments()
		if n == overGRH {
			packet = h.WrapEthernet(nil, outer, inner)
		} else {
			packet = h.WrapIP(nil, outer, inner)
		}
	case vxlanInVXLAN:
		middle := g.ip()
		between := build.Ethernet(nil, g.mac(), g.mac(), ipType(middle), build.VXLAN(nil, middle, port, g.bits(24), inner))
		packet = build.VXLAN(nil, outer, port, g.bits(24), between)
	case geneve:
		var options []byte
		if g.one(2) {
			options = append([]byte{0x01, 0x08, byte(g.bits(7)), 2}, g.bytes(8)...)
		}
		packet = build.GENEVE(nil, outer, port, g.bits(24), options, inner)
	case gre:
		packet = build.GRE(nil, outer, g.bits(32), inner)
	case erspan1:
		packet = build.ERSPAN1(nil, outer, inner)
	case erspan2:
		packet = build.ERSPAN2(nil, outer, g.bits(32), uint16(g.bits(10)), uint16(g.bits(12)), inner)
	case erspan3:
		h := g.erspan3()
		packet = h.Wrap(nil, outer, g.bits(32), inner)
	case mpls:
		etherType = 0x8847
		packet = build.MPLS(nil, []uint32{16 + g.bits(19), 16 + g.bits(19)}[:1+g.bits(1)], inner)
	case ipInIP:
		protocol := uint8(4)
		if n == overIPv6 {
			protocol = 41
		}
		packet = outer.AppendIP(nil, protocol, inner)
	default:
		return inner
	}
	return build.Ethernet(nil, g.mac(), g.mac(), etherType, packet)
}

func ipType(h build.IP) uint16 {
	if h.Source.Is6() {
		return 0x86dd
	}
	return 0x0800
}

// segments is a routing header of SRv6 (RFC 8754).
func (g *generator) segments() build.SegmentRouting {
	h := build.SegmentRouting{Tag: uint16(g.bits(16))}
	for range 1 + g.random.IntN(3) {
		address, _ := g.addresses(true)
		h.Segments = append(h.Segments, address)
	}
	h.SegmentsLeft = uint8(g.random.IntN(len(h.Segments)))
	return h
}

// erspan3 is the header of a mirrored Ethernet frame.
func (g *generator) erspan3() build.ERSPAN3 {
	h := build.ERSPAN3{
		VLAN: uint16(g.bits(12)), ClassOfService: uint8(g.bits(3)), BadShortOversized: uint8(g.bits(2)), Truncated: g.one(2), Session: uint16(g.bits(10)),
		Timestamp: g.bits(32), SecurityGroup: uint16(g.bits(16)), Ethernet: g.one(2), Hardware: uint8(g.bits(6)), Egress: g.one(2), Granularity: uint8(g.bits(2)),
	}
	if g.one(2) {
		h.Platform = append([]byte{4 * uint8(g.bits(6))}, g.bytes(7)...)
	}
	return h
}

// packet has random values in every field whose value is free.
func (g *generator) packet(opcode infiniband.Opcode, n network) build.Frame {
	source, destination := g.addresses(n == overIPv6 || (n == overGRH && g.one(2)))
	f := build.Frame{
		DestinationMAC: g.mac(), SourceMAC: g.mac(), RoCEv1: n == overGRH, Source: source, Destination: destination,
		DSCP: uint8(g.bits(6)), ECN: dissector.ECN(g.bits(2)), TTL: 2 + uint8(g.bits(7)), ID: uint16(g.bits(16)), FlowLabel: g.bits(20),
		SourcePort: 49152 + uint16(g.bits(14)), UDPChecksum: g.one(2),
		BTH: infiniband.BTH{
			Opcode: opcode, SolicitedEvent: g.one(2), MigrationRequest: g.one(2), PartitionKey: infiniband.DefaultPartitionKey,
			FECN: g.one(8), BECN: g.one(8), DestinationQP: 2 + g.bits(23), AckRequest: g.one(2), PSN: g.bits(24),
		},
		DETH:         infiniband.DETH{QueueKey: g.bits(32), SourceQP: g.bits(24)},
		RDETH:        infiniband.RDETH{EEContext: g.bits(24)},
		XRCETH:       infiniband.XRCETH{SRQ: g.bits(24)},
		RETH:         infiniband.RETH{VirtualAddress: g.random.Uint64(), RemoteKey: g.bits(32), DMALength: g.bits(31)},
		AtomicETH:    infiniband.AtomicETH{VirtualAddress: g.random.Uint64(), RemoteKey: g.bits(32), SwapOrAdd: g.random.Uint64(), Compare: g.random.Uint64()},
		AETH:         infiniband.AETH{Syndrome: infiniband.Syndrome(g.bits(8)), MSN: g.bits(24)},
		AtomicAckETH: infiniband.AtomicAckETH{OriginalData: g.random.Uint64()},
		ImmDt:        infiniband.ImmDt{Data: g.bits(32)},
		IETH:         infiniband.IETH{RemoteKey: g.bits(32)},
		FETH:         infiniband.FETH{Selectivity: uint8(g.bits(2)), Placement: uint8(g.bits(4))},
	}
	if g.one(4) {
		f.BTH.PartitionKey = uint16(g.bits(16))
	}
	if opcode.CarriesPayload() {
		f.Payload = g.bytes(g.random.IntN(80))
	}
	if opcode == infiniband.RCAtomicWrite {
		f.Payload = g.bytes(8)
	}
	if opcode == infiniband.UDSendOnly && !g.one(8) {
		f.BTH.DestinationQP, f.DETH.SourceQP, f.DETH.QueueKey = infiniband.GeneralServicesQP, infiniband.GeneralServicesQP, infiniband.GSIQueueKey
		f.Payload = g.management()
	}
	if g.one(16) {
		f.ICRCFlip = 1 << g.bits(5)
	}
	if g.one(32) {
		f.BTH.TransportVersion = uint8(g.bits(4))
	}
	return f
}

// management is a message of the communication manager with random fields.
func (g *generator) management() []byte {
	h := mad.Header{
		BaseVersion: 1, Class: mad.ClassCommunication, ClassVersion: 2, Method: 3, TransactionID: g.random.Uint64(),
		AttributeID: uint16(mad.MessageREQ) + uint16(g.random.IntN(11)), AttributeModifier: g.bits(32),
	}
	data := g.bytes(mad.DataLength)
	if h.Message() == mad.MessageREQ && g.one(2) {
		var m mad.REQ
		_, err := m.Decode(data)
		require.NoError(g.tb, err)
		m.ServiceID = mad.ServiceID(0x0106_0000 | g.bits(16))
		ip := mad.IPCM{IPVersion: 4, SourcePort: uint16(g.bits(16))}
		copy(ip.Source[12:], g.bytes(4))
		copy(ip.Destination[12:], g.bytes(4))
		for _, path := range []*mad.Path{&m.PrimaryPath, &m.AlternatePath} {
			path.LocalGID = mad.GID(netip.AddrFrom4([4]byte(g.bytes(4))).As16())
			path.RemoteGID = mad.GID(netip.AddrFrom4([4]byte(g.bytes(4))).As16())
		}
		if g.one(2) {
			ip.IPVersion = 6
			ip.Source, ip.Destination = [16]byte(g.bytes(16)), [16]byte(g.bytes(16))
		}
		m.PrivateData = ip.AppendTo(nil)
		data = m.AppendTo(nil)
	}
	return append(h.AppendTo(nil), data...)
}
