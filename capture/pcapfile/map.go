package pcapfile

import (
	"fmt"
	"os"
	"reflect"
	"runtime/debug"

	"github.com/rocelens/rocelens/capture"
)

// mapping is a file in memory. It outlives a truncation of the file only as addresses: touching what is gone is a fault.
type mapping struct {
	f      *os.File
	data   []byte
	shrunk bool
}

// current is how much of the mapping the file still has.
func (m *mapping) current() int {
	info, err := m.f.Stat()
	if err != nil || info.Size() >= int64(len(m.data)) {
		return len(m.data)
	}
	return int(info.Size())
}

func (m *mapping) holds(address uintptr) bool {
	start := reflect.ValueOf(m.data).Pointer()
	return address >= start && address-start < uintptr(cap(m.data))
}

// Guard runs fn, which touches frames of s. All that touch frames of a mapped file do so in it. If the file was cut short under the map and fn touched what is gone, Guard
// returns an error in place of the process ending. Other panics pass through.
func (s *Source) Guard(fn func()) (err error) {
	if s.mapped == nil {
		fn()
		return nil
	}
	before := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(before)
		r := recover()
		if r == nil {
			return
		}
		fault, ok := r.(interface{ Addr() uintptr })
		if !ok || !s.mapped.holds(fault.Addr()) {
			panic(r)
		}
		err = fmt.Errorf("read capture %q: the file was cut short while it was being read", s.name)
	}()
	fn()
	return nil
}

func (s *Source) fillMapped(frames []capture.Frame, limit int) []capture.Frame {
	const attempts = 3
	out := frames
	for range attempts {
		s.shrink()
		before := s.state()
		if s.Guard(func() { out = s.next(frames, limit) }) == nil {
			return out
		}
		// The file shrank during the call: take the batch again, from what is left.
		s.restore(before)
	}
	s.fault(s.in.offset(), 0, "the file was cut short again and again while it was being read")
	s.ended = true
	return frames
}

// state is all that reading a batch changes.
type state struct {
	pos        int
	ng         pcapngState
	report     capture.Report
	interfaces []capture.Interface
	index      Index
	unnoted    int
	comments   comments
}

func (s *Source) state() state {
	return state{pos: s.in.pos, ng: s.ng, report: s.report, interfaces: s.interfaces, index: s.index, unnoted: s.unnoted, comments: s.comments}
}

func (s *Source) restore(b state) {
	s.in.pos, s.ng, s.report, s.interfaces, s.index, s.unnoted = b.pos, b.ng, b.report, b.interfaces, b.index, b.unnoted
	s.comments = b.comments
	s.ended = false
}

func (s *Source) shrink() {
	if size := s.mapped.current(); size < len(s.in.buf) {
		s.mapped.shrunk = true
		s.in.buf = s.in.buf[:size]
		s.in.pos = min(s.in.pos, size)
	}
}
