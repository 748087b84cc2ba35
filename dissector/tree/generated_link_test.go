package tree_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/internal/framefile"
)

// link is what a frame is captured on, when it is not Ethernet.
type link uint8

const (
	cooked link = iota
	cooked2
	erfEthernet
	erfIP
	erfInfiniBand
	rawIP
	loopback
	links
)

// onLink captures an Ethernet frame on another link. Where a link carries IP alone, a frame that has none stays as it is.
func (g *generator) onLink(l link, frame []byte) framefile.Frame {
	const header = 14
	etherType := binary.BigEndian.Uint16(frame[12:])
	family := map[uint16]uint32{0x0800: 2, 0x86dd: 24}[etherType]
	payload := frame[header:]
	meta := dissector.Meta{Time: captured, HasTime: true, LinkType: dissector.LinkTypeEthernet}
	h := build.SLL{PacketType: uint8(g.random.IntN(5)), Hardware: 1, AddressLength: 6, Protocol: etherType, Interface: g.bits(16)}
	copy(h.Address[:], g.bytes(6))
	record := build.ERF{Timestamp: captured / 1_000_000_000 << 32, Type: build.ERFEthernet, Flags: 4 | uint8(g.bits(2)), Lost: uint16(g.bits(16))}
	for range g.random.IntN(3) {
		record.Extensions = append(record.Extensions, [8]byte(append([]byte{12}, g.bytes(7)...)))
	}
	switch {
	case l == cooked:
		meta.LinkType, frame = dissector.LinkTypeLinuxSLL, h.AppendTo(nil, payload)
	case l == cooked2:
		meta.LinkType, frame = dissector.LinkTypeSLL2, h.AppendVersion2(nil, payload)
	case l == erfEthernet:
		meta.LinkType, frame = dissector.LinkTypeERF, record.AppendTo(nil, frame)
	case l == erfIP && family != 0:
		record.Type = map[uint16]uint8{0x0800: build.ERFIPv4, 0x86dd: build.ERFIPv6}[etherType]
		meta.LinkType, frame = dissector.LinkTypeERF, record.AppendTo(nil, payload)
	case l == rawIP && family != 0:
		meta.LinkType, frame = dissector.LinkTypeRaw, payload
	case l == loopback && family != 0:
		meta.LinkType, frame = dissector.LinkTypeNull, append(binary.LittleEndian.AppendUint32(nil, family), payload...)
	}
	meta.OriginalLength = uint32(len(frame))
	return framefile.Frame{Data: frame, Meta: meta}
}

// native is a packet of native InfiniBand in an ERF record.
func (g *generator) native(opcode infiniband.Opcode) framefile.Frame {
	f := g.packet(opcode, overGRH)
	f.NoEthernet, f.NoPadding, f.ICRCFlip = true, true, 0
	packet, err := f.AppendTo(nil)
	require.NoError(g.tb, err)
	record := build.ERF{Timestamp: captured / 1_000_000_000 << 32, Type: build.ERFInfiniBand, Flags: 4}
	route := dissector.LRH{VirtualLane: uint8(g.bits(4)), ServiceLevel: uint8(g.bits(4)), SourceLID: uint16(g.bits(16)), DestinationLID: uint16(g.bits(16))}
	data := record.AppendTo(nil, build.Native(nil, route, packet, g.one(2), uint16(g.bits(16))))
	return framefile.Frame{Data: data, Meta: dissector.Meta{
		Time: captured, HasTime: true, LinkType: dissector.LinkTypeERF, OriginalLength: uint32(len(data)),
	}}
}

// linkFrames makes n frames, which go through all combinations of opcode and link in turn.
func (g *generator) linkFrames(n int) []framefile.Frame {
	var frames []framefile.Frame
	for i := range n {
		opcode, l := infiniband.Opcode(i), link(i/256%int(links))
		if l == erfInfiniBand {
			frames = append(frames, g.native(opcode))
			continue
		}
		frames = append(frames, g.onLink(l, g.frame(opcode, network(g.random.IntN(int(networks))), wrapping(g.random.IntN(int(wrappings))))))
	}
	return frames
}

// What stands before the packet in captures that are not of Ethernet must be read alike, too.
func TestFieldsEqualTsharkOnOtherLinks(t *testing.T) {
	tshark := findTshark(t)
	const count, seed = 256 * int(links) * 2, 2
	g := &generator{t, rand.New(rand.NewPCG(seed, seed))}
	frames := g.linkFrames(count)
	used := map[string]bool{}
	require.Greater(t, tshark.compare(t, framefile.Write(t, frames), frames, used), 150_000)
	checkMet(t, inLinks, used)
}
