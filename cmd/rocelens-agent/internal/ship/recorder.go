package ship

import (
	"errors"
	"log/slog"
	"time"

	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/watch"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/store"
	"github.com/rocelens/rocelens/store/spool"
)

// Recorder puts what one watch finds into the spool. It implements watch.Sink.
type Recorder struct {
	agent *Agent
	flows *store.AgentFlows
	// dropped is what an interval before lost although its row had said otherwise, by reason.
	dropped map[string]uint64
}

// NewRecorder is for one watch of an agent.
func (a *Agent) NewRecorder() *Recorder {
	return &Recorder{agent: a, flows: store.NewAgentFlows(), dropped: map[string]uint64{}}
}

// Flow implements watch.Sink.
func (r *Recorder) Flow(f *flow.Record) { r.flows.Append(f) }

// End implements watch.Sink: the rows of the interval are safe on disk when it returns, or counted as dropped.
func (r *Recorder) End(i *watch.Interval) error {
	span := store.AgentSpan{
		Agent: r.agent.id, Host: r.agent.options.Host, Interface: i.Interface, Start: i.Start.UTC(), End: i.End.UTC(),
		Missed: i.Account.Drops[watch.DropRing],
	}
	account := i.Account
	for reason, n := range r.dropped {
		account.Drops[reason] += n
	}
	clear(r.dropped)
	r.agent.adding.Lock()
	defer r.agent.adding.Unlock()
	var packets, rows uint64
	for _, b := range r.flows.Batches(span) {
		if err := r.add(b, i.End, false); err != nil {
			account.Drops[why(err)] += b.Packets
			continue
		}
		packets += b.Packets
		rows += uint64(b.Rows)
	}
	row := store.AgentInterval{
		AgentSpan: span, Run: r.agent.run, Tier: watch.Tier, Up: i.Up,
		SourceIn: account.SourceIn, SourceOut: account.SourceOut, SourceHeld: account.SourceHeld,
		DecodeOut: account.DecodeOut, TrackOut: account.TrackOut, SpoolOut: packets, Drops: account.Drops,
		Bytes: account.Bytes, RDMABytes: account.RDMABytes, FlowRows: account.FlowRows, PathRows: account.PathRows, SpooledRows: rows,
	}
	err := r.add(row.Batch(), i.End, true)
	if err == nil {
		err = r.agent.spool.Sync()
	}
	if errors.Is(err, spool.ErrClosed) {
		return err
	}
	if err != nil {
		// Nobody will read the row: the next one counts what this one was to say.
		r.agent.options.Logger.Error("the rows of an interval are lost", slog.String("interface", i.Interface), slog.Any("cause", err))
		r.dropped[why(err)] += packets
	}
	r.agent.ended(i, &account)
	return nil
}

// why is the reason for which the spool did not take something.
func why(err error) string {
	if errors.Is(err, spool.ErrFull) || errors.Is(err, spool.ErrTooLarge) {
		return watch.DropSpoolFull
	}
	return watch.DropSpoolFailed
}

func (r *Recorder) add(b store.AgentBatch, at time.Time, urgent bool) error {
	return r.agent.spool.Add(spool.Entry{Data: b.Data, Units: b.Rows, Time: at.UnixNano(), Urgent: urgent})
}
