package analysis_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rocelens/rocelens/analysis"
	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/internal/capgen"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func generate(tb testing.TB, cfg capgen.Config) ([]byte, capgen.Truth) {
	tb.Helper()
	var file bytes.Buffer
	truth, err := capgen.Generate(&file, pcapfile.FormatPcap, cfg)
	require.NoError(tb, err)
	return file.Bytes(), truth
}

func open(tb testing.TB, data []byte) *pcapfile.Source {
	tb.Helper()
	source, err := pcapfile.New(bytes.NewReader(data), "test", pcapfile.Options{})
	require.NoError(tb, err)
	tb.Cleanup(func() { assert.NoError(tb, source.Close()) })
	return source
}

// sequence checks that packets come in order, each once, with their place in the file.
type sequence struct {
	t      *testing.T
	events []analysis.PacketEvent
	data   [][]byte
	flows  []flow.Record
}

func (s *sequence) Packet(e *analysis.PacketEvent) error {
	s.events = append(s.events, *e)
	assert.EqualValues(s.t, len(s.events), e.Packet.Meta.Number)
	s.data = append(s.data, bytes.Clone(e.Packet.Data))
	return nil
}

func (s *sequence) Flow(r *flow.Record) error {
	s.flows = append(s.flows, *r)
	return nil
}

func TestSinksSeeEverythingInOrder(t *testing.T) {
	data, truth := generate(t, capgen.Config{Seed: 1, Packets: 5000, Faults: capgen.Faults{LossBefore: 0.2}})
	s := &sequence{t: t}
	result := run(t, data, analysis.Config{}, s)
	assert.Equal(t, truth, found(&result))
	require.Len(t, s.events, int(truth.Packets))
	offset := int64(0)
	for i, e := range s.events {
		assert.Greater(t, e.Offset, offset)
		offset = e.Offset
		assert.Equal(t, data[e.Offset+16:e.Offset+16+int64(len(s.data[i]))], s.data[i], "packet %d", i+1)
		assert.NotZero(t, e.Observation.Flow)
	}
	assert.Len(t, s.flows, int(result.Totals.Flows))
	var packets uint64
	for i := range s.flows {
		packets += s.flows[i].Packets
	}
	assert.Equal(t, truth.Packets, packets, "every packet belongs to a flow")
	require.Len(t, result.Files, 1)
	assert.Equal(t, truth.Packets, result.Files[0].Packets)
	assert.True(t, result.HasTime)
	assert.LessOrEqual(t, result.FirstTime, result.LastTime)
}

func TestSeveralSourcesAreOneCapture(t *testing.T) {
	first, firstTruth := generate(t, capgen.Config{Seed: 1, Packets: 1000})
	second, secondTruth := generate(t, capgen.Config{Seed: 2, Packets: 700})
	s := &sequence{t: t}
	a := analysis.New(analysis.Config{}, s)
	a.ExpectBytes(int64(len(first) + len(second)))
	require.NoError(t, a.Add(t.Context(), "first", open(t, first)))
	require.NoError(t, a.Add(t.Context(), "second", open(t, second)))
	p := a.Progress()
	assert.Equal(t, firstTruth.Packets+secondTruth.Packets, p.Packets)
	assert.EqualValues(t, len(first)+len(second), p.BytesRead)
	assert.EqualValues(t, 0, p.Left)
	result, err := a.Finish()
	require.NoError(t, err)
	require.Len(t, result.Files, 2)
	assert.Equal(t, "second", result.Files[1].Name)
	assert.Equal(t, firstTruth.Packets+1, result.Files[1].FirstNumber)
	assert.Equal(t, firstTruth.Packets+secondTruth.Packets, result.Totals.Packets)
	last := s.events[len(s.events)-1]
	assert.Equal(t, 1, last.File)
	assert.Equal(t, secondTruth.Packets, last.FileNumber)
}

