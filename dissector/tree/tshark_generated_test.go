package tree_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/internal/framefile"
)

// writePcap puts Ethernet frames into a pcap file and answers its name.
func writePcap(t *testing.T, frames []framefile.Frame) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "generated.pcap")
	file, err := os.Create(path)
	require.NoError(t, err)
	w := pcapgo.NewWriterNanos(file)
	require.NoError(t, w.WriteFileHeader(0, layers.LinkTypeEthernet))
	for _, f := range frames {
		require.NoError(t, w.WritePacket(gopacket.CaptureInfo{
			Timestamp: time.Unix(0, f.Meta.Time), CaptureLength: len(f.Data), Length: int(f.Meta.OriginalLength),
		}, f.Data))
	}
	require.NoError(t, file.Close())
	return path
}

// Ten thousand packets that no capture has are shown to tshark, and every field that both programs name must
// have the same value, but for the differences that are listed.
func TestFieldsEqualTsharkInGeneratedPackets(t *testing.T) {
	tshark := findTshark(t)
	const count, seed = 10_000, 1
	g := &generator{t, rand.New(rand.NewPCG(seed, seed))}
	frames := make([]framefile.Frame, 0, count)
	for i, data := range g.frames(count) {
		frames = append(frames, framefile.Frame{Data: data, Meta: dissector.Meta{
			Number: uint64(i + 1), OriginalLength: uint32(len(data)), LinkType: dissector.LinkTypeEthernet, Time: captured, HasTime: true,
		}})
	}
	used := map[string]bool{}
	require.Greater(t, tshark.compare(t, writePcap(t, frames), frames, used), 500_000)
	checkMet(t, inGenerated, used)
}
