package watch_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/watch"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/internal/vethtest"
)

// told keeps what each interval with packets of RDMA says of the only flow.
type told struct {
	flows     chan flow.Record
	intervals chan uint64 // packets of RDMA since the start
}

func (o *told) Flow(r *flow.Record) { o.flows <- r.Clone() }

func (o *told) End(i *watch.Interval) error {
	o.intervals <- i.Total.DecodeOut
	return nil
}

// TestIntervalsKeepTheSequence: a PSN that is missing at the end of an interval comes in another, where it is taken back.
func TestIntervalsKeepTheSequence(t *testing.T) {
	left, right := vethtest.Pair(t)
	o := &told{make(chan flow.Record, 100), make(chan uint64, 100)}
	ctx, stop := context.WithCancel(t.Context())
	var failed error
	ready := make(chan struct{})
	done := right.Go(t, func() {
		w, err := watch.Open(watch.Options{Interface: right.Interface, Interval: time.Second, Idle: time.Minute, Logger: slog.New(slog.DiscardHandler)}, o)
		close(ready)
		if failed = err; err == nil {
			failed = w.Run(ctx)
		}
	})
	<-ready
	// sum is what the flow's rows say once so many packets were seen.
	var packets uint64
	var missing, late int64
	sum := func(want uint64) {
		for n := uint64(0); n < want; {
			n = <-o.intervals
		}
		for len(o.flows) > 0 {
			r := <-o.flows
			packets += r.Packets
			missing += r.MissingPSNs.Signed()
			late += r.OutOfOrder.Signed() + r.Retransmitted.Signed()
		}
	}
	left.Send(t, [][]byte{send(t, 0x11, 0, 64), send(t, 0x11, 1, 64), send(t, 0x11, 3, 64)})
	sum(3)
	assert.Equal(t, []int64{3, 1, 0}, []int64{int64(packets), missing, late})
	left.Send(t, [][]byte{send(t, 0x11, 2, 64), send(t, 0x11, 4, 64)})
	sum(5)
	assert.Equal(t, []int64{5, 0, 1}, []int64{int64(packets), missing, late})
	stop()
	<-done
	require.NoError(t, failed)
	assert.Empty(t, o.flows, "all was told")
}