// endless yields one frame for ever, and tells when it was asked.
type endless struct {
	frame []byte
	asked func(n int)
	n     int
}

func (e *endless) Next(b *capture.Batch) error {
	e.n++
	e.asked(e.n)
	b.Frames = append(b.Frames[:0], capture.Frame{Data: e.frame, LinkType: 1, Number: uint64(e.n), HasTime: true})
	return nil
}

func (e *endless) Interfaces() []capture.Interface { return []capture.Interface{{LinkType: 1}} }
func (e *endless) Report() capture.Report          { return capture.Report{Packets: uint64(e.n)} }
func (e *endless) Close() error                    { return nil }

func TestCancellationStopsWithinAFewBatches(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	source := &endless{frame: make([]byte, 60)}
	source.asked = func(n int) {
		if n == 100 {
			cancel()
		}
	}
	_, err := analysis.Run(ctx, source, analysis.Config{})
	require.ErrorIs(t, err, context.Canceled)
	assert.LessOrEqual(t, source.n, 101)
}

var errSink = errors.New("disk full")

type failing struct{ after int }

func (f *failing) Packet(*analysis.PacketEvent) error {
	if f.after--; f.after < 0 {
		return errSink
	}
	return nil
}

func TestSinkErrorEndsTheRun(t *testing.T) {
	source := &endless{frame: make([]byte, 60), asked: func(int) {}}
	_, err := analysis.Run(t.Context(), source, analysis.Config{}, &failing{after: 50})
	require.ErrorIs(t, err, errSink)
}

type failingFlows struct{}

func (failingFlows) Flow(*flow.Record) error { return errSink }

func TestFlowSinkErrorIsTold(t *testing.T) {
	data, _ := generate(t, capgen.Config{Seed: 1, Packets: 100})
	_, err := analysis.Run(t.Context(), open(t, data), analysis.Config{}, failingFlows{})
	require.ErrorIs(t, err, errSink)
}

// broken fails before its first frame.
type broken struct{ endless }

func (broken) Next(*capture.Batch) error { return io.ErrUnexpectedEOF }

func TestSourceErrorLeavesTheRunUsable(t *testing.T) {
	data, truth := generate(t, capgen.Config{Seed: 1, Packets: 100})
	a := analysis.New(analysis.Config{})
	require.ErrorIs(t, a.Add(t.Context(), "broken", &broken{}), io.ErrUnexpectedEOF)
	require.NoError(t, a.Add(t.Context(), "good", open(t, data)))
	result, err := a.Finish()
	require.NoError(t, err)
	require.ErrorIs(t, result.Files[0].Err, io.ErrUnexpectedEOF)
	assert.Equal(t, truth.Packets, result.Totals.Packets)
}

// cutting cuts its file short while it is being read.
type cutting struct {
	path string
	size int64
	t    *testing.T
	done bool
}

func (c *cutting) Packet(*analysis.PacketEvent) error {
	if !c.done {
		c.done = true
		require.NoError(c.t, os.Truncate(c.path, c.size))
	}
	return nil
}

func TestFileCutShortUnderItsMapIsPartial(t *testing.T) {
	data, truth := generate(t, capgen.Config{Seed: 1, Packets: 20_000})
	path := filepath.Join(t.TempDir(), "shrinking.pcap")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	source, err := pcapfile.Open(path, pcapfile.Options{})
	require.NoError(t, err)
	c := &cutting{path: path, size: int64(len(data) / 4), t: t}
	result, err := analysis.Run(t.Context(), source, analysis.Config{}, c)
	require.NoError(t, err)
	require.NoError(t, source.Close())
	assert.True(t, result.Partial())
	assert.Regexp(t, "cut short while it was being read|the file ends inside record", result.Files[0].Report.Fault)
	assert.NotZero(t, result.Totals.Packets)
	assert.Less(t, result.Totals.Packets, truth.Packets)
}

