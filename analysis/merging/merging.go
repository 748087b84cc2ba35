// Package merging reads two captures of the same traffic and merges them: once to relate their clocks, and once more,
// both side by side, to pair their packets. Memory is bounded; replay/merge tells how and what is made of it.
package merging

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/rocelens/rocelens/analysis"
	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/flow"
	"github.com/rocelens/rocelens/replay"
	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/merge"
)

// Input is a capture, which is read twice.
type Input struct {
	Name string
	Open func() (Source, error)
	// Replay, when set, takes what the capture alone shows against the reference.
	Replay replay.Sink
}

// Source is a capture that was opened.
type Source interface {
	capture.Source
	Close() error
}

// Result is what two captures together tell, and each alone.
type Result struct {
	Clocks *merge.Clocks
	Merged *merge.Result
	Alone  [2]analysis.Result
}

// Phase is what a run is doing.
type Phase uint32

// Phases. In each, both captures are read from their beginning to their end.
const (
	Aligning Phase = iota // relates the clocks
	Pairing               // finds which packet of the one is which of the other
	Judging               // holds connections against the reference by what both have
)

// Run is one merging.
type Run struct {
	Config merge.Config // of the merger; set before Do

	inputs  [2]Input
	packets atomic.Uint64
	phase   atomic.Uint32
}

// New is a run over two captures, the first of which has the clock to which all is related.
func New(first, second Input) *Run { return &Run{inputs: [2]Input{first, second}} }

// Packets is how many packets were read so far, each of them as often as Readings tells in the end. It may be called from
// any goroutine.
func (r *Run) Packets() uint64 { return r.packets.Load() }

// Readings is how often each capture is read.
func (r *Run) Readings() int { return 2 }

// Phase is what the run is doing. It may be called from any goroutine.
func (r *Run) Phase() Phase { return Phase(r.phase.Load()) }

// Do merges. [merge.ErrNothingInCommon] when no packet is in both captures; ctx's error once that is done.
func (r *Run) Do(ctx context.Context) (*Result, error) {
	var out Result
	var samples [2]*merge.Sample
	for i := range r.inputs {
		s := sampling{run: r, sample: merge.NewSample()}
		var err error
		if out.Alone[i], err = r.read(ctx, i, analysis.Config{Replay: r.inputs[i].Replay}, &s); err != nil {
			return nil, err
		}
		samples[i] = s.sample
	}
	clocks, err := merge.Align(samples[0], samples[1])
	if err != nil {
		return &out, err
	}
	out.Clocks = clocks
	r.phase.Store(uint32(Pairing))
	out.Merged, err = r.pair(ctx, merge.NewMerger(r.Config, clocks))
	return &out, err
}

// read analyses a capture from its beginning to its end.
func (r *Run) read(ctx context.Context, i int, config analysis.Config, sink any) (analysis.Result, error) {
	source, err := r.inputs[i].Open()
	if err != nil {
		return analysis.Result{}, err
	}
	result, err := analysis.Run(ctx, source, config, sink)
	if closed := source.Close(); err == nil {
		err = closed
	}
	if err == nil && result.Partial() && result.Files[0].Packets == 0 {
		err = fmt.Errorf("read capture %q: %s", r.inputs[i].Name, result.Files[0].Report.Fault)
	}
	return result, err
}

// pair reads both captures side by side.
func (r *Run) pair(ctx context.Context, m *merge.Merger) (*merge.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var streams [2]*stream
	for i := range streams {
		s := &stream{run: r, ctx: ctx, out: make(chan []merge.Sighting, 4)}
		streams[i] = s
		go func() {
			defer close(s.out)
			_, s.err = r.read(ctx, i, analysis.Config{}, s)
			if s.err == nil {
				s.err = s.send()
			}
		}()
	}
	for {
		first, second := streams[0].head(), streams[1].head()
		switch {
		case first == nil && second == nil:
			for _, s := range streams {
				if s.err != nil {
					return nil, s.err
				}
			}
			return m.Finish(), nil
		case second == nil || (first != nil && m.Before(first, second)):
			m.Observe(0, first)
			streams[0].next++
		default:
			m.Observe(1, second)
			streams[1].next++
		}
	}
}

// sighting describes a packet of a run.
func sighting(e *analysis.PacketEvent) (merge.Sighting, bool) {
	return merge.New(&finding.Sighting{
		Packet: e.Packet, Err: e.Err, ICRC: e.ICRC, Copy: e.Observation.Flags&flow.FlagMirrorCopy != 0, Flow: uint64(e.Observation.Flow),
	})
}

// sampling takes a sample of a capture.
type sampling struct {
	run    *Run
	sample *merge.Sample
}

// Packet takes a packet.
func (s *sampling) Packet(e *analysis.PacketEvent) error {
	s.run.packets.Add(1)
	if x, ok := sighting(e); ok {
		s.sample.Add(&x)
	}
	return nil
}

// Flow takes what is known of a flow at its end.
func (s *sampling) Flow(f *flow.Record) error {
	if f.ReverseID != 0 {
		s.sample.Pair(uint64(f.ID), uint64(f.ReverseID))
	}
	return nil
}

// batch is how many sightings go from goroutine to goroutine at once.
const batch = 512

// stream hands the packets of one capture to the merger.
type stream struct {
	run     *Run
	ctx     context.Context //nolint:containedctx // of the reading that fills it
	out     chan []merge.Sighting
	filling []merge.Sighting
	err     error // known once out is closed

	taken []merge.Sighting
	next  int
}

// Packet takes a packet.
func (s *stream) Packet(e *analysis.PacketEvent) error {
	s.run.packets.Add(1)
	x, ok := sighting(e)
	if !ok {
		return nil
	}
	s.filling = append(s.filling, x)
	if len(s.filling) < batch {
		return nil
	}
	return s.send()
}

func (s *stream) send() error {
	select {
	case s.out <- s.filling:
		s.filling = make([]merge.Sighting, 0, batch)
		return nil
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

// head is the next packet; nil: there is none.
func (s *stream) head() *merge.Sighting {
	for s.next == len(s.taken) {
		more, ok := <-s.out
		if !ok {
			return nil
		}
		s.taken, s.next = more, 0
	}
	return &s.taken[s.next]
}
