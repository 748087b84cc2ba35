package main

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// metaCapture is a capture of one MetaRoCE packet.
func metaCapture(t *testing.T) string {
	t.Helper()
	f := build.Frame{
		Source: netip.MustParseAddr("10.0.0.1"), Destination: netip.MustParseAddr("10.0.0.2"), SourcePort: 50_000,
		MetaRoCE: &mr0.Packet{CH: mr0.CH{Type: mr0.TypeDisconnect, DestConnID: 7}, DISC: mr0.DISC{SourceConnID: 8}},
	}
	data, err := f.AppendTo(nil)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "metaroce.pcap")
	file, err := os.Create(path)
	require.NoError(t, err)
	w := pcapgo.NewWriterNanos(file)
	require.NoError(t, w.WriteFileHeader(0, layers.LinkTypeEthernet))
	require.NoError(t, w.WritePacket(gopacket.CaptureInfo{CaptureLength: len(data), Length: len(data)}, data))
	require.NoError(t, file.Close())
	return path
}
