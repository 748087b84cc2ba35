package analysis_test

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/analysis"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/internal/capgen"
)

// metaSink keeps what records of MetaRoCE say, in the form of the truth.
type metaSink struct {
	paths   []capgen.MetaPathTruth
	streams []capgen.MetaStreamTruth
	flows   []flow.Record
}

func n(c flow.Count) uint64 { return c.N }

func (s *metaSink) Flow(r *flow.Record) error {
	s.flows = append(s.flows, r.Clone())
	for i := range r.MetaRoCE.Paths {
		p := &r.MetaRoCE.Paths[i]
		s.paths = append(s.paths, capgen.MetaPathTruth{
			Conn: r.Key.DestinationQP, Path: p.ID, Plane: uint8(p.Plane.N), Ports: len(p.Ports),
			Packets: p.Packets, PayloadBytes: p.PayloadBytes,
			Retransmitted: p.Retransmitted, RetransmittedSeen: p.RetransmittedSeen, Duplicates: p.Duplicates,
			Missing: p.MissingPSNs, MissingAcknowledged: n(p.MissingAcknowledged), CEMarked: p.CEMarked,
			Acks: n(p.Acks), ReceivedPackets: n(p.ReceivedPackets), ReceivedCE: n(p.ReceivedCE),
			RTTSamples: p.RTT.Samples, RTTMin: n(p.RTT.Min), RTTMax: n(p.RTT.Max),
			HintMin: n(p.RateHint.Min), HintMax: n(p.RateHint.Max), Hint: n(p.RateHint.Last),
		})
	}
	for i := range r.MetaRoCE.Streams {
		t := &r.MetaRoCE.Streams[i]
		s.streams = append(s.streams, capgen.MetaStreamTruth{
			Conn: r.Key.DestinationQP, Stream: t.ID, Messages: t.Messages, Complete: n(t.Complete),
			Packets: t.Packets, PayloadBytes: t.PayloadBytes, GoodputBytes: t.GoodputBytes,
			LatencyMin: n(t.Latency.Min), LatencyMax: n(t.Latency.Max), LatencySum: n(t.Latency.Mean),
		})
	}
	return nil
}

// found is what the analysis says, in the form of the truth.
func (s *metaSink) found(r *analysis.Result) capgen.MetaTruth {
	slices.SortFunc(s.paths, func(a, b capgen.MetaPathTruth) int {
		return int(int64(a.Conn)-int64(b.Conn))<<8 + int(a.Path) - int(b.Path)
	})
	slices.SortFunc(s.streams, func(a, b capgen.MetaStreamTruth) int {
		return int(int64(a.Conn)-int64(b.Conn))<<16 + int(a.Stream) - int(b.Stream)
	})
	t := &r.Totals
	return capgen.MetaTruth{
		Packets: t.RDMAPackets, Messages: t.Messages, Retransmitted: t.Retransmitted, MirrorCopies: t.MirrorCopies,
		MissingPSNs: t.MissingPSNs, CEMarked: t.CEMarked, Connections: t.Connections, Paths: s.paths, Streams: s.streams,
	}
}

func TestFindsWhatWasGeneratedOfMetaRoCE(t *testing.T) {
	tests := []struct {
		name   string
		change func(c *capgen.MetaConfig)
	}{
		{"clean", func(*capgen.MetaConfig) {}},
		{"without handshake", func(c *capgen.MetaConfig) { c.NoHandshake = true }},
		{"IPv6", func(c *capgen.MetaConfig) { c.IPv6 = true }},
		{"loss before the vantage point", func(c *capgen.MetaConfig) { c.LossBefore = 0.03 }},
		{"loss behind the vantage point", func(c *capgen.MetaConfig) { c.LossAfter = 0.03 }},
		{"lost ACKs", func(c *capgen.MetaConfig) { c.LossAck = 0.2 }},
		{"heavy loss", func(c *capgen.MetaConfig) { c.LossBefore, c.LossAfter, c.LossAck = 0.15, 0.15, 0.15 }},
		{"marks", func(c *capgen.MetaConfig) { c.Mark = 0.2 }},
		{"re-paths", func(c *capgen.MetaConfig) { c.RePath = true }},
		{"duplicates", func(c *capgen.MetaConfig) { c.Duplicate = 0.05 }},
		{"READs and atomics", func(c *capgen.MetaConfig) { c.Reads = true }},
		{"READs and atomics with loss", func(c *capgen.MetaConfig) { c.Reads, c.LossBefore, c.LossAfter = true, 0.03, 0.03 }},
		{"small messages", func(c *capgen.MetaConfig) { c.MaxMessage, c.Messages = 100, 500 }},
		{"mirrored", func(c *capgen.MetaConfig) { c.Mirror, c.Reads, c.LossAfter = true, true, 0.03 }},
		{"missed by the capture", func(c *capgen.MetaConfig) { c.CaptureMiss = 0.05 }},
		{"everything", func(c *capgen.MetaConfig) {
			c.Reads, c.RePath, c.Mirror = true, true, true
			c.LossBefore, c.LossAfter, c.LossAck, c.Mark, c.CaptureMiss = 0.02, 0.02, 0.05, 0.1, 0.02
		}},
	}
	seeds := uint64(3)
	if os.Getenv("ROCELENS_RACE") != "" { // where each takes ten times as long; `make seeded` runs them all
		seeds = 1
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for seed := range seeds {
				cfg := capgen.DefaultMeta()
				cfg.Seed = seed
				test.change(&cfg)
				var file bytes.Buffer
				truth, err := capgen.GenerateMeta(&file, pcapfile.FormatPcap, cfg)
				require.NoError(t, err)
				for i := range truth.Streams {
					if s := &truth.Streams[i]; s.Complete > 0 {
						s.LatencySum /= s.Complete
					}
				}
				var sink metaSink
				result := run(t, file.Bytes(), analysis.Config{}, &sink)
				got := sink.found(&result)
				if diff := cmp.Diff(truth, got); diff != "" {
					t.Fatalf("seed %d: truth -, found +\n%s", seed, diff)
				}
				assert.Zero(t, result.Totals.ICRCErrors+result.Totals.Malformed+result.Totals.NotRDMA)
			}
		})
	}
}