func TestWhatIsBesideRDMA(t *testing.T) {
	data, truth := generate(t, capgen.Config{Seed: 1, Packets: 1000, Background: 10})
	result := run(t, data, analysis.Config{})
	var sum uint64
	names := map[string]bool{}
	for _, b := range result.Beside {
		sum += b.Packets
		names[b.Name] = true
	}
	assert.Equal(t, truth.NotRDMA, sum)
	assert.Equal(t, map[string]bool{"ARP": true, "TCP": true}, names)
}

// verdicts are the flags of packets after all revisions.
type verdicts map[uint64]flow.Flags

func (v verdicts) Packet(e *analysis.PacketEvent) error {
	v[e.Packet.Meta.Number] = e.Observation.Flags
	if r := e.Observation.Revised; r.Number != 0 {
		v[r.Number] = r.Flags
	}
	return nil
}

func (v verdicts) Revision(r flow.Revision) error {
	v[r.Number] = r.Flags
	return nil
}

// TestLastPacketRevisesSeveral ends a capture with the packet that tells what three before it were.
func TestLastPacketRevisesSeveral(t *testing.T) {
	var file bytes.Buffer
	writer, err := pcapfile.NewWriter(&file, pcapfile.FormatPcap, pcapfile.WriterOptions{Nanosecond: true})
	require.NoError(t, err)
	for i, psn := range []uint32{100, 101, 105, 102, 103, 104, 105} {
		frame := build.Frame{
			Source: netip.MustParseAddr("10.0.0.1"), Destination: netip.MustParseAddr("10.0.0.2"),
			BTH: infiniband.BTH{Opcode: infiniband.RCWriteMiddle, DestinationQP: 7, PSN: psn}, Payload: make([]byte, 256),
		}
		data, err := frame.AppendTo(nil)
		require.NoError(t, err)
		// Slower than any mirror, faster than any time-out.
		require.NoError(t, writer.WriteFrame(&capture.Frame{Data: data, LinkType: 1, Time: int64(i) * 10_000, HasTime: true}))
	}
	seen := verdicts{}
	result := run(t, file.Bytes(), analysis.Config{}, seen)
	const again = flow.FlagRetransmitted
	assert.Equal(t, verdicts{1: 0, 2: 0, 3: flow.FlagGapBefore, 4: again, 5: again, 6: again, 7: again | flow.FlagDuplicate}, seen)
	assert.EqualValues(t, 4, result.Totals.Retransmitted)
}

func TestDropsOfTheCapture(t *testing.T) {
	path := filepath.Join("..", "testdata", "derived", "ct-multi-if.pcapng")
	result := analyzeFile(t, path)
	dropped := result.Dropped()
	assert.True(t, dropped.Known)
	assert.EqualValues(t, 3, dropped.N)
	result = analyzeFile(t, filepath.Join("..", "testdata", "derived", "sit-rnr.pcap"))
	assert.False(t, result.Dropped().Known)
}

// TestPacketsCostNoAllocation compares runs over a short and a long capture of the same flows.
func TestPacketsCostNoAllocation(t *testing.T) {
	short, shortTruth := generate(t, capgen.Config{Seed: 1, Packets: 5_000})
	long, longTruth := generate(t, capgen.Config{Seed: 1, Packets: 50_000})
	dir := t.TempDir()
	allocations := func(name string, data []byte) float64 {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, data, 0o600))
		return testing.AllocsPerRun(3, func() {
			source, err := pcapfile.Open(path, pcapfile.Options{})
			require.NoError(t, err)
			_, err = analysis.Run(context.Background(), source, analysis.Config{})
			require.NoError(t, err)
			require.NoError(t, source.Close())
		})
	}
	more := allocations("long", long) - allocations("short", short)
	packets := float64(longTruth.Packets - shortTruth.Packets)
	// A batch of 256 may cost a few for protecting the map; a packet none.
	assert.Less(t, more/packets, 0.05)
}
