package pcapfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/rocelens/rocelens/capture"
)

// Options says how a capture is read. The zero value is right for most.
type Options struct {
	// MaxDecompressed bounds the bytes that come out of a compressed file; what lies beyond is reported, not read.
	// 0: DefaultMaxDecompressed.
	MaxDecompressed int64

	// Map maps a plain file where the system can, so that frames stay valid until Close and can go to other goroutines
	// without being copied. See Open for what it costs.
	Map bool
}

func (o Options) maxDecompressed() int64 {
	if o.MaxDecompressed > 0 {
		return o.MaxDecompressed
	}
	return DefaultMaxDecompressed
}

// Source reads one capture file. Its methods are for one goroutine, but for Progress. It is a capture.Source.
type Source struct {
	name       string
	in         input
	next       func(frames []capture.Frame, limit int) []capture.Frame
	pcap       pcapState
	ng         pcapngState
	report     capture.Report
	interfaces []capture.Interface
	index      Index
	unnoted    int // notes beyond maxNotes
	times      timeline
	comments   comments
	ended      bool
	closed     bool
	mapped     *mapping
	closers    []io.Closer
	read       *atomic.Int64 // bytes of the file as it lies on disk
	total      int64
}

var _ capture.Source = (*Source)(nil)

// Next fills the batch up to its capacity, or up to DefaultBatch when it has none. See capture.Source.
//
// Frames of a mapped file lie in the map and stay valid until Close. Those of any other lie in the batch's Buffer, of
// which a batch without one is given one.
func (s *Source) Next(batch *capture.Batch) error {
	if s.closed {
		return fmt.Errorf("read capture %q: %w", s.name, os.ErrClosed)
	}
	if cap(batch.Frames) == 0 {
		batch.Frames = make([]capture.Frame, 0, DefaultBatch)
	}
	batch.Frames = batch.Frames[:0]
	s.comments.batch = nil
	switch {
	case s.ended:
	case s.mapped != nil:
		batch.Frames = s.fillMapped(batch.Frames, cap(batch.Frames))
		s.read.Store(s.in.offset())
	default:
		s.fill(batch)
	}
	s.report.Packets += uint64(len(batch.Frames))
	if len(batch.Frames) > 0 {
		s.times.judge(batch.Frames)
		return nil
	}
	s.ended = true
	if err := s.in.err; err != nil && s.report.Packets == 0 && !errors.Is(err, ErrDamaged) {
		return fmt.Errorf("read capture %q: %w", s.name, err)
	}
	return io.EOF
}

func (s *Source) fill(batch *capture.Batch) {
	if cap(batch.Buffer) == 0 {
		size := batchBuffer
		if s.total > 0 && s.report.Compression == "" {
			size = int(min(s.total+blockOverhead, batchBuffer))
		}
		batch.Buffer = make([]byte, 0, size)
	}
	s.in.borrow(batch.Buffer)
	from := s.in.offset()
	batch.Frames = s.next(batch.Frames, cap(batch.Frames))
	s.in.learn(int(s.in.offset()-from), len(batch.Frames) == cap(batch.Frames))
	batch.Buffer = s.in.giveBack()
}

// number is that of the frame after those already counted and the n of this batch.
func (s *Source) number(n int) uint64 { return s.report.Packets + uint64(n) + 1 }

// Interfaces lists the interfaces met so far, over all sections.
func (s *Source) Interfaces() []capture.Interface { return slices.Clone(s.interfaces) }

// Report is the account so far; see capture.Report.
func (s *Source) Report() capture.Report {
	r := s.report
	r.Skipped = slices.Clone(r.Skipped)
	if s.unnoted > 0 {
		r.Skipped = append(r.Skipped, fmt.Sprintf("and %d more", s.unnoted))
	}
	r.Skipped = s.times.tell(r.Skipped)
	r.Comments = s.comments.all()
	return r
}

// Index is what single frames can be read with later, by ReadFrame. It is whole once Next returned io.EOF.
func (s *Source) Index() Index {
	x := s.index
	x.Sections = slices.Clone(x.Sections)
	x.Interfaces = slices.Clone(x.Interfaces)
	return x
}

// Progress may be called from any goroutine.
func (s *Source) Progress() capture.Progress {
	return capture.Progress{BytesRead: s.read.Load(), BytesTotal: s.total}
}

// Close releases the file and, when it is mapped, the frames.
func (s *Source) Close() error {
	if s.closed {
		return nil
	}
	s.closed, s.ended = true, true
	s.in = input{}
	var errs []error
	for _, c := range slices.Backward(s.closers) {
		errs = append(errs, c.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close capture %q: %w", s.name, err)
	}
	return nil
}

// fault records why the file could not be read as a whole; only the first one is kept. kept counts the frames of the
// batch at hand.
func (s *Source) fault(offset int64, kept int, text string) {
	if s.report.Partial {
		s.note(offset, text)
		return
	}
	s.report.Partial, s.report.FaultOffset = true, offset
	s.report.Fault = text + "; " + keptText(s.report.Packets+uint64(kept))
}

func keptText(n uint64) string {
	switch n {
	case 0:
		return "no packet could be read before it"
	case 1:
		return "the packet before it was kept"
	default:
		return "the " + strconv.FormatUint(n, 10) + " packets before it were kept"
	}
}

func (s *Source) note(offset int64, text string) {
	if len(s.report.Skipped) >= maxNotes {
		s.unnoted++
		return
	}
	s.report.Skipped = append(s.report.Skipped, fmt.Sprintf("byte %d: %s", offset, text))
}

// why is the end of a fault sentence: what stopped the bytes before the file was whole.
func (s *Source) why() string {
	switch {
	case s.in.err != nil:
		return ": " + s.in.err.Error()
	case s.mapped != nil && s.mapped.shrunk:
		return ": the file was cut short while it was being read"
	default:
		return ""
	}
}

// end is called where a record or block boundary was the end of the bytes: the proper end, unless the bytes stopped
// for another reason.
func (s *Source) end(kept int) {
	s.ended = true
	if s.report.Packets+uint64(kept) == 0 && len(s.report.Skipped) > 0 && !s.report.Partial {
		s.note(s.in.offset(), "the end of the file; no packet of it could be read")
	}
	if why := s.why(); why != "" {
		s.fault(s.in.offset(), kept, fmt.Sprintf("reading stopped at byte %d%s", s.in.offset(), why))
	}
}
