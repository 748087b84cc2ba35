package softmetaroce

import (
	"context"
	"net/netip"
	"runtime"
	"testing"
)

// loopbackTransfer moves data between two peers of this process and returns the client's report.
func loopbackTransfer(tb testing.TB, size uint64) *Report {
	tb.Helper()
	configs := [2]Config{DefaultConfig(), DefaultConfig()}
	for i := range configs {
		configs[i].Seed, configs[i].Addresses = uint64(i+1), []netip.Addr{loopback()}
	}
	ctx, stop := context.WithCancel(tb.Context())
	s, err := NewServer(configs[1], nil)
	if err != nil {
		tb.Fatal(err)
	}
	serving := spawn(func() {
		if err := s.Serve(ctx); err != nil {
			tb.Error(err)
		}
	})
	c, err := NewClient(configs[0], Transfer{Operation: "write", Size: size, Message: 1 << 18, Streams: 4, Depth: 4, Seed: 1}, configs[1].Addresses[0])
	if err != nil {
		tb.Fatal(err)
	}
	report, err := c.Run(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	stop()
	<-serving
	return report
}

// A longer transfer allocates no more than a short one, but for the sums of its messages: nothing is allocated for a
// packet.
func TestNothingIsAllocatedForAPacket(t *testing.T) {
	measure := func(size uint64) (allocations, packets uint64) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		report := loopbackTransfer(t, size)
		runtime.ReadMemStats(&after)
		return after.Mallocs - before.Mallocs, report.Connection.Sent.Packets
	}
	measure(1 << 20)
	short, few := measure(16 << 20)
	long, many := measure(256 << 20)
	if perPacket := (float64(long) - float64(short)) / float64(many-few); perPacket > 0.05 {
		t.Errorf("%d allocations for %d packets, %d for %d: %.3f a packet", short, few, long, many, perPacket)
	}
}

func BenchmarkLoopback(b *testing.B) {
	const size = 1 << 28
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		loopbackTransfer(b, size)
	}
}
