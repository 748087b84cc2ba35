package analysis

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/dissector"
)

// batchFrames is the size of a batch. Larger ones fall out of the caches between their decoding and their
// tracking; smaller ones make the hand-over show.
const batchFrames = 256

// warmPackets is how many packets the tracker is told of in advance.
const warmPackets = 16

// slot is a batch on its way round: filled and decoded by a worker, tracked when its turn comes.
type slot struct {
	batch    capture.Batch
	packets  [batchFrames]dissector.Packet
	errs     [batchFrames]error
	icrc     [batchFrames]dissector.ICRCState
	vanished error // the file was cut short under its map while the batch was decoded
}

// guarded is a source whose bytes can vanish under its reader.
type guarded interface {
	Guard(fn func()) error
}

type progressor interface {
	Progress() capture.Progress
}

// stage is one source on its way through the pipeline. Workers take turns at reading, so that a batch is decoded
// where it was read, while it is in that core's cache; whoever completes the order tracks.
type stage struct {
	a     *Analyzer
	guard func(fn func()) error
	file  *File

	reading  sync.Mutex // guards what follows
	source   capture.Source
	sequence uint64 // of the next batch
	ended    bool
	err      error // of the source

	order    sync.Mutex // guards what follows
	waiting  []*slot    // decoded, by sequence modulo its length, until their turn
	turn     uint64     // sequence of the next batch to track
	tracking bool       // by one of the workers
	failed   error      // of a sink
	vanished error      // the file was cut short under its map
}

// Add analyses a source to its end. Its errors are those of a source that yields nothing, after which other
// sources can be added still; those of sinks; and ctx's once ctx is done, within the time of one batch. A call
// of Next that blocks is waited for.
func (a *Analyzer) Add(ctx context.Context, name string, source capture.Source) error {
	a.prepare()
	a.mu.Lock()
	a.result.Files = append(a.result.Files, File{Name: name, FirstNumber: a.packets + 1})
	a.mu.Unlock()
	s := &stage{
		a: a, source: source, waiting: make([]*slot, cap(a.free)),
		guard: func(fn func()) error { fn(); return nil },
		file:  &a.result.Files[len(a.result.Files)-1],
	}
	if g, ok := source.(guarded); ok {
		s.guard = g.Guard
	}

	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	for range a.cfg.Workers {
		running.Go(func() { s.work(inner, cancel) })
	}
	running.Wait()
	s.finish()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case s.failed != nil:
		return s.failed
	default:
		s.file.Err = s.err
		return s.err
	}
}

// prepare makes the batches that go round, once: for each worker one to work on and one that waits for its turn.
func (a *Analyzer) prepare() {
	if a.free != nil {
		return
	}
	n := 2 * a.cfg.Workers
	a.free = make(chan *slot, n)
	for range n {
		s := &slot{}
		s.batch.Frames = make([]capture.Frame, 0, batchFrames)
		a.free <- s
	}
}

// work takes batch after batch until the source ends, fails, or nobody wants more.
func (s *stage) work(ctx context.Context, cancel context.CancelFunc) {
	for next := range s.a.free {
		sequence, ok := s.read(ctx, next)
		if !ok {
			s.a.free <- next
			return
		}
		next.vanished = s.guard(func() { s.decodeBatch(next) })
		s.deliver(ctx, cancel, sequence, next)
	}
}

// read fills a batch and says which it is.
func (s *stage) read(ctx context.Context, next *slot) (sequence uint64, ok bool) {
	s.reading.Lock()
	defer s.reading.Unlock()
	if s.ended || ctx.Err() != nil {
		return 0, false
	}
	if err := s.source.Next(&next.batch); err != nil {
		s.ended = true
		if !errors.Is(err, io.EOF) {
			s.err = err
		}
		return 0, false
	}
	if meter, ok := s.source.(progressor); ok {
		s.a.meter(meter.Progress())
	}
	sequence = s.sequence
	s.sequence++
	return sequence, true
}

