package watch_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"log/slog"
	"maps"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/watch"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/internal/vethtest"
)

// ledger keeps what a watch says. Once it is held, the watch waits in End until it is let go.
type ledger struct {
	intervals chan watch.Interval
	packets   uint64 // of records, of the interval
	copies    uint64 // mirror copies among them
	sums      chan [2]uint64
	hold      chan chan struct{}
}

func newLedger() *ledger {
	return &ledger{intervals: make(chan watch.Interval, 1000), sums: make(chan [2]uint64, 1000), hold: make(chan chan struct{}, 1)}
}

func (l *ledger) Flow(r *flow.Record) {
	l.packets += r.Packets
	l.copies += r.MirrorCopies
}

func (l *ledger) End(i *watch.Interval) error {
	kept := *i // but for its maps, which the watch goes on with
	kept.Account.Drops, kept.Total.Drops = maps.Clone(i.Account.Drops), maps.Clone(i.Total.Drops)
	l.intervals <- kept
	l.sums <- [2]uint64{l.packets, l.copies}
	l.packets, l.copies = 0, 0
	select {
	case held := <-l.hold:
		held <- struct{}{}
		<-held
	default:
	}
	return nil
}

// send is a SEND of one packet to a QP.
func send(t *testing.T, qp, psn uint32, payload int) []byte {
	t.Helper()
	return frame(t, &build.Frame{
		Source: netip.MustParseAddr("10.0.0.1"), Destination: netip.MustParseAddr("10.0.0.2"), SourcePort: 50000, ID: uint16(psn + 1),
		BTH:     infiniband.BTH{Opcode: 0x04, DestinationQP: qp, PSN: psn}, // RC SEND Only
		Payload: make([]byte, payload),
	})
}

func frame(t *testing.T, f *build.Frame) []byte {
	t.Helper()
	data, err := f.AppendTo(nil)
	require.NoError(t, err)
	return data
}

// holds checks one interval, stage by stage.
func holds(t *testing.T, i *watch.Interval, packets uint64) {
	t.Helper()
	a := &i.Account
	var decode, track uint64
	for reason, n := range a.Drops {
		switch {
		case bytes.HasPrefix([]byte(reason), []byte("decode:")):
			decode += n
		case bytes.HasPrefix([]byte(reason), []byte("track:")):
			track += n
		}
	}
	assert.Equal(t, a.SourceOut, a.DecodeOut+decode, "decode: %+v", a)
	assert.Equal(t, a.DecodeOut, a.TrackOut+track, "track: %+v", a)
	assert.Equal(t, a.TrackOut, packets, "records of flows: %+v", a)
	total := &i.Total
	assert.Equal(t, total.SourceIn, total.SourceOut+total.SourceHeld+total.Drops[watch.DropRing], "source: %+v", total)
}

// TestEveryPacketIsAccountedFor loses known packets at each stage before rows are made: in a ring that nobody empties for
// a while, in the decoder, and in the tracker.
func TestEveryPacketIsAccountedFor(t *testing.T) {
	for _, by := range []string{watch.ByAFPacket, watch.ByHeaders, watch.ByAFXDP} {
		t.Run(by, func(t *testing.T) { accountedFor(t, by) })
	}
}

func accountedFor(t *testing.T, by string) {
	t.Helper()
	left, right := vethtest.Pair(t)
	l := newLedger()
	ctx, stop := context.WithCancel(t.Context())
	var failed error
	ready := make(chan struct{})
	done := right.Go(t, func() {
		w, err := watch.Open(watch.Options{
			Interface: right.Interface, Interval: time.Second, Idle: time.Minute, Capture: watch.Capture{By: by, RingBytes: 2 << 20}, Logger: slog.New(slog.DiscardHandler),
		}, l)
		close(ready)
		if failed = err; err == nil {
			failed = w.Run(ctx)
		}
	})
	<-ready
	next := func() (i watch.Interval, sums [2]uint64) {
		i, sums = <-l.intervals, <-l.sums
		holds(t, &i, sums[0])
		return i, sums
	}

	// Known packets of each kind, none of which is lost in the ring.
	contradictory := send(t, 0x77, 5, 100)
	binary.BigEndian.PutUint16(contradictory[14+20+4:], 4) // a UDP length shorter than the UDP header
	strange := bytes.Clone(send(t, 0x77, 5, 100))
	strange[12], strange[13] = 0x88, 0xb5 // local experimental EtherType
	pause := append([]byte{1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0x88, 8, 1, 1, 0, 8}, make([]byte, 44)...)
	unknown := frame(t, &build.Frame{ // padding where there is no payload, and of a flow that nothing else is known of
		Source: netip.MustParseAddr("10.0.0.1"), Destination: netip.MustParseAddr("10.0.0.2"), SourcePort: 50000,
		BTH: infiniband.BTH{Opcode: 0x04, DestinationQP: 0x99, PadCount: 3}, KeepPadCount: true,
	})
	var frames [][]byte
	for psn := range uint32(200) {
		frames = append(frames, send(t, 0x11, psn, 64))
	}
	frames = append(frames, frames[199], frames[199]) // captured again
	frames = append(frames, strange, strange, strange, pause, pause, contradictory, unknown, unknown)
	left.Send(t, frames)
	var seen uint64
	var copies uint64
	drops := map[string]uint64{}
	for seen < 204 {
		i, sums := next()
		seen, copies = i.Total.DecodeOut, copies+sums[1]
		for reason, n := range i.Total.Drops {
			if n > 0 {
				drops[reason] = n
			}
		}
	}
	assert.GreaterOrEqual(t, drops[watch.DropNotRDMA], uint64(3), "the kernel itself sends such packets, too")
	delete(drops, watch.DropNotRDMA)
	assert.Equal(t, map[string]uint64{watch.DropPause: 2, watch.DropMalformed: 1, watch.DropNoFlow: 2}, drops)
	assert.EqualValues(t, 2, copies, "mirror copies are counted by their flow")

	// The watch stands still, its ring runs over.
	held := make(chan struct{})
	l.hold <- held
	<-held
	flood := make([][]byte, 20_000)
	for psn := range flood {
		flood[psn] = send(t, 0x22, uint32(psn), 1000)
	}
	left.Send(t, flood)
	held <- struct{}{}
	var last watch.Interval
	for sent := uint64(len(frames) + len(flood)); last.Total.SourceOut+last.Total.Drops[watch.DropRing] < sent; {
		last, _ = next()
	}
	assert.GreaterOrEqual(t, last.Total.SourceIn, uint64(len(frames)+len(flood)), "what was sent has come in")
	assert.Positive(t, last.Total.Drops[watch.DropRing], "and a part of it was lost")
	stop()
	<-done
	require.NoError(t, failed)
	for len(l.intervals) > 0 {
		next()
	}
}
