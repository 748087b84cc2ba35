package analysis_test

import (
	"bytes"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rocelens/rocelens/analysis"
	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/pcapfile"
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/internal/capgen"
	"github.com/rocelens/rocelens/replay"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/roce/scenario"
)

// traffic is a kind of traffic, as frames in memory.
type traffic struct {
	name   string
	frames func(tb testing.TB) []capture.Frame
}

// ofScenario is traffic of reference endpoints.
func ofScenario(change func(c *scenario.Config)) func(testing.TB) []capture.Frame {
	return func(tb testing.TB) (all []capture.Frame) {
		tb.Helper()
		c := scenario.DefaultConfig()
		c.Seed, c.Connections, c.Messages = 1, 4, 2000
		change(&c)
		c.Tap = func(f scenario.Frame) {
			all = append(all, capture.Frame{Data: bytes.Clone(f.Data), Time: int64(f.Time), HasTime: true})
		}
		r, err := scenario.New(c)
		require.NoError(tb, err)
		r.Go()
		return all
	}
}

// ofFile is traffic of a generator of captures.
func ofFile(write func(w io.Writer) error) func(testing.TB) []capture.Frame {
	return func(tb testing.TB) (all []capture.Frame) {
		tb.Helper()
		var file bytes.Buffer
		require.NoError(tb, write(&file))
		source, err := pcapfile.New(&file, "generated", pcapfile.Options{})
		require.NoError(tb, err)
		for batch := (capture.Batch{Frames: make([]capture.Frame, 0, 256)}); ; {
			if err = source.Next(&batch); err != nil {
				break
			}
			for i := range batch.Frames {
				f := batch.Frames[i]
				f.Data = bytes.Clone(f.Data)
				all = append(all, f)
			}
		}
		require.ErrorIs(tb, err, io.EOF)
		return all
	}
}

func ofGenerator(change func(c *capgen.Config)) func(testing.TB) []capture.Frame {
	return ofFile(func(w io.Writer) error {
		c := capgen.Default()
		c.Packets, c.Connections = 50_000, 16
		change(&c)
		_, err := capgen.Generate(w, pcapfile.FormatPcap, c)
		return err
	})
}

func ofMetaRoCE(change func(c *capgen.MetaConfig)) func(testing.TB) []capture.Frame {
	return ofFile(func(w io.Writer) error {
		c := capgen.DefaultMeta()
		c.Connections, c.Messages, c.MTU, c.Reads = 4, 100, 1024, true
		change(&c)
		_, err := capgen.GenerateMeta(w, pcapfile.FormatPcap, c)
		return err
	})
}

var kindsOfTraffic = []traffic{
	{"WRITEs", ofScenario(func(c *scenario.Config) { c.Mix = scenario.Writes })},
	{"SENDs, READs, WRITEs, atomics", ofScenario(func(c *scenario.Config) { c.Mix = scenario.AllOperations })},
	{"1 % lost, NAKs", ofScenario(func(c *scenario.Config) { c.Mix, c.Loss = scenario.AllOperations, 0.01 })},
	{"READs", ofScenario(func(c *scenario.Config) { c.Mix = scenario.Reads })},
	{"READs, 1 % lost", ofScenario(func(c *scenario.Config) { c.Mix, c.Loss = scenario.Reads, 0.01 })},
	{"RNR NAKs", ofScenario(func(c *scenario.Config) {
		c.Mix, c.Unready, c.UnreadyFor = scenario.Sends, 0.1, 100*time.Microsecond
	})},
	{"incast of 8, CNPs", ofScenario(func(c *scenario.Config) {
		c.Mix, c.Clients, c.Servers, c.Connections, c.Messages, c.MaxMessage, c.Queue, c.Mark = scenario.Writes, 8, 1, 16, 200, 64<<10, 256<<10, 64<<10
	})},
	{"1,024 connections", ofGenerator(func(c *capgen.Config) { c.Connections, c.Packets = 1024, 100_000 })},
	{"UC", ofGenerator(func(c *capgen.Config) { c.Service = infiniband.ServiceUC })},
	{"UD", ofGenerator(func(c *capgen.Config) { c.Service, c.MinMessage, c.MaxMessage = infiniband.ServiceUD, 64, 1024 })},
	{"MetaRoCE, 8 paths", ofMetaRoCE(func(*capgen.MetaConfig) {})},
	{"MetaRoCE, 8 paths, 1 % lost", ofMetaRoCE(func(c *capgen.MetaConfig) { c.LossBefore, c.LossAfter, c.Mark = 0.005, 0.005, 0.05 })},
	{"MetaRoCE, 8 paths, 5 % lost", ofMetaRoCE(func(c *capgen.MetaConfig) { c.LossBefore, c.LossAfter, c.CaptureMiss = 0.025, 0.025, 0.001 })},
	{"MetaRoCE, 256 connections", ofMetaRoCE(func(c *capgen.MetaConfig) { c.Connections, c.Messages = 256, 3 })},
}