// deliver hands a decoded batch over. If nobody tracks, the caller does, for as long as the next batch is there.
func (s *stage) deliver(ctx context.Context, cancel context.CancelFunc, sequence uint64, done *slot) {
	s.order.Lock()
	defer s.order.Unlock()
	n := uint64(len(s.waiting)) // no more batches than that are under way, so that the place is free
	s.waiting[sequence%n] = done
	if s.tracking {
		return
	}
	s.tracking = true
	for {
		next := s.waiting[s.turn%n]
		if next == nil {
			break
		}
		s.waiting[s.turn%n] = nil
		s.turn++
		if s.failed == nil && s.vanished == nil && ctx.Err() == nil {
			s.order.Unlock()
			failed, vanished := s.take(next)
			s.order.Lock()
			s.failed, s.vanished = failed, vanished
			if failed != nil || vanished != nil {
				cancel()
			}
		}
		s.a.free <- next
	}
	s.tracking = false
}

// take tracks a batch. The tracker and the sinks may look at the bytes, too.
func (s *stage) take(next *slot) (failed, vanished error) {
	if next.vanished != nil {
		return nil, next.vanished
	}
	s.a.mu.Lock()
	defer s.a.mu.Unlock()
	vanished = s.guard(func() { failed = s.track(next) })
	return failed, vanished
}

func (s *stage) decodeBatch(next *slot) {
	base, interfaces := s.file.FirstNumber-1, s.a.interfaces
	verify := !s.a.cfg.SkipICRC
	for i := range next.batch.Frames {
		f := &next.batch.Frames[i]
		p := &next.packets[i]
		err := dissector.Decode(f.Data, dissector.Meta{
			Time:           f.Time,
			Number:         base + f.Number,
			OriginalLength: f.OriginalLength,
			Interface:      interfaces + f.Interface,
			LinkType:       dissector.LinkType(f.LinkType),
			FCSLength:      f.FCSLength,
			HasTime:        f.HasTime,
		}, p)
		next.errs[i] = err
		next.icrc[i] = dissector.ICRCNotChecked
		if verify && p.IsRDMA() {
			next.icrc[i] = dissector.VerifyICRC(p)
		}
	}
}

func (s *stage) track(next *slot) error {
	a := s.a
	event := PacketEvent{File: len(a.result.Files) - 1}
	for i := range next.batch.Frames {
		if i%warmPackets == 0 {
			a.tracker.Warm(next.packets[i:min(i+warmPackets, len(next.batch.Frames))])
		}
		f := &next.batch.Frames[i]
		p := &next.packets[i]
		event.Observation = a.tracker.Observe(p, next.errs[i], next.icrc[i])
		s.file.Packets++
		if f.HasTime {
			a.result.span(f.Time)
		}
		if !p.IsRDMA() {
			a.beside.add(p)
			a.result.Pause.add(p)
		}
		if len(a.packetSinks) > 0 {
			event.Packet, event.Err, event.ICRC = p, next.errs[i], next.icrc[i]
			event.Offset, event.FileNumber = f.Offset, f.Number
			for _, sink := range a.packetSinks {
				if err := sink.Packet(&event); err != nil {
					return err
				}
			}
		}
		if a.sinkErr != nil {
			return a.sinkErr
		}
	}
	a.progress.packets.Add(uint64(len(next.batch.Frames)))
	return nil
}

func (r *Result) span(t int64) {
	if !r.HasTime {
		r.HasTime, r.FirstTime, r.LastTime = true, t, t
		return
	}
	r.FirstTime = min(r.FirstTime, t)
	r.LastTime = max(r.LastTime, t)
}

func (a *Analyzer) meter(p capture.Progress) {
	a.progress.bytesRead.Store(p.BytesRead)
	if p.BytesTotal > 0 && a.progress.bytesTotal.Load() == 0 {
		a.progress.bytesTotal.Store(p.BytesTotal)
	}
}

// finish takes the source's account, after everybody has left it.
func (s *stage) finish() {
	a := s.a
	s.file.Report = s.source.Report()
	if s.vanished != nil && !s.file.Report.Partial {
		s.file.Report.Partial, s.file.Report.Fault = true, s.vanished.Error()
	}
	s.file.Interfaces = s.source.Interfaces()
	a.packets += s.file.Packets
	a.interfaces += uint32(len(s.file.Interfaces))
	a.progress.bytesBase.Add(a.progress.bytesRead.Swap(0))
}
