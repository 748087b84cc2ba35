package capture_test

import (
	"math"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/internal/vethtest"
)

// BenchmarkSources sends packets of 4 KiB over a cable, and tells the processor time that capturing one takes beside what
// the cable takes by itself: of the kernel on its way, and of the reader. What was lost cost less, and is told too.
func BenchmarkSources(b *testing.B) {
	f := build.Frame{Source: netip.MustParseAddr("10.0.0.1"), Destination: netip.MustParseAddr("10.0.0.2"), BTH: infiniband.BTH{Opcode: 0x07, PartitionKey: 0xffff, DestinationQP: 0x11}, Payload: make([]byte, 4096), SourcePort: 50000}
	frames := make([][]byte, 20_000)
	data, err := f.AppendTo(nil)
	require.NoError(b, err)
	for i := range frames {
		frames[i] = data
	}
	for _, l := range sources() {
		b.Run(l.name, func(b *testing.B) {
			left, right := vethtest.Pair(b)
			without, with := int64(math.MaxInt64), int64(math.MaxInt64) // the least of all tries
			for b.Loop() {
				left.Send(b, frames[:1000]) // both are warm
				without = min(without, busy(b, func() { left.Send(b, frames) }))
				var s capture.Source
				var err error
				<-right.Go(b, func() { s, err = l.open(right.Interface, 64<<20) })
				require.NoError(b, err)
				ended := make(chan struct{})
				with = min(with, busy(b, func() {
					go func() {
						defer close(ended)
						var batch capture.Batch
						for s.Next(&batch) == nil { //nolint:revive // what is captured is not looked at
						}
					}()
					left.Send(b, frames)
				}))
				i := s.Interfaces()[0]
				<-right.Go(b, func() { require.NoError(b, s.Close()) })
				<-ended
				b.ReportMetric(float64(with-without)/float64(len(frames)), "cpu-ns/packet")
				b.ReportMetric(float64(without)/float64(len(frames)), "cpu-ns/packet-without")
				b.ReportMetric(100*float64(*i.Dropped)/float64(*i.Received), "%lost")
			}
		})
	}
}

// busy is the processor time of this process while fn runs, ns.
func busy(b *testing.B, fn func()) int64 {
	b.Helper()
	used := func() int64 {
		var r unix.Rusage
		require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &r))
		return r.Utime.Nano() + r.Stime.Nano()
	}
	before := used()
	fn()
	return used() - before
}
