package watch_test

import (
	"context"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/budget"
	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/watch"
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/internal/vethtest"
)

// perFlow counts packets of records by the addresses, in either direction.
type perFlow struct {
	*ledger
	pairs map[[2]dissector.Address]uint64
}

func (p *perFlow) Flow(r *flow.Record) {
	p.ledger.Flow(r)
	p.pairs[[2]dissector.Address{r.Key.Source, r.Key.Destination}] += r.Packets
}

// losses counts what taps are told of losses.
type losses struct{ told int }

func (l *losses) Lost(uint64, int64, int64) { l.told++ }
func (l *losses) Packet(*watch.Event)       {}
func (l *losses) Tick(time.Time)            {}

// exchange is requests of a pair of hosts, and their acknowledgments.
func exchange(t *testing.T, host byte, from, to uint32) (frames [][]byte) {
	t.Helper()
	one, other := netip.AddrFrom4([4]byte{10, 1, host, 1}), netip.AddrFrom4([4]byte{10, 1, host, 2})
	for psn := from; psn < to; psn++ {
		frames = append(frames,
			frame(t, &build.Frame{Source: one, Destination: other, SourcePort: 50000, ID: uint16(psn + 1), BTH: infiniband.BTH{Opcode: 0x04, DestinationQP: 0x11, PSN: psn}, Payload: make([]byte, 64)}),
			frame(t, &build.Frame{Source: other, Destination: one, SourcePort: 50000, ID: uint16(psn + 1), BTH: infiniband.BTH{Opcode: 0x11, DestinationQP: 0x22, PSN: psn}, AETH: infiniband.AETH{MSN: psn + 1}}))
	}
	return frames
}

// TestConnectionsAreFollowedWholeOrNot follows a quarter of all connections for a while: those are complete to the packet, in both
// directions, and the others are in the ledger.
func TestConnectionsAreFollowedWholeOrNot(t *testing.T) {
	const hosts, packets = 200, 10
	left, right := vethtest.Pair(t)
	l, tap, share := &perFlow{newLedger(), map[[2]dissector.Address]uint64{}}, &losses{}, new(budget.Share)
	share.Set(budget.Parts / 4)
	ctx, stop := context.WithCancel(t.Context())
	var failed error
	ready := make(chan struct{})
	done := right.Go(t, func() {
		w, err := watch.Open(watch.Options{
			Interface: right.Interface, Interval: time.Second, Idle: time.Minute, Logger: slog.New(slog.DiscardHandler), Share: share,
			Taps: []watch.Tap{tap}, Capture: watch.Capture{By: watch.ByAFPacket, RingBytes: 8 << 20},
		}, l)
		close(ready)
		if failed = err; err == nil {
			failed = w.Run(ctx)
		}
	})
	<-ready
	var last watch.Interval
	until := func(seen uint64) {
		for last.Total.DecodeOut < seen {
			last = <-l.intervals
			sums := <-l.sums
			holds(t, &last, sums[0])
		}
	}
	for host := range byte(hosts) {
		left.Send(t, exchange(t, host, 0, packets))
	}
	until(hosts * packets * 2)
	shed := last.Total.Drops[watch.DropShed]
	share.Set(budget.Parts)
	for host := range byte(hosts) {
		left.Send(t, exchange(t, host, packets, 2*packets))
	}
	until(hosts * packets * 4)
	stop()
	<-done
	require.NoError(t, failed)

	whole := 0
	for pair, n := range l.pairs {
		assert.Equal(t, n, l.pairs[[2]dissector.Address{pair[1], pair[0]}], "one direction without the other: %v", pair)
		if n == 2*packets {
			whole++
			continue
		}
		assert.EqualValues(t, packets, n, "a part of %v", pair)
	}
	assert.Len(t, l.pairs, 2*hosts)
	assert.InDelta(t, 2*hosts/4, whole, hosts/4, "about a quarter was followed from the start")
	assert.EqualValues(t, (2*hosts-whole)*packets, shed, "what was not followed is counted")
	assert.Equal(t, shed, last.Total.Drops[watch.DropShed], "nothing more was left out")
	assert.Equal(t, 2, tap.told, "nothing is judged across a change")
}
