package analysis_test

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/analysis"
	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

// TestNeighboursFragmentsAndLinkTypesAreCountedAsWhatTheyAre counts what is recognised and not decoded by its name,
// and none of it as RoCE. Of a datagram in fragments, the first one is RoCE and the others are fragments.
func TestNeighboursFragmentsAndLinkTypesAreCountedAsWhatTheyAre(t *testing.T) {
	ip := build.IP{Source: netip.MustParseAddr("10.0.0.1"), Destination: netip.MustParseAddr("10.0.0.2")}
	mac := [6]byte{2, 0, 0, 0, 0, 1}
	datagram := func(port uint16) []byte {
		return build.Ethernet(nil, mac, mac, 0x0800, ip.AppendUDP(nil, 50000, port, make([]byte, 40)))
	}
	roce := func(opcode infiniband.Opcode) []byte {
		f := build.Frame{
			Source: ip.Source, Destination: ip.Destination, SourcePort: 50000, Payload: make([]byte, 64),
			BTH: infiniband.BTH{Opcode: opcode, PartitionKey: infiniband.DefaultPartitionKey, DestinationQP: 7, PSN: 1},
		}
		data, err := f.AppendTo(nil)
		require.NoError(t, err)
		return data
	}
	first, later := roce(infiniband.RCSendOnly), roce(infiniband.RCSendOnly)
	first[20], later[21] = 0x20, 9
	tcp := append(make([]byte, 12), 0x50, 0x18, 0, 0, 0, 0, 0, 0)
	iwarp := build.Ethernet(nil, mac, mac, 0x0800, ip.AppendIP(nil, 6, append(tcp, "MPA ID Req Frame"...)))

	var file bytes.Buffer
	writer, err := pcapfile.NewWriter(&file, pcapfile.FormatPcapng, pcapfile.WriterOptions{
		Interfaces: []pcapfile.WriterInterface{{LinkType: 1}, {LinkType: 192}, {LinkType: 147}},
	})
	require.NoError(t, err)
	for i, f := range []struct {
		data []byte
		on   uint32
	}{
		{datagram(4971), 0},
		{roce(0xc0), 0},
		{datagram(4793), 0},
		{datagram(4794), 0},
		{iwarp, 0},
		{first, 0},
		{later, 0},
		{later, 0},
		{first, 1},
		{first, 2},
	} {
		require.NoError(t, writer.WriteFrame(&capture.Frame{Data: f.data, Interface: f.on, Time: int64(i+1) * 1000, HasTime: true}))
	}
	result := run(t, file.Bytes(), analysis.Config{})
	counts := map[string]uint64{}
	for _, b := range result.Beside {
		counts[b.Name] = b.Packets
	}
	assert.Equal(t, map[string]uint64{
		"unsupported: MRC": 2, "unsupported: UET": 1, "unsupported: veRoCE": 1, "unsupported: iWARP": 1,
		"IP fragments after the first": 2, "unsupported: linktype 192 (PPI)": 1, "unsupported: linktype 147": 1,
	}, counts)
	assert.EqualValues(t, 1, result.Totals.RDMAPackets)
	assert.EqualValues(t, 1, result.Totals.Flows)
	assert.EqualValues(t, 9, result.Totals.Unsupported)
	assert.EqualValues(t, 1, result.Totals.ICRCUndetermined, "the ICRC is in the last fragment")
}
