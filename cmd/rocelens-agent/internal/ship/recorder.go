package ship

import (
	"errors"
	"log/slog"
	"maps"
	"time"

	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/watch"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/store/shipping"
	"github.com/rocelens/rocelens/store/spool"
)

// Recorder puts what one watch finds into the spool. It implements watch.Sink.
type Recorder struct {
	agent      *Agent
	flows      *shipping.AgentFlows
	companions []Companion
	owed       *shipping.AgentInterval // account of intervals whose row was lost: the next row tells it
}

// Companion has rows of other tables that belong to the intervals of a watch.
type Companion interface {
	// Rows are those of the interval that ends. It may add to its account.
	Rows(span shipping.AgentSpan, i *shipping.AgentInterval) []shipping.AgentBatch
}

// NewRecorder is for one watch of an agent.
func (a *Agent) NewRecorder(companions ...Companion) *Recorder {
	return &Recorder{agent: a, flows: shipping.NewAgentFlows(), companions: companions}
}

// Flow implements watch.Sink.
func (r *Recorder) Flow(f *flow.Record) { r.flows.Append(f) }

// End implements watch.Sink: the rows of the interval are safe on disk when it returns, or counted as dropped.
func (r *Recorder) End(i *watch.Interval) error {
	span := shipping.AgentSpan{
		Agent: r.agent.id, Host: r.agent.options.Host, Interface: i.Interface, Start: i.Start.UTC(), End: i.End.UTC(),
		Missed: i.Account.Drops[watch.DropRing] + i.Account.Drops[watch.DropTableFull],
	}
	account := &i.Account
	row := shipping.AgentInterval{
		AgentSpan: span, Run: r.agent.run, Tier: i.Tier, Up: i.Up,
		SourceIn: account.SourceIn, SourceOut: account.SourceOut, SourceHeld: account.SourceHeld,
		DecodeOut: account.DecodeOut, TrackOut: account.TrackOut, Drops: maps.Clone(account.Drops),
		Bytes: account.Bytes, RDMABytes: account.RDMABytes, FlowRows: account.FlowRows, PathRows: account.PathRows,
	}
	r.agent.adding.Lock()
	defer r.agent.adding.Unlock()
	for _, b := range r.flows.Batches(span) {
		if err := r.put(&row, b); err != nil {
			account.Drops[why(err)] += b.Packets
			row.Drops[why(err)] += b.Packets
		}
	}
	for _, c := range r.companions {
		for _, b := range c.Rows(span, &row) {
			_ = r.put(&row, b) // which is logged; the account says of these rows how many there were
		}
	}
	if r.owed != nil {
		include(&row, r.owed)
	}
	if err := r.add(row.Batch(), i.End, true); errors.Is(err, spool.ErrClosed) {
		return err
	} else if err != nil {
		r.agent.options.Logger.Error("the account of an interval is told with the next", slog.String("interface", i.Interface), slog.Any("cause", err))
		r.owed = &row
	} else {
		r.owed = nil
	}
	r.agent.ended(i, account)
	return nil
}

// put adds rows, and counts them when they are safe.
func (r *Recorder) put(row *shipping.AgentInterval, b shipping.AgentBatch) error {
	if err := r.add(b, row.End, false); err != nil {
		r.agent.options.Logger.Error("rows of an interval are lost", slog.String("interface", row.Interface), slog.Uint64("rows", uint64(b.Rows)), slog.Any("cause", err))
		return err
	}
	row.SpoolOut += b.Packets
	if !b.Beside {
		row.SpooledRows += uint64(b.Rows)
	}
	return nil
}

// include adds the account of an interval before to that of another, which then begins where it began.
func include(row, before *shipping.AgentInterval) {
	row.Start = before.Start
	row.Missed += before.Missed
	row.SourceIn += before.SourceIn
	row.SourceOut += before.SourceOut
	row.DecodeOut += before.DecodeOut
	row.TrackOut += before.TrackOut
	row.SpoolOut += before.SpoolOut
	row.Bytes += before.Bytes
	row.RDMABytes += before.RDMABytes
	row.FlowRows += before.FlowRows
	row.PathRows += before.PathRows
	row.SpooledRows += before.SpooledRows
	row.Divergences += before.Divergences
	row.DivergenceRows += before.DivergenceRows
	row.Judged = flow.Count{N: row.Judged.N + before.Judged.N, Known: row.Judged.Known || before.Judged.Known}
	for reason, n := range before.Drops {
		row.Drops[reason] += n
	}
}

// why is the reason for which the spool did not take something.
func why(err error) string {
	if errors.Is(err, spool.ErrFull) || errors.Is(err, spool.ErrTooLarge) {
		return watch.DropSpoolFull
	}
	return watch.DropSpoolFailed
}

// add has the rows on disk when it returns: what fails is then these rows alone.
func (r *Recorder) add(b shipping.AgentBatch, at time.Time, urgent bool) error {
	if err := r.agent.spool.Add(spool.Entry{Data: b.Data, Units: b.Rows, Time: at.UnixNano(), Urgent: urgent}); err != nil {
		return err
	}
	return r.agent.spool.Sync()
}