// unread takes what an engine finds, and does nothing with it.
type unread struct{ diverging int }

func (u *unread) Finding(f *finding.Finding) {
	if f.Verdict == finding.Diverges {
		u.diverging++
	}
}
func (*unread) Connection(*finding.Connection) {}
func (*unread) Attempt(*finding.Attempt)       {}

// pass decodes and tracks frames as an analysis does, and also judges them if that is wanted. It tells the processor time that takes,
// without making what it needs before the first frame.
func pass(frames []capture.Frame, judged bool, sink replay.Sink) time.Duration {
	const group = 16
	var packets [group]dissector.Packet
	var errs [group]error
	tracker := flow.NewTracker(flow.DefaultConfig(), func(*flow.Record) {})
	judging := analysis.NewJudging(replay.New(replay.Config{}, sink))
	runtime.GC()
	begin := processorTime()
	for first := 0; first < len(frames); first += group {
		some := frames[first:min(first+group, len(frames))]
		for i := range some {
			f := &some[i]
			errs[i] = dissector.Decode(f.Data, dissector.Meta{
				LinkType: dissector.LinkTypeEthernet, Number: uint64(first + i + 1), HasTime: f.HasTime, Time: f.Time, OriginalLength: uint32(len(f.Data)),
			}, &packets[i])
		}
		tracker.Warm(packets[:len(some)])
		for i := range some {
			seen := tracker.Observe(&packets[i], errs[i], dissector.ICRCGood)
			if judged {
				judging.Packet(tracker, &packets[i], errs[i], dissector.ICRCGood, &seen)
			}
		}
	}
	return processorTime() - begin
}

// processorTime is what the process has used so far, garbage collection and all: on a busy machine the clock tells less.
func processorTime() time.Duration {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkReplay prints what replay takes for a packet, by kind of traffic, as a multiple of decoding and tracking the same
// packets in the same run (ICRC aside): at most 5.
func BenchmarkReplay(b *testing.B) {
	// On one core the garbage collector works when it has to, and not because another one is idle.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, kind := range kindsOfTraffic {
		b.Run(kind.name, func(b *testing.B) {
			frames := kind.frames(b)
			require.Greater(b, len(frames), 10_000)
			var sums [2]time.Duration
			var sink unread
			for b.Loop() {
				for turn, judged := range []bool{false, true} {
					sink = unread{}
					sums[turn] += pass(frames, judged, &sink)
				}
			}
			n := float64(len(frames) * b.N)
			b.ReportMetric(float64(len(frames)), "packets")
			b.ReportMetric(float64(sink.diverging), "diverging")
			b.ReportMetric(float64(sums[0])/n, "ns/decode+track")
			b.ReportMetric(float64(sums[1]-sums[0])/n, "ns/replay")
			b.ReportMetric(float64(sums[1]-sums[0])/float64(sums[0]), "times")
			b.ReportMetric(0, "ns/op")
		})
	}
}
