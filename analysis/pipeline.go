package analysis

import (
	"context"
	"errors"
	"io"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/flow"
)

// batchFrames is the size of a batch: its bytes stay in a core's second-level cache from reading to tracking.
const batchFrames = 256

// groupFrames is how many packets are decoded, verified and tracked together, in the first-level cache. The tracker is
// told of them in advance.
const groupFrames = 16

// stage is one source on its way through the pipeline. It all happens in one goroutine: handing bytes or packets from
// core to core was slower where it was measured, see docs/performance.md.
type stage struct {
	a        *Analyzer
	guard    func(fn func()) error
	file     *File
	event    PacketEvent
	packets  [groupFrames]dissector.Packet
	errs     [groupFrames]error
	vanished error // the file was cut short under its map
}

// guarded is a source whose bytes can vanish under its reader.
type guarded interface {
	Guard(fn func()) error
}

type progressor interface {
	Progress() capture.Progress
}

// Add analyses a source to its end. Its errors are those of a source that yields nothing, after which other
// sources can be added still; those of sinks; and ctx's once ctx is done, within the time of one batch. A call
// of Next that blocks is waited for.
func (a *Analyzer) Add(ctx context.Context, name string, source capture.Source) error {
	a.mu.Lock()
	a.result.Files = append(a.result.Files, File{Name: name, FirstNumber: a.packets + 1})
	a.mu.Unlock()
	s := &stage{
		a: a, guard: func(fn func()) error { fn(); return nil },
		file:  &a.result.Files[len(a.result.Files)-1],
		event: PacketEvent{File: len(a.result.Files) - 1},
	}
	if g, ok := source.(guarded); ok {
		s.guard = g.Guard
	}
	broken, err := s.run(ctx, source)
	s.finish(source)
	if err != nil {
		return err
	}
	s.file.Err = broken
	return broken
}

// run takes batch after batch until the source ends or breaks, or nobody wants more.
func (s *stage) run(ctx context.Context, source capture.Source) (broken, err error) {
	if s.a.batch.Frames == nil {
		s.a.batch.Frames = make([]capture.Frame, 0, batchFrames)
	}
	meter, metered := source.(progressor)
	for s.vanished == nil {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := source.Next(&s.a.batch); errors.Is(err, io.EOF) {
			return nil, nil
		} else if err != nil {
			return err, nil
		}
		if metered {
			s.a.meter(meter.Progress())
		}
		if err := s.take(s.a.batch.Frames); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// take analyses a batch. Its error is that of a sink.
func (s *stage) take(frames []capture.Frame) (err error) {
	s.a.mu.Lock()
	defer s.a.mu.Unlock()
	s.vanished = s.guard(func() {
		for len(frames) > 0 && err == nil {
			n := min(len(frames), groupFrames)
			err = s.group(frames[:n])
			frames = frames[n:]
		}
	})
	return err
}

// protocolTCP is the IP protocol of what may be iWARP.
const protocolTCP = 6

func (s *stage) group(frames []capture.Frame) error {
	for i := range frames {
		s.errs[i] = s.decode(&frames[i], &s.packets[i])
	}
	a := s.a
	a.tracker.Warm(s.packets[:len(frames)])
	for i := range frames {
		p := &s.packets[i]
		if p.Network.Protocol == protocolTCP {
			s.errs[i] = a.beginnings.Observe(p, s.errs[i])
		}
		icrc := dissector.ICRCNotChecked
		if flow.Tracks(p) && !a.cfg.SkipICRC {
			icrc = dissector.VerifyICRC(p)
		}
		s.event.Observation = a.tracker.Observe(p, s.errs[i], icrc)
		if a.judging != nil {
			a.judging.Packet(a.tracker, p, s.errs[i], icrc, &s.event.Observation)
		}
		s.file.Packets++
		if frames[i].HasTime {
			a.result.span(frames[i].Time)
		}
		if !flow.Tracks(p) {
			a.beside.add(p)
			a.result.Pause.add(p)
		}
		if len(a.packetSinks) > 0 {
			s.event.Packet, s.event.Err, s.event.ICRC = p, s.errs[i], icrc
			s.event.Offset, s.event.FileNumber = frames[i].Offset, frames[i].Number
			for _, sink := range a.packetSinks {
				if err := sink.Packet(&s.event); err != nil {
					return err
				}
			}
		}
		if a.sinkErr != nil {
			return a.sinkErr
		}
	}
	a.progress.packets.Add(uint64(len(frames)))
	return nil
}

func (s *stage) decode(f *capture.Frame, p *dissector.Packet) error {
	return dissector.Decode(f.Data, dissector.Meta{
		Time:           f.Time,
		Number:         s.file.FirstNumber - 1 + f.Number,
		OriginalLength: f.OriginalLength,
		Interface:      s.a.interfaces + f.Interface,
		LinkType:       dissector.LinkType(f.LinkType),
		FCSLength:      f.FCSLength,
		HasTime:        f.HasTime,
	}, p)
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

// finish takes the source's account.
func (s *stage) finish(source capture.Source) {
	a := s.a
	s.file.Report = source.Report()
	if s.vanished != nil && !s.file.Report.Partial {
		s.file.Report.Partial, s.file.Report.Fault = true, s.vanished.Error()
	}
	s.file.Interfaces = source.Interfaces()
	a.packets += s.file.Packets
	a.interfaces += uint32(len(s.file.Interfaces))
	a.progress.bytesBase.Add(a.progress.bytesRead.Swap(0))
}
