package analysis

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/dissector/conversation"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/replay"
)

// Config says how a run works. The zero value is right for most.
type Config struct {
	SkipICRC bool
	Flow     flow.Config

	// Replay, when set, takes what the connections look like held against the reference transports.
	Replay       replay.Sink
	ReplayConfig replay.Config
}

// File is what a run says of one of its sources.
type File struct {
	Name        string
	Report      capture.Report
	Interfaces  []capture.Interface
	FirstNumber uint64 // run-wide number of its first packet
	Packets     uint64 // analysed; below Report.Packets only when the run was stopped
	Err         error  // why the source yielded nothing
}

// Result is what a run found.
type Result struct {
	Files     []File
	Totals    flow.Totals
	Explained Explained
	Pause     Pause
	Beside    []Beside // what was no RoCE, by name, most frequent first
	HasTime   bool
	FirstTime int64 // earliest and latest time stamp, ns since the Unix epoch
	LastTime  int64
	Replay    replay.Totals // known at the end; zero unless Config.Replay is set
}

// Explained is the part of the Totals that accuses nobody.
type Explained struct {
	MissingAcknowledged uint64 // of MissingPSNs: acknowledged all the same, so the capture missed them, not the receiver
	ICRCRewritten       uint64 // of ICRCErrors: right but for a source port that a device rewrote
}

func (e *Explained) add(r *flow.Record) {
	if r.MissingAcknowledged.Known {
		e.MissingAcknowledged += r.MissingAcknowledged.N
	}
	if r.PortRewritten.Known {
		e.ICRCRewritten += r.ICRCBad
	}
}

// Partial tells whether a part of a file could not be read.
func (r *Result) Partial() bool {
	for i := range r.Files {
		if r.Files[i].Report.Partial {
			return true
		}
	}
	return false
}

// Dropped is what the capture itself lost, where it tells.
func (r *Result) Dropped() flow.Count {
	var sum flow.Count
	for i := range r.Files {
		for j := range r.Files[i].Interfaces {
			if d := r.Files[i].Interfaces[j].Dropped; d != nil {
				sum.N += *d
				sum.Known = true
			}
		}
	}
	return sum
}

// Analyzer analyses one or several sources, one after the other, as one capture. It is for one goroutine,
// but for Progress and Snapshot.
type Analyzer struct {
	cfg         Config
	mu          sync.Mutex // held while a batch is tracked
	tracker     *flow.Tracker
	beginnings  *conversation.Tracker // which TCP connections are iWARP
	packetSinks []PacketSink
	flowSinks   []FlowSink
	revisions   []RevisionSink
	result      Result
	beside      besideCounts
	judging     *Judging      // nil without replay
	batch       capture.Batch // goes round
	packets     uint64        // of all files so far
	interfaces  uint32
	sinkErr     error
	progress    progress
}

// New returns an Analyzer. Each sink is a PacketSink, a FlowSink, a RevisionSink, or several of them.
func New(cfg Config, sinks ...any) *Analyzer {
	a := &Analyzer{cfg: cfg, beside: besideCounts{}, beginnings: conversation.New()}
	for _, s := range sinks {
		if p, ok := s.(PacketSink); ok {
			a.packetSinks = append(a.packetSinks, p)
		}
		if f, ok := s.(FlowSink); ok {
			a.flowSinks = append(a.flowSinks, f)
		}
		if r, ok := s.(RevisionSink); ok {
			a.revisions = append(a.revisions, r)
		}
	}
	a.tracker = flow.NewTracker(cfg.Flow, a.flow)
	if cfg.Replay != nil {
		a.judging = NewJudging(replay.New(cfg.ReplayConfig, cfg.Replay))
	}
	a.progress.start = time.Now()
	return a
}

// Run analyses one source from its beginning to its end.
func Run(ctx context.Context, source capture.Source, cfg Config, sinks ...any) (Result, error) {
	a := New(cfg, sinks...)
	if err := a.Add(ctx, "", source); err != nil {
		return a.result, err
	}
	return a.Finish()
}

func (a *Analyzer) flow(r *flow.Record) {
	a.result.Explained.add(r)
	if a.judging != nil {
		a.judging.Flow(r)
	}
	for _, s := range a.flowSinks {
		if a.sinkErr != nil {
			return
		}
		a.sinkErr = s.Flow(r)
	}
}

// Finish hands the flows to their sinks and returns the result. The Analyzer is of no use after it.
func (a *Analyzer) Finish() (Result, error) {
	a.tracker.Flush()
	if a.judging != nil {
		a.judging.engine.Flush()
		a.result.Replay = a.judging.engine.Totals()
	}
	for r, more := a.tracker.Revised(); more; r, more = a.tracker.Revised() {
		for _, s := range a.revisions {
			if a.sinkErr == nil {
				a.sinkErr = s.Revision(r)
			}
		}
	}
	a.result.Totals = a.tracker.Totals()
	a.result.Beside = a.beside.list()
	return a.result, a.sinkErr
}

// Snapshot is what was found so far, without Files and Explained, which are known at the end. It may be called
// from any goroutine that is not a sink, and waits for the batch at hand.
func (a *Analyzer) Snapshot() Result {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.result
	r.Files, r.Explained = nil, Explained{}
	r.Totals, r.Beside = a.tracker.Totals(), a.beside.list()
	return r
}

// Progress is how far a run has come.
type Progress struct {
	Packets    uint64
	BytesRead  int64 // of the files as they lie on disk
	BytesTotal int64 // 0: unknown
	Elapsed    time.Duration
	Rate       float64       // packets a second since the start
	Left       time.Duration // estimate; negative: unknown
}

type progress struct {
	start      time.Time
	packets    atomic.Uint64
	bytesBase  atomic.Int64 // of finished sources
	bytesRead  atomic.Int64 // of the source at hand
	bytesTotal atomic.Int64 // 0: of the source at hand; otherwise as ExpectBytes said
}

// ExpectBytes tells the size of all sources together, when the caller knows it.
func (a *Analyzer) ExpectBytes(n int64) { a.progress.bytesTotal.Store(n) }

// Progress may be called from any goroutine, at any time.
func (a *Analyzer) Progress() Progress {
	p := Progress{
		Packets:    a.progress.packets.Load(),
		BytesRead:  a.progress.bytesBase.Load() + a.progress.bytesRead.Load(),
		BytesTotal: a.progress.bytesTotal.Load(),
		Elapsed:    time.Since(a.progress.start),
		Left:       -1,
	}
	if p.Elapsed > 0 {
		p.Rate = float64(p.Packets) / p.Elapsed.Seconds()
	}
	if p.BytesRead > 0 && p.BytesTotal >= p.BytesRead {
		p.Left = time.Duration(float64(p.Elapsed) * float64(p.BytesTotal-p.BytesRead) / float64(p.BytesRead))
	}
	return p
}
