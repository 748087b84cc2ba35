package tree_test

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector"
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
