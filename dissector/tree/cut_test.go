package tree_test

import (
	"net/netip"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/internal/framefile"
	"github.com/rocelens/rocelens/dissector/tree"
)

// A capture that keeps 54 bytes of each packet cuts most headers behind the BTH. How long the payloads were on the wire is
// known all the same, and is what the whole capture says.
func TestLengthsOfCutPackets(t *testing.T) {
	length := regexp.MustCompile(`len=\d+`)
	lengths := func(capture string) (all []string) {
		var p dissector.Packet
		for _, f := range framefile.Read(t, filepath.Join("..", "testdata", capture)) {
			err := dissector.Decode(f.Data, f.Meta, &p)
			all = append(all, length.FindString(tree.Summary(&p, err).Info))
		}
		return all
	}
	whole := lengths("base-cm-send-write-read.pcap")
	require.Contains(t, whole, "len=1024")
	require.Equal(t, whole, lengths("ct-snap54.pcap"))
	require.Equal(t, whole, lengths("ct-snap64.pcap"))
}

// Of a header that the capture cut, the fields that are there are shown.
func TestFieldsOfCutHeadersAreShown(t *testing.T) {
	packet := labelFrame(t, func(f *build.Frame) { f.NoEthernet = true })
	mac := [6]byte{2, 0, 0, 0, 0, 2}
	v6 := build.IP{Source: netip.MustParseAddr("2001:db8::1"), Destination: netip.MustParseAddr("2001:db8::2")}
	route := build.SegmentRouting{Segments: []netip.Addr{v6.Destination}, Tag: 7}
	mirrored := build.ERSPAN3{Session: 5}
	for name, c := range map[string]struct {
		data  []byte
		cut   int
		field string
		value any
	}{
		"label stack":                {build.Ethernet(nil, mac, mac, 0x8847, build.MPLS(nil, []uint32{20, 21}, packet)), 14 + 4 + 3, "mpls.label", uint64(21)},
		"segment route":              {build.Ethernet(nil, mac, mac, 0x86dd, route.WrapIP(nil, v6, packet)), 14 + 40 + 5, "ipv6.routing.type", uint64(4)},
		"segment route, its segment": {build.Ethernet(nil, mac, mac, 0x86dd, route.WrapIP(nil, v6, packet)), 14 + 40 + 10, "ipv6.routing.srh.tag", uint64(7)},
		"hop-by-hop options":         {build.Ethernet(nil, mac, mac, 0x86dd, v6.AppendIP(nil, 0, []byte{17, 0, 1, 4, 0, 0, 0, 0})), 14 + 40 + 4, "ipv6.hopopts.nxt", uint64(17)},
		"ERSPAN III":                 {build.Ethernet(nil, mac, mac, 0x0800, mirrored.Wrap(nil, labelA, 1, packet)), 14 + 20 + 8 + 4, "erspan.spanid", uint64(5)},
	} {
		root, _ := treeOf(c.data[:c.cut], dissector.Meta{LinkType: dissector.LinkTypeEthernet, OriginalLength: uint32(len(c.data))})
		last := root.Children[len(root.Children)-1]
		assert.Equal(t, c.value, find(t, last, c.field).Value, name)
		assert.NotNil(t, find(t, last, "rocelens.truncated"), name)
		checkTree(t, c.data[:c.cut], root)
	}
}

// A header that claims more than its packet has is shown as far as it is there, behind another of its kind too, and that
// other one is not what is wrong.
func TestFieldsOfTooLongHeadersAreShown(t *testing.T) {
	mac := [6]byte{2, 0, 0, 0, 0, 2}
	v6 := build.IP{Source: netip.MustParseAddr("2001:db8::1"), Destination: netip.MustParseAddr("2001:db8::2")}
	extensions := []byte{60, 0, 1, 4, 0, 0, 0, 0, 17, 200, 1, 4, 0, 0, 0, 0} // the second has 1,608 bytes by its own word
	data := build.Ethernet(nil, mac, mac, 0x86dd, v6.AppendIP(nil, 0, extensions))
	root, _ := treeOf(data, dissector.Meta{LinkType: dissector.LinkTypeEthernet, OriginalLength: uint32(len(data))})
	checkTree(t, data, root)
	n := len(root.Children)
	require.GreaterOrEqual(t, n, 2)
	assert.Equal(t, tree.SeverityNone, root.Children[n-2].Severity)
	assert.Equal(t, uint64(60), find(t, root.Children[n-2], "ipv6.hopopts.nxt").Value)
	assert.Equal(t, uint64(17), find(t, root.Children[n-1], "ipv6.dstopts.nxt").Value)
	assert.Equal(t, uint64(200), find(t, root.Children[n-1], "ipv6.dstopts.len").Value)
	assert.NotNil(t, find(t, root.Children[n-1], "rocelens.malformed"))
}

// The control field of LLC has one byte in unnumbered frames, two in those with sequence numbers (IEEE 802.2, section 5.4).
func TestControlFieldOfLLC(t *testing.T) {
	mac := [6]byte{2, 0, 0, 0, 0, 2}
	for _, c := range []struct {
		control []byte
		want    uint64
	}{{[]byte{0x03}, 0x03}, {[]byte{0x20, 0x40}, 0x4020}, {[]byte{0x01, 0x07}, 0x0701}} {
		data := append(build.Ethernet(nil, mac, mac, 100, nil), append([]byte{0x42, 0x43}, c.control...)...)
		root, _ := treeOf(data, dissector.Meta{LinkType: dissector.LinkTypeEthernet, OriginalLength: 114})
		assert.Equal(t, c.want, find(t, root, "llc.control").Value)
		checkTree(t, data, root)
	}
}

// A label stack within another is no control word of the first, which has been left.
func TestLabelStacksInEachOtherAreTwo(t *testing.T) {
	mac := [6]byte{2, 0, 0, 0, 0, 2}
	packet := labelFrame(t, func(f *build.Frame) { f.NoEthernet = true })
	inner := append([]byte{0, 0, 0x88, 0x47}, build.MPLS(nil, []uint32{30}, packet)...) // behind a GRE header
	root, _ := treeOf(build.Ethernet(nil, mac, mac, 0x8847, build.MPLS(nil, []uint32{20}, labelA.AppendIP(nil, 47, inner))), dissector.Meta{LinkType: dissector.LinkTypeEthernet})
	var labels []any
	root.Walk(func(n *tree.Node) bool {
		require.NotEqual(t, "pwethcw", n.Field)
		if n.Field == "mpls.label" {
			labels = append(labels, n.Value)
		}
		return true
	})
	require.Equal(t, []any{uint64(20), uint64(30)}, labels)
}

// Whoever asks from a neighbour's port gets his answer, which is not that neighbour.
func TestAnswersOfServersAreNamedByThem(t *testing.T) {
	for _, port := range []uint16{4789, 4793, 4794, 4971} {
		answer := build.Ethernet(nil, labelB, labelB, 0x0800, labelA.AppendUDP(nil, 53, port, make([]byte, 4)))
		_, line := treeOf(answer, dissector.Meta{LinkType: dissector.LinkTypeEthernet})
		assert.Equal(t, "DNS", line.Protocol, port)
	}
}
