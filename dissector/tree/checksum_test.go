package tree_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/tree"
)

// What a tree says of the checksums of IPv4 and UDP, in Wireshark's words: of a whole packet, of one whose bit was turned
// over, of one that the capture cut and of one that has none.
func TestChecksumsAreJudged(t *testing.T) {
	frame := func(sum bool) []byte {
		f := talk{t: t}
		f.send(true, 4, 0x11, make([]byte, 64))
		data := f.frames[0].Data
		if sum {
			var p dissector.Packet
			require.NoError(t, dissector.Decode(data, f.frames[0].Meta, &p))
			again := build.Frame{
				Source: p.Network.Source.Addr(), Destination: p.Network.Destination.Addr(), SourcePort: 50000, BTH: p.BTH, Payload: p.Payload(), UDPChecksum: true,
			}
			var err error
			data, err = again.AppendTo(nil)
			require.NoError(t, err)
		}
		return data
	}
	turned := func(b []byte, at int) []byte {
		b = bytes.Clone(b)
		b[at] ^= 1
		return b
	}
	options := slices.Concat(frame(false)[:34], []byte{1, 1}) // of a header that has four bytes of options
	options[14] = 0x46
	for name, c := range map[string]struct {
		data    []byte
		ip, udp string
	}{
		"whole":             {frame(true), "Good", "Good"},
		"without one":       {frame(false), "Good", "Not present"},
		"another TTL":       {turned(frame(true), 22), "Bad", "Good"},
		"another payload":   {turned(frame(true), 60), "Good", "Bad"},
		"cut in the middle": {frame(true)[:60], "Good", "Unverified"},
		"cut options":       {options, "Unverified", ""},
	} {
		var p dissector.Packet
		err := dissector.Decode(c.data, dissector.Meta{LinkType: dissector.LinkTypeEthernet, OriginalLength: uint32(max(len(c.data), 122))}, &p)
		found := map[string]string{}
		tree.Build(&p, err).Walk(func(n *tree.Node) bool {
			if v, ok := n.Value.(string); ok {
				found[n.Field] = v
			}
			return true
		})
		require.Equal(t, c.ip, found["ip.checksum.status"], name)
		require.Equal(t, c.udp, found["udp.checksum.status"], name)
	}
}
