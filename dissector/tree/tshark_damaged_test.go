package tree_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/internal/framefile"
)

// damaged are n generated frames in whose headers one byte or two are changed, some of them also cut.
func (g *generator) damaged(n int) []framefile.Frame {
	const headers = 150
	likely := []byte{0, 1, 0x7f, 0x80, 0xff, 4, 5, 6, 17, 27, 41, 43, 44, 47, 50, 51, 59, 60, 137, 143} // lengths, flags, protocols
	frames := make([]framefile.Frame, 0, n)
	all := g.frames(n)
	g.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, data := range all {
		data = bytes.Clone(data)
		meta := dissector.Meta{LinkType: dissector.LinkTypeEthernet, OriginalLength: uint32(len(data)), Time: captured, HasTime: true}
		for range 1 + g.random.IntN(2) {
			at := g.random.IntN(min(len(data), headers))
			switch g.random.IntN(3) {
			case 0:
				data[at] ^= 1 << g.random.IntN(8)
			case 1:
				data[at] = byte(g.random.Uint32())
			default:
				data[at] = likely[g.random.IntN(len(likely))]
			}
		}
		if g.one(10) {
			data = data[:1+g.random.IntN(len(data)-1)]
		}
		frames = append(frames, framefile.Frame{Data: data, Meta: meta})
	}
	return frames
}

// lengthless is a packet whose IPv6 payload length is left out.
func (g *generator) lengthless() framefile.Frame {
	data := g.frame(infiniband.RCSendOnly, overIPv6, bare)
	data[18], data[19] = 0, 0
	return framefile.Frame{Data: data, Meta: dissector.Meta{
		LinkType: dissector.LinkTypeEthernet, OriginalLength: uint32(len(data)), Time: captured, HasTime: true,
	}}
}

// pseudowire is Ethernet behind MPLS, with nothing between them.
func (g *generator) pseudowire() framefile.Frame {
	inner := g.frame(infiniband.RCSendOnly, overIPv4, bare)
	inner[0] = 0xb8
	data := build.Ethernet(nil, g.mac(), g.mac(), 0x8847, build.MPLS(nil, []uint32{20}, inner))
	return framefile.Frame{Data: data, Meta: dissector.Meta{
		LinkType: dissector.LinkTypeEthernet, OriginalLength: uint32(len(data)), Time: captured, HasTime: true,
	}}
}

// Of packets that are damaged, both programs must say the same, too, as far as it is not listed what they say instead.
func TestFieldsEqualTsharkInDamagedPackets(t *testing.T) {
	tshark := findTshark(t)
	const count = 10_000
	used := map[string]bool{}
	seeds := []uint64{3, 103, 108, 116, 117} // between them every difference occurs that is listed as one of theirs
	if underRace() {
		seeds = seeds[:1]
	}
	for _, seed := range seeds {
		g := &generator{t, rand.New(rand.NewPCG(seed, seed))}
		frames := append(g.damaged(count), g.lengthless(), g.pseudowire())
		require.Greater(t, tshark.compare(t, framefile.Write(t, frames), frames, used), 400_000, "seed %d", seed)
	}
	if !underRace() {
		checkMet(t, inDamaged, used)
	}
}

// underRace tells whether tests are to be short, because they run under the race detector, which makes them ten times
// as long; `make seeded` runs them all.
func underRace() bool { return os.Getenv("ROCELENS_RACE") != "" }
