// This file is compiled into package tree_test together with what is generated from mr-test.yaml.
package tree_test

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/filter"
	"github.com/rocelens/rocelens/dissector/internal/metagen"
	"github.com/rocelens/rocelens/dissector/metaroce"
	"github.com/rocelens/rocelens/dissector/metaroce/mrtest"
	"github.com/rocelens/rocelens/dissector/tree"
)

var secondTypes = []mrtest.Type{mrtest.TypeOpen, mrtest.TypePut, mrtest.TypeGet, mrtest.TypeNote, mrtest.TypeReport}

// second makes a random packet that keeps to the profile.
func secondPacket(r *rand.Rand, typ mrtest.Type) (p mrtest.Packet, payload []byte) {
	bits := func(n int) uint64 { return r.Uint64() >> (64 - n) }
	p.CH = mrtest.CH{
		Type: typ, Version: mrtest.Version, Flags: mrtest.Flags(bits(1)) * mrtest.FlagAgain, Hop: uint8(bits(2)), PSN: uint32(bits(24)),
		DestConnID: uint32(bits(24)), PathID: 1 + uint16(r.UintN(1000)), PlaneID: uint8(r.UintN(41)), Lane: mrtest.Lane(bits(8)),
	}
	p.OH = mrtest.OH{SourceConnID: uint32(bits(24)), Size: []uint16{64, 1500, 2000}[r.IntN(3)]}
	p.XH = mrtest.XH{Address: bits(40), Key: 3 + bits(60), Colour: uint8(bits(3))}
	p.DH = mrtest.DH{Timestamp: bits(48), StreamID: uint16(bits(12)), MSN: uint32(bits(20)), MessageLength: uint32(bits(24))}
	p.RH = mrtest.RH{CumulativePSN: uint32(bits(24)), EchoTimestamp: bits(48), Cause: mrtest.Cause(bits(16))}
	binary.LittleEndian.PutUint64(p.RH.Arrived[4:], bits(64))
	binary.LittleEndian.PutUint64(p.RH.Marks[1:], bits(64))
	if typ == mrtest.TypePut || typ == mrtest.TypeNote {
		p.CH.Flags |= mrtest.Flags(bits(1)) * mrtest.FlagExtra
		p.IMMH.Immediate = bits(64)
	}
	switch typ {
	case mrtest.TypePut:
		payload = make([]byte, 1+r.IntN(99))
		p.DH.MessageLength |= 128
		p.CH.Flags |= mrtest.FlagFirst
		if r.IntN(2) == 0 {
			p.DH.MessageOffset = p.DH.MessageLength - uint32(len(payload))
			p.CH.Flags ^= mrtest.FlagFirst | mrtest.FlagLast
		}
	case mrtest.TypeGet:
		p.DH.MessageLength |= 1
	default:
	}
	return p, payload
}

// What the headers that a packet has hold, and nothing of the others.
func secondSent(p mrtest.Packet) mrtest.Packet {
	want := mrtest.Packet{Has: p.Has, PayloadOffset: p.PayloadOffset, CH: p.CH}
	for has, set := range map[mrtest.HeaderSet]func(){
		mrtest.HasOH: func() { want.OH = p.OH }, mrtest.HasDH: func() { want.DH = p.DH }, mrtest.HasXH: func() { want.XH = p.XH },
		mrtest.HasRH: func() { want.RH = p.RH }, mrtest.HasIMMH: func() { want.IMMH = p.IMMH },
	} {
		if p.Has&has != 0 {
			set()
		}
	}
	return want
}

func TestSecondProfileDecodes(t *testing.T) {
	g := &generator{t, rand.New(rand.NewPCG(7, 7))}
	var p dissector.Packet
	for i := range 5000 {
		typ := secondTypes[i%len(secondTypes)]
		sent, payload := secondPacket(g.random, typ)
		data := g.metaFrame(&sent, payload, network(i/8%2), wrapping(i%int(wrappings)), nil)
		err := dissector.Decode(data, dissector.Meta{LinkType: dissector.LinkTypeEthernet, Number: 1}, &p)
		require.NoError(t, err, "%s: %s", typ, mrtest.Profile.Explain(p.MetaRoCE.Fault()))
		require.Equal(t, dissector.ProtocolMetaRoCE, p.Protocol)
		require.Equal(t, dissector.MetaRoCEMRTEST, p.MetaRoCE.Profile)
		got := p.MetaRoCE.MRTEST
		sent.Has, sent.PayloadOffset = got.Has, got.PayloadOffset
		require.Equal(t, secondSent(sent), got)
		require.Equal(t, dissector.ICRCGood, dissector.VerifyICRC(&p))
		require.Len(t, payload, int(p.PayloadLength))
	}
	// The other profile is decoded as before, into the same packet.
	_, err := filter.Compile("mrtest.arrived && mrtest.ch.reserved == 0 && metaroce.psn == 1")
	require.NoError(t, err)
}

