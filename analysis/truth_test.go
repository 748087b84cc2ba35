package analysis_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/analysis"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/internal/capgen"
)

// found is the part of the totals that the generator knows the truth about.
func found(r *analysis.Result) capgen.Truth {
	t := &r.Totals
	return capgen.Truth{
		Packets: t.Packets, RDMAPackets: t.RDMAPackets, Messages: t.Messages,
		Retransmitted: t.Retransmitted, OutOfOrder: t.OutOfOrder, MirrorCopies: t.MirrorCopies,
		MissingPSNs: t.MissingPSNs, Naks: t.Naks, RNRNaks: t.RNRNaks, CNPs: t.CNPs, CEMarked: t.CEMarked,
		ICRCErrors: t.ICRCErrors, NotRDMA: t.NotRDMA, Connections: t.Connections,
	}
}

func run(t *testing.T, data []byte, cfg analysis.Config, sinks ...any) analysis.Result {
	t.Helper()
	source, err := pcapfile.New(bytes.NewReader(data), "test", pcapfile.Options{})
	require.NoError(t, err)
	result, err := analysis.Run(t.Context(), source, cfg, sinks...)
	require.NoError(t, err)
	require.NoError(t, source.Close())
	return result
}

func TestFindsWhatWasGenerated(t *testing.T) {
	all := capgen.Faults{
		LossBefore: 0.1, LossAfter: 0.1, Timeout: 0.05, RNR: 0.1, Reorder: 0.1, Mark: 0.1, Corrupt: 0.05, ReadLoss: 0.2, CaptureMiss: 0.05,
	}
	mix := capgen.Mix{Write: 3, Send: 3, Read: 2, Atomic: 1}
	tests := []struct {
		name string
		cfg  capgen.Config
	}{
		{"clean writes", capgen.Config{}},
		{"clean mix", capgen.Config{Mix: mix, MinMessage: 1, MaxMessage: 9000}},
		{"empty messages", capgen.Config{Mix: mix, MinMessage: 0, MaxMessage: 1}},
		{"loss before the vantage point", capgen.Config{Faults: capgen.Faults{LossBefore: 0.3}}},
		{"loss behind the vantage point", capgen.Config{Faults: capgen.Faults{LossAfter: 0.3}}},
		{"timeouts", capgen.Config{Faults: capgen.Faults{Timeout: 0.3}}},
		{"receiver not ready", capgen.Config{Mix: capgen.Mix{Send: 1}, Faults: capgen.Faults{RNR: 0.3}}},
		{"reordering", capgen.Config{Faults: capgen.Faults{Reorder: 0.3}}},
		{"marks", capgen.Config{Faults: capgen.Faults{Mark: 0.3}}},
		{"marks from the first packet on", capgen.Config{Connections: 64, Packets: 500, Faults: capgen.Faults{Mark: 1}}},
		{"marks on XRC", capgen.Config{Service: infiniband.ServiceXRC, Connections: 64, Faults: capgen.Faults{Mark: 0.5}}},
		{"marks, mirrored", capgen.Config{Connections: 64, Mirror: true, Faults: capgen.Faults{Mark: 1}}},
		{"corruption", capgen.Config{Faults: capgen.Faults{Corrupt: 0.3}}},
		{"lost responses", capgen.Config{Mix: capgen.Mix{Read: 1}, Faults: capgen.Faults{ReadLoss: 0.3}}},
		{"packets missed by the capture", capgen.Config{Faults: capgen.Faults{CaptureMiss: 0.3}}},
		{"mirrored", capgen.Config{Mix: mix, Mirror: true, MinMessage: 1, MaxMessage: 9000}},
		{"everything", capgen.Config{Mix: mix, Faults: all, MinMessage: 1, MaxMessage: 20000, Background: 50}},
		{"everything on XRC", capgen.Config{Service: infiniband.ServiceXRC, Mix: mix, Faults: all, MinMessage: 1, MaxMessage: 20000}},
		{"UC", capgen.Config{Service: infiniband.ServiceUC, Mix: capgen.Mix{Write: 1, Send: 1}, MinMessage: 1, MaxMessage: 20000}},
		{"UC with loss", capgen.Config{Service: infiniband.ServiceUC, Faults: capgen.Faults{LossBefore: 0.2}}},
		{"UD", capgen.Config{Service: infiniband.ServiceUD, Mix: capgen.Mix{Send: 1}, MinMessage: 1, MaxMessage: 1024}},
		{"everything in everything", capgen.Config{
			Mix: mix, Faults: all, MinMessage: 1, MaxMessage: 20000, PathMTU: 4096,
			Encapsulations: []capgen.Encapsulation{
				capgen.IPv4, capgen.IPv6, capgen.RoCEv1, capgen.VLAN, capgen.QinQ, capgen.VXLAN, capgen.ERSPAN2, capgen.ERSPAN3,
			},
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(5) {
				cfg := test.cfg
				cfg.Seed = seed
				if cfg.Packets == 0 {
					cfg.Packets = 4000
				}
				var file bytes.Buffer
				truth, err := capgen.Generate(&file, pcapfile.FormatPcap, cfg)
				require.NoError(t, err)
				result := run(t, file.Bytes(), analysis.Config{})
				got := found(&result)
				if !assert.Equal(t, truth, got, "seed %d", seed) {
					return
				}
				assert.Zero(t, result.Totals.Malformed)
				assert.Zero(t, result.Totals.ICRCUndetermined)
			}
		})
	}
}
