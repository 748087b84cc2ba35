package judging

import (
	"time"

	"github.com/rocelens/rocelens/analysis"
	"github.com/rocelens/rocelens/cmd/rocelens-agent/internal/watch"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/replay"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/store/shipping"
)

// Reasons for which a packet of RDMA is not held against the reference.
const (
	DropGap   = "replay: beside a loss" // of the capture, which may have lost what it answers
	DropOther = "replay: not judged"    // of a service without rules, of no flow, or a mirror's copy
)

const (
	// silence is after how long a connection that says nothing is reported and forgotten.
	silence = time.Minute
	// maxWaiting is how many packets wait in all until the opposite direction of theirs is known; each takes about 1 KiB.
	maxWaiting = 1 << 12
	// maxRows bounds the rows of one interval. What is found beyond is counted.
	maxRows = 10_000
)

// Found is told of a divergence, by the goroutine of the watch. What it is given is valid during the call.
type Found func(f *finding.Finding)

// Options bound what a judge remembers.
type Options struct {
	MaxBytes int64 // of memory for all connections
	Found    Found // nil: nobody is told
}

// Judge is for one watch. It implements watch.Sink, watch.Tap and ship.Companion.
type Judge struct {
	options Options
	engine  *replay.Engine
	joined  *analysis.Judging
	rows    *shipping.AgentDivergences
	found   uint64 // in the interval
	before  replay.Totals

	gap      gap
	unjudged uint64 // beside losses, in the interval
	latest   int64  // time of the latest packet, ns
}

// gap is a time in which the capture lost packets, ns since the Unix epoch.
type gap struct {
	from, to int64
	entered  bool // a packet within it was seen
}

var (
	_ watch.Sink = (*Judge)(nil)
	_ watch.Tap  = (*Judge)(nil)
)

// New is a judge that has seen nothing.
func New(o Options) *Judge {
	j := &Judge{options: o, rows: shipping.NewAgentDivergences()}
	j.engine = replay.New(replay.Config{MaxBytes: o.MaxBytes, MaxWaiting: maxWaiting}, j)
	j.joined = analysis.NewJudging(j.engine)
	return j
}

// Finding implements replay.Sink.
func (j *Judge) Finding(f *finding.Finding) {
	j.found++
	if j.rows.Rows() < maxRows {
		j.rows.Append(f)
	}
	if f.Verdict == finding.Diverges && j.options.Found != nil {
		j.options.Found(f)
	}
}

// Connection implements replay.Sink.
func (*Judge) Connection(*finding.Connection) {}

// Attempt implements replay.Sink.
func (*Judge) Attempt(*finding.Attempt) {}

// Lost implements watch.Tap.
func (j *Judge) Lost(_ uint64, from, to int64) {
	if j.gap.to == 0 {
		j.gap = gap{from: from, to: to}
		return
	}
	j.gap.from, j.gap.to = min(j.gap.from, from), max(j.gap.to, to)
}

// Packet implements watch.Tap.
func (j *Judge) Packet(e *watch.Event) {
	if !flow.Tracks(e.Packet) {
		return
	}
	j.latest = max(j.latest, e.Frame.Time)
	if j.gap.to != 0 && e.Frame.Time >= j.gap.from && j.beside(e.Frame.Time) {
		j.unjudged++
		return
	}
	j.joined.Packet(e.Tracker, e.Packet, e.Err, e.ICRC, &e.Observation)
}

// beside tells whether a packet that came after the begin of a gap came before its end, and begins anew behind it.
func (j *Judge) beside(at int64) bool {
	if !j.gap.entered {
		j.engine.Lost()
		j.gap.entered = true
	}
	if at <= j.gap.to {
		return true
	}
	j.gap = gap{}
	return false
}

// Tick implements watch.Tap.
func (*Judge) Tick(time.Time) {}

// Flow implements watch.Sink.
func (j *Judge) Flow(r *flow.Record) { j.joined.Flow(r) }

// End implements watch.Sink.
func (j *Judge) End(*watch.Interval) error {
	j.engine.Expire(j.latest - int64(silence))
	j.engine.Renew()
	return nil
}

// Rows implements ship.Companion.
func (j *Judge) Rows(span shipping.AgentSpan, i *shipping.AgentInterval) []shipping.AgentBatch {
	totals := j.engine.Totals()
	judged := totals.Packets - totals.Copies - (j.before.Packets - j.before.Copies)
	i.Judged = flow.Count{N: judged, Known: true}
	if j.unjudged > 0 {
		i.Drops[DropGap] = j.unjudged
	}
	if taken := judged + j.unjudged; taken < i.DecodeOut {
		i.Drops[DropOther] = i.DecodeOut - taken
	}
	i.Divergences, i.DivergenceRows = j.found, uint64(j.rows.Rows())
	j.before, j.unjudged, j.found = totals, 0, 0
	return j.rows.Batches(span)
}