// Each of the profile's limits is checked where it says, and nowhere else.
func TestSecondProfileLimits(t *testing.T) {
	source, destination := netip.MustParseAddrPort("10.0.0.1:50001"), netip.MustParseAddrPort("10.0.0.2:40404")
	g := &generator{t, rand.New(rand.NewPCG(8, 8))}
	for name, tt := range map[string]struct {
		typ    mrtest.Type
		change func(p *mrtest.Packet)
		want   string
	}{
		"path 0":                  {mrtest.TypePut, func(p *mrtest.Packet) { p.CH.PathID = 0 }, "CH.path_id at byte 11: out of range"},
		"path 1001":               {mrtest.TypeNote, func(p *mrtest.Packet) { p.CH.PathID = 1001 }, "CH.path_id at byte 11: out of range"},
		"plane 41":                {mrtest.TypeOpen, func(p *mrtest.Packet) { p.CH.PlaneID = 41 }, "CH.plane_id at byte 12: out of range"},
		"plane 41, sequenced":     {mrtest.TypeNote, func(p *mrtest.Packet) { p.CH.PlaneID = 41 }, ""},
		"size 65":                 {mrtest.TypeOpen, func(p *mrtest.Packet) { p.OH.Size = 65 }, "OH.size at byte 17: out of range"},
		"key 2, before DH":        {mrtest.TypePut, func(p *mrtest.Packet) { p.XH.Key = 2 }, "XH.key at byte 19: out of range"},
		"key 2, behind DH":        {mrtest.TypeGet, func(p *mrtest.Packet) { p.XH.Key = 2 }, "XH.key at byte 35: out of range"},
		"greatest key":            {mrtest.TypeGet, func(p *mrtest.Packet) { p.XH.Key = 1<<61 - 2 }, ""},
		"key beyond":              {mrtest.TypeGet, func(p *mrtest.Packet) { p.XH.Key = 1<<61 - 1 }, "XH.key at byte 35: out of range"},
		"FIRST on GET is nothing": {mrtest.TypeGet, func(p *mrtest.Packet) { p.CH.Flags ^= mrtest.FlagFirst }, ""},
		"FIRST on PUT":            {mrtest.TypePut, func(p *mrtest.Packet) { p.CH.Flags ^= mrtest.FlagFirst }, "CH.flags at byte 1: FIRST disagrees with the message offset"},
		"LAST on GET":             {mrtest.TypeGet, func(p *mrtest.Packet) { p.CH.Flags ^= mrtest.FlagLast }, "CH.flags at byte 1: LAST disagrees with the message length"},
		"EXTRA on GET":            {mrtest.TypeGet, func(p *mrtest.Packet) { p.CH.Flags |= mrtest.FlagExtra }, "CH.flags at byte 1: flag on a packet that may not bear its header"},
	} {
		sent, payload := secondPacket(g.random, tt.typ)
		tt.change(&sent)
		data, err := sent.AppendDatagram(nil, payload, source, destination)
		require.NoError(t, err, name)
		var got mrtest.Packet
		err = mrtest.Decode(data, &got)
		require.Equal(t, tt.want, mrtest.Profile.Explain(got.Fault), name)
		require.Equal(t, tt.want != "", err != nil, name)
	}
	require.Equal(t, int32(-2), mrtest.PSNDistance(1, 1<<24-1))
	require.Equal(t, uint32(4095), mrtest.PathInitialPSN(1<<24-1, 1))
	require.Equal(t, 3, mrtest.DefaultParameters().Paths)
}

// The tree shows every field, and the filter finds what the tree shows.
func TestSecondProfileInTheTree(t *testing.T) {
	g := &generator{t, rand.New(rand.NewPCG(9, 9))}
	var p dissector.Packet
	for _, typ := range secondTypes {
		sent, payload := secondPacket(g.random, typ)
		data := g.metaFrame(&sent, payload, overIPv4, bare, nil)
		err := dissector.Decode(data, dissector.Meta{LinkType: dissector.LinkTypeEthernet, Number: 1}, &p)
		require.NoError(t, err)
		shown := values(tree.Build(&p, err), data)
		decoded := p.MetaRoCE.Decoded()
		for i := range mrtest.Profile.Fields {
			f := &mrtest.Profile.Fields[i]
			if v, ok := decoded.Uint(i); ok {
				require.Contains(t, shown[f.Filter], normal(metaroceText(v)), f.Filter)
			}
		}
		require.Contains(t, tree.Summary(&p, err).Info, typ.String())
	}
}

func metaroceText(v uint64) string {
	f := metaroce.Field{Kind: metaroce.KindUint, Bits: 64, Unit: "x"}
	text := f.Meaning(v)
	return text[:len(text)-len(" x")]
}

// tshark with the plugin of the second profile, beside that of the first, says the same.
func TestSecondProfileEqualsTshark(t *testing.T) {
	g := &generator{t, rand.New(rand.NewPCG(10, 10))}
	var all [][]byte
	for i := range 2000 {
		sent, payload := secondPacket(g.random, secondTypes[i%len(secondTypes)])
		b := build.MetaRoCE(&sent)
		if i%2 == 1 {
			b = &metagen.Broken{Sendable: &sent, Change: func(d []byte) []byte {
				d[g.random.IntN(min(len(d), 40))] ^= 1 << g.bits(3)
				return d
			}}
		}
		all = append(all, g.metaFrame(b, payload, network(i/8%2), wrapping(i%int(wrappings)), nil))
	}
	equal, reasons := compareMeta(t, "mrtest.", &mrtest.Profile, asFrames(all))
	t.Logf("%d values equal: %v", equal, reasons)
	require.Greater(t, equal, 40_000)
	require.Greater(t, reasons[dissector.ReasonMetaRoCERange], 10)
}
