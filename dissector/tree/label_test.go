package tree_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/dissector/tree"
)

var (
	labelA = build.IP{Source: netip.MustParseAddr("10.0.0.1"), Destination: netip.MustParseAddr("10.0.0.2")}
	labelB = [6]byte{2, 0, 0, 0, 0, 2}
)

func labelFrame(t *testing.T, edit func(*build.Frame)) []byte {
	t.Helper()
	f := build.Frame{
		Source: labelA.Source, Destination: labelA.Destination, SourcePort: 50000, NoPadding: true, Payload: make([]byte, 8),
		BTH: infiniband.BTH{Opcode: infiniband.RCSendOnly, PartitionKey: infiniband.DefaultPartitionKey, DestinationQP: 0x11, PSN: 100},
	}
	edit(&f)
	data, err := f.AppendTo(nil)
	require.NoError(t, err)
	return data
}

func treeOf(data []byte, meta dissector.Meta) (*tree.Node, tree.Line) {
	meta.OriginalLength = max(meta.OriginalLength, uint32(len(data)))
	var p dissector.Packet
	err := dissector.Decode(data, meta, &p)
	return tree.Build(&p, err), tree.Summary(&p, err)
}

// What is recognised and not decoded is labelled with its name, in the line and in the tree.
func TestUnsupportedIsLabelledWithItsName(t *testing.T) {
	datagram := func(port uint16) []byte {
		return build.Ethernet(nil, labelB, labelB, 0x0800, labelA.AppendUDP(nil, 50000, port, make([]byte, 40)))
	}
	opcode := func(o infiniband.Opcode, legacy bool) []byte {
		return labelFrame(t, func(f *build.Frame) { f.BTH.Opcode, f.RoCEv1 = o, legacy })
	}
	for _, c := range []struct {
		name           string
		link           dissector.LinkType
		data           []byte
		protocol, info string
		label          string
	}{
		{"UET", 1, datagram(4793), "UET", "unsupported: UET", "UET"},
		{"veRoCE", 1, datagram(4794), "veRoCE", "unsupported: veRoCE", "veRoCE"},
		{"MRC on its port", 1, datagram(4971), "MRC", "unsupported: MRC", "MRC"},
		{"MRC on RoCE's port", 1, opcode(0xc1, false), "MRC", "vendor opcode 0xc1 PSN=0x000064 (100) QP=0x000011 [unsupported: MRC]", "MRC"},
		{"vendor opcode of RoCEv1", 1, opcode(0xc1, true), "RoCEv1", "vendor opcode 0xc1 PSN=0x000064 (100) QP=0x000011 [unsupported: BTH: unknown opcode]", "BTH: unknown opcode"},
		{"PPI", dissector.LinkTypePPI, datagram(4791), "unknown", "unsupported: linktype 192", "linktype 192"},
		{"802.11", 105, datagram(4791), "unknown", "unsupported: linktype 105", "linktype 105"},
	} {
		root, line := treeOf(c.data, dissector.Meta{LinkType: c.link})
		assert.Equal(t, c.protocol, line.Protocol, c.name)
		assert.Equal(t, c.info, line.Info, c.name)
		assert.Equal(t, c.label, find(t, root, "rocelens.unsupported").Value, c.name)
		checkTree(t, c.data, root)
	}
}

// The checksum of UDP has one of four states, and the line says when a packet is the first part of a longer one.
func TestChecksumAndFragmentAreSaid(t *testing.T) {
	sum := func(f *build.Frame) { f.UDPChecksum = true }
	right := labelFrame(t, sum)
	wrong := labelFrame(t, sum)
	wrong[len(wrong)-1] ^= 1
	fragment := labelFrame(t, sum)
	fragment[20] = 0x20
	for _, c := range []struct {
		name     string
		data     []byte
		meaning  string
		severity tree.Severity
	}{
		{"absent", labelFrame(t, func(*build.Frame) {}), "^0x0000, not computed by the sender$", ""},
		{"right", right, "^0x[0-9a-f]{4}, right$", ""},
		{"wrong", wrong, "^0x[0-9a-f]{4}, wrong$", tree.SeverityNote},
		{"cut", right[:60], "^0x[0-9a-f]{4}, cannot be checked$", ""},
		{"fragment", fragment, "^0x[0-9a-f]{4}, cannot be checked$", ""},
	} {
		root, line := treeOf(c.data, dissector.Meta{LinkType: dissector.LinkTypeEthernet, OriginalLength: uint32(len(right))})
		n := find(t, root, "udp.checksum")
		assert.Regexp(t, c.meaning, n.Meaning, c.name)
		assert.Equal(t, c.severity, n.Severity, c.name)
		if c.name == "fragment" {
			assert.Contains(t, line.Info, "[first fragment]")
		} else {
			assert.NotContains(t, line.Info, "fragment", c.name)
		}
	}
}
