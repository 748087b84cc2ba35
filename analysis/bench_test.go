package analysis_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/analysis"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/internal/capgen"
)

// BenchmarkRun analyses a mapped capture of 1 KiB packets; the bytes a second are those of the file.
func BenchmarkRun(b *testing.B) {
	path := filepath.Join(b.TempDir(), "bench.pcap")
	file, err := os.Create(path)
	require.NoError(b, err)
	cfg := capgen.Default()
	cfg.Packets, cfg.Connections = 200_000, 64
	truth, err := capgen.Generate(file, pcapfile.FormatPcap, cfg)
	require.NoError(b, err)
	size, err := file.Seek(0, 2)
	require.NoError(b, err)
	require.NoError(b, file.Close())

	for _, c := range []struct {
		name string
		cfg  analysis.Config
	}{
		{"icrc", analysis.Config{}},
		{"no-icrc", analysis.Config{SkipICRC: true}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				source, err := pcapfile.Open(path, pcapfile.Options{})
				require.NoError(b, err)
				result, err := analysis.Run(b.Context(), source, c.cfg)
				require.NoError(b, err)
				require.Equal(b, truth.RDMAPackets, result.Totals.RDMAPackets)
				require.NoError(b, source.Close())
			}
			b.ReportMetric(float64(truth.Packets)*float64(b.N)/b.Elapsed().Seconds(), "packets/s")
		})
	}
}
