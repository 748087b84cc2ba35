package pcapfile

import (
	"errors"
	"io"
)

// input is a run of bytes of the (decompressed) file: all of it when the file is mapped, else a window that moves
// over a stream. Slices of the window hold until fill or skip moves it. While a batch is filled, the window lies in
// the batch's own buffer, so that its frames need no copying.
type input struct {
	buf   []byte
	tail  []byte    // holds what is unread between two batches
	want  int       // bytes to read ahead to: about what a batch takes
	pos   int       // of the next byte to read, in buf
	base  int64     // where buf begins in the file
	r     io.Reader // nil when buf holds all that is to come
	err   error     // why r ended; nil for a proper end
	eager bool      // fill the whole window at a time; not for pipes, whose writer may pause
}

// offset is the place of the next byte in the file.
func (in *input) offset() int64 { return in.base + int64(in.pos) }

func (in *input) rest() []byte { return in.buf[in.pos:] }

// fill moves the window so that n unread bytes are in it, and says whether the file has that many. Memory grows only
// with bytes that are really there.
func (in *input) fill(n int) bool {
	if len(in.buf)-in.pos >= n {
		return true
	}
	if in.r == nil {
		return false
	}
	in.compact()
	ahead := max(n, in.want)
	for len(in.buf) < n || in.eager && len(in.buf) < min(ahead, cap(in.buf)) {
		if len(in.buf) == cap(in.buf) {
			grown := make([]byte, len(in.buf), max(2*cap(in.buf), firstWindow))
			copy(grown, in.buf)
			in.buf = grown
		}
		if !in.read(min(ahead, cap(in.buf))) {
			break
		}
	}
	return len(in.buf) >= n
}

// borrow lays the window into b.
func (in *input) borrow(b []byte) {
	b = append(b[:0], in.rest()...)
	in.base += int64(in.pos)
	in.buf, in.pos = b, 0
}

// giveBack ends a borrow and returns the buffer, which may have been replaced by a larger one.
func (in *input) giveBack() []byte {
	b := in.buf
	in.tail = append(in.tail[:0], in.rest()...)
	in.base += int64(in.pos)
	in.buf, in.pos = in.tail, 0
	return b
}

// learn sets how far to read ahead: what is read in vain for one batch is copied for the next.
func (in *input) learn(taken int, full bool) {
	const slack = 2 << 10
	if full {
		in.want = taken + taken/64 + slack
	} else {
		in.want = min(in.want+in.want/16+slack, batchBuffer)
	}
}

func (in *input) compact() {
	in.base += int64(in.pos)
	left := copy(in.buf, in.buf[in.pos:])
	in.buf, in.pos = in.buf[:left], 0
}

// read appends one read of the stream, up to a length of limit, and says whether there may be more.
func (in *input) read(limit int) bool {
	const patience = 100
	for range patience {
		n, err := in.r.Read(in.buf[len(in.buf):limit])
		in.buf = in.buf[:len(in.buf)+n]
		if err != nil {
			if !errors.Is(err, io.EOF) {
				in.err = err
			}
			in.r = nil
			return false
		}
		if n > 0 {
			return true
		}
	}
	in.err, in.r = io.ErrNoProgress, nil
	return false
}

// skip passes over n bytes without keeping them, and says whether the file has that many.
func (in *input) skip(n int64) bool {
	for n > 0 {
		if have := int64(len(in.buf) - in.pos); have > 0 {
			step := min(have, n)
			in.pos += int(step)
			n -= step
			continue
		}
		if !in.fill(1) {
			return false
		}
	}
	return true
}
