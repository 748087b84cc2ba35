package capgen_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/internal/capgen"
)

// decodeAll hands every frame of a capture to visit.
func decodeAll(t *testing.T, data []byte, visit func(p *dissector.Packet, err error)) {
	t.Helper()
	source, err := pcapfile.New(bytes.NewReader(data), "generated", pcapfile.Options{})
	require.NoError(t, err)
	var batch capture.Batch
	for {
		err := source.Next(&batch)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		for _, f := range batch.Frames {
			var p dissector.Packet
			visit(&p, dissector.Decode(f.Data, dissector.Meta{
				Time: f.Time, HasTime: f.HasTime, Number: f.Number,
				OriginalLength: f.OriginalLength, LinkType: dissector.LinkType(f.LinkType),
			}, &p))
		}
	}
	assert.False(t, source.Report().Partial)
	require.NoError(t, source.Close())
}

func TestOpcodesReadAsTheyWereWritten(t *testing.T) {
	var file bytes.Buffer
	sent, err := capgen.Opcodes(&file, pcapfile.FormatPcapng, 1)
	require.NoError(t, err)
	i := 0
	decodeAll(t, file.Bytes(), func(p *dissector.Packet, err error) {
		s := sent[i]
		i++
		if name := s.Opcode.String(); s.Opcode == infiniband.RCGetClass || s.Opcode == infiniband.RCPutClass {
			assert.ErrorIs(t, err, dissector.ErrUnsupported, name)
		} else {
			assert.NoError(t, err, "%v in %v: %v", s.Opcode, s.Encapsulation, p.Fault)
			assert.EqualValues(t, s.PayloadLength, p.PayloadLength, "%v in %v", s.Opcode, s.Encapsulation)
		}
		assert.Equal(t, s.Opcode, p.BTH.Opcode)
		assert.Equal(t, s.DestinationQP, p.BTH.DestinationQP)
		assert.Equal(t, s.PSN, p.BTH.PSN)
		assert.Equal(t, dissector.ICRCGood, dissector.VerifyICRC(p), "%v in %v", s.Opcode, s.Encapsulation)
	})
	assert.Len(t, sent, i)
}

func TestLinksReadAsTheyWereWritten(t *testing.T) {
	for _, l := range []capgen.Link{capgen.LinkEthernet, capgen.LinkSLL, capgen.LinkSLL2, capgen.LinkERF} {
		var file bytes.Buffer
		truth, err := capgen.Generate(&file, pcapfile.FormatPcap, capgen.Config{
			Seed: 5, Packets: 500, Connections: 4, Link: l, Encapsulations: []capgen.Encapsulation{capgen.IPv4, capgen.IPv6, capgen.SRv6, capgen.RoCEv1}, Background: 10,
		})
		require.NoError(t, err)
		roce := uint64(0)
		decodeAll(t, file.Bytes(), func(p *dissector.Packet, err error) {
			if errors.Is(err, dissector.ErrNotRDMA) {
				return
			}
			roce++
			require.NoError(t, err, "%v: %v", l, p.Fault)
			require.Equal(t, dissector.ICRCGood, dissector.VerifyICRC(p), "%v", l)
		})
		assert.Equal(t, truth.RDMAPackets, roce, "%v", l)
		named, err := capgen.ParseLink(l.String())
		require.NoError(t, err)
		assert.Equal(t, l, named)
	}
}

func TestSameSeedSameBytes(t *testing.T) {
	cfg := capgen.Config{Seed: 3, Packets: 2000, Faults: capgen.Faults{LossBefore: 0.2, Reorder: 0.2}}
	var first, second, other bytes.Buffer
	truth, err := capgen.Generate(&first, pcapfile.FormatPcap, cfg)
	require.NoError(t, err)
	again, err := capgen.Generate(&second, pcapfile.FormatPcap, cfg)
	require.NoError(t, err)
	cfg.Seed = 4
	_, err = capgen.Generate(&other, pcapfile.FormatPcap, cfg)
	require.NoError(t, err)
	assert.Equal(t, truth, again)
	assert.True(t, bytes.Equal(first.Bytes(), second.Bytes()))
	assert.False(t, bytes.Equal(first.Bytes(), other.Bytes()))
}

func TestCountsAndOrder(t *testing.T) {
	var file bytes.Buffer
	truth, err := capgen.Generate(&file, pcapfile.FormatPcap, capgen.Config{
		Seed: 9, Packets: 5000, Background: 10, Faults: capgen.Faults{Mark: 0.5, Corrupt: 0.2, LossAfter: 0.2},
	})
	require.NoError(t, err)
	var got capgen.Truth
	var last int64
	decodeAll(t, file.Bytes(), func(p *dissector.Packet, err error) {
		got.Packets++
		assert.GreaterOrEqual(t, p.Meta.Time, last)
		last = p.Meta.Time
		if errors.Is(err, dissector.ErrNotRDMA) {
			got.NotRDMA++
			return
		}
		require.NoError(t, err)
		got.RDMAPackets++
		if p.Network.ECN == dissector.ECNCE {
			got.CEMarked++
		}
		if p.BTH.Opcode.IsCNP() {
			got.CNPs++
		}
		if p.BTH.Opcode.IsAck() && p.AETH.Syndrome.IsNAK() {
			got.Naks++
		}
		if dissector.VerifyICRC(p) == dissector.ICRCBad {
			got.ICRCErrors++
		}
	})
	assert.NotZero(t, got.CNPs)
	assert.NotZero(t, got.Naks)
	assert.NotZero(t, got.ICRCErrors)
	want := truth
	want.Messages, want.Retransmitted, want.Connections = 0, 0, 0
	assert.Equal(t, want, got)
}

func TestSamplesAreCurrent(t *testing.T) {
	for _, name := range capgen.SampleNames() {
		kept, err := os.ReadFile(filepath.Join("..", "..", "testdata", name))
		require.NoError(t, err)
		var made bytes.Buffer
		_, err = capgen.Sample(&made, name)
		require.NoError(t, err)
		assert.True(t, bytes.Equal(kept, made.Bytes()), "run: go run ./cmd/capgen --sample %s --out testdata/%s", name, name)
	}
	_, err := capgen.Sample(io.Discard, "no such sample")
	assert.ErrorContains(t, err, "read-write-mix.pcap")
}

func TestRefusesNonsense(t *testing.T) {
	for _, cfg := range []capgen.Config{
		{Packets: -1},
		{Connections: 1 << 30},
		{PathMTU: 1000},
		{MinMessage: 10, MaxMessage: 5},
		{Service: infiniband.ServiceRD},
	} {
		_, err := capgen.Generate(io.Discard, pcapfile.FormatPcap, cfg)
		assert.ErrorContains(t, err, "generate capture", "%+v", cfg)
	}
}
