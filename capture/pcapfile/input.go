package pcapfile

import (
	"errors"
	"io"
)

// input is a run of bytes of the (decompressed) file: all of it when the file is mapped, else a window that moves
// over a stream. Slices of the window hold until fill or skip moves it.
type input struct {
	buf   []byte
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
	for len(in.buf) < n || in.eager && len(in.buf) < cap(in.buf) {
		if len(in.buf) == cap(in.buf) {
			grown := make([]byte, len(in.buf), max(2*cap(in.buf), streamBuffer))
			copy(grown, in.buf)
			in.buf = grown
		}
		if !in.read() {
			break
		}
	}
	return len(in.buf) >= n
}

func (in *input) compact() {
	in.base += int64(in.pos)
	left := copy(in.buf, in.buf[in.pos:])
	in.buf, in.pos = in.buf[:left], 0
}

// read appends one read of the stream and says whether there may be more.
func (in *input) read() bool {
	const patience = 100
	for range patience {
		n, err := in.r.Read(in.buf[len(in.buf):cap(in.buf)])
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
