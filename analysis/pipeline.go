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

// slot is a batch on its way round: filled by the reader, decoded by a worker, consumed in order.
type slot struct {
	batch   capture.Batch
	packets [batchFrames]dissector.Packet
	errs    [batchFrames]error
	icrc    [batchFrames]dissector.ICRCState
	ready   chan error // of decoding: nil, or that the file vanished under the map
}

// guarded is a source whose bytes can vanish under its reader.
type guarded interface {
	Guard(fn func()) error
}

// lender is a source that says whether its frames outlive the next call of Next.
type lender interface {
	Stable() bool
}

type progressor interface {
	Progress() capture.Progress
}

// stage is one source on its way through the pipeline.
type stage struct {
	a        *Analyzer
	source   capture.Source
	work     chan *slot
	order    chan *slot
	guard    func(fn func()) error
	copies   bool  // frames have to be copied, since the source uses its buffer again
	err      error // of the source
	vanished error // the file was cut short under its map
	file     *File
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
		a: a, source: source,
		work: make(chan *slot, len(a.slots)), order: make(chan *slot, len(a.slots)),
		guard: func(fn func()) error { fn(); return nil },
		file:  &a.result.Files[len(a.result.Files)-1],
	}
	if g, ok := source.(guarded); ok {
		s.guard = g.Guard
	}
	if l, ok := source.(lender); ok {
		s.copies = !l.Stable()
	}

	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	running.Go(func() { s.read(inner) })
	for range a.cfg.Workers {
		running.Go(s.decode)
	}
	err := s.consume(inner, cancel)
	running.Wait()
	s.finish()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return err
	default:
		s.file.Err = s.err
		return s.err
	}
}

// prepare makes the batches that go round, once.
func (a *Analyzer) prepare() {
	if a.free != nil {
		return
	}
	n := 2*a.cfg.Workers + 2
	a.free = make(chan *slot, n)
	for range n {
		s := &slot{ready: make(chan error, 1)}
		s.batch.Frames = make([]capture.Frame, 0, batchFrames)
		a.slots = append(a.slots, s)
		a.free <- s
	}
}

// read fills batches until the source ends, fails, or nobody wants more.
func (s *stage) read(ctx context.Context) {
	defer close(s.work)
	defer close(s.order)
	meter, _ := s.source.(progressor)
	for {
		var next *slot
		select {
		case next = <-s.a.free:
		case <-ctx.Done():
			return
		}
		if ctx.Err() != nil {
			s.a.free <- next
			return
		}
		next.batch.Frames = next.batch.Frames[:0]
		if err := s.source.Next(&next.batch); err != nil {
			s.a.free <- next
			if !errors.Is(err, io.EOF) {
				s.err = err
			}
			return
		}
		if s.copies {
			next.own()
		}
		if meter != nil {
			s.a.meter(meter.Progress())
		}
		// Both channels hold all slots, so neither send blocks.
		s.work <- next
		s.order <- next
	}
}

// own copies the frames of a batch into the slot's buffer.
func (s *slot) own() {
	need := 0
	for i := range s.batch.Frames {
		need += len(s.batch.Frames[i].Data)
	}
	if cap(s.batch.Buffer) < need {
		s.batch.Buffer = make([]byte, 0, need+need/4)
	}
	buffer := s.batch.Buffer[:0]
	for i := range s.batch.Frames {
		f := &s.batch.Frames[i]
		start := len(buffer)
		buffer = append(buffer, f.Data...)
		f.Data = buffer[start:len(buffer):len(buffer)]
	}
	s.batch.Buffer = buffer
}

// decode is a worker: whatever of a packet does not depend on the packets before it.
func (s *stage) decode() {
	for next := range s.work {
		next.ready <- s.guard(func() { s.decodeBatch(next) })
	}
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

// consume tracks packets in their order. After an error it only lets the batches go home.
func (s *stage) consume(ctx context.Context, cancel context.CancelFunc) error {
	var failed error
	for next := range s.order {
		decoded := <-next.ready
		if failed == nil && ctx.Err() == nil {
			if decoded == nil {
				// The tracker and the sinks may look at the bytes, too.
				s.a.mu.Lock()
				decoded = s.guard(func() { failed = s.track(next) })
				s.a.mu.Unlock()
			}
			if decoded != nil {
				s.vanished = decoded
			}
			if decoded != nil || failed != nil {
				cancel()
			}
		}
		s.a.free <- next
	}
	return failed
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
