package pcapfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
)

// Open opens a capture file. Its content decides the format. Errors: ErrEmpty, ErrNotCapture (a *NotCaptureError says
// what the file looks like), ErrShortHeader, ErrDamaged for compressed data that yields nothing, and those of os.Open.
//
// Files are read through one buffer that stays in the processor's cache. Mapping them instead (Options.Map) was
// measured to be slower, 230 against 120 ms for a gigabyte with a look at each frame, and 300 against 175 ms with a
// CRC over every byte; its gain is frames that stay. Its danger is a file that somebody cuts short: the next touch of
// what is gone ends the process by SIGBUS. Therefore each call of Next on a mapped file first asks for the file's size
// and then reads with faults made into panics that it recovers, and reports such a file as partial; other goroutines
// get the same protection from Source.Guard.
func Open(path string, opts Options) (*Source, error) {
	f, err := os.Open(path)
	if err != nil {
		if refused, ok := errors.AsType[*fs.PathError](err); ok {
			err = refused.Err // the path is said once
		}
		return nil, fmt.Errorf("open capture %q: %w", path, err)
	}
	s, err := openFile(f, path, opts)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open capture %q: %w", path, err), f.Close())
	}
	return s, nil
}

func openFile(f *os.File, path string, opts Options) (*Source, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, errors.New("it is a directory: give one of the files in it")
	}
	if info.Mode().IsRegular() && opts.Map {
		head := make([]byte, sniffLength)
		n, err := f.ReadAt(head, 0)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if kind := sniff(head[:n]); kind == contentPcap || kind == contentPcapng {
			if m, err := mapFile(f, info.Size()); err == nil {
				return newMapped(m, f, path, kind)
			}
			// Not every file system maps; every one reads.
		}
	}
	s, err := newStream(f, path, opts)
	if err != nil {
		return nil, err
	}
	s.closers = append([]io.Closer{f}, s.closers...)
	return s, nil
}

func newMapped(m *mapping, f *os.File, path string, kind content) (*Source, error) {
	s := &Source{
		name: path, mapped: m, closers: []io.Closer{f, m}, read: new(atomic.Int64), total: int64(len(m.data)),
		in: input{buf: m.data},
	}
	if err := s.start(kind, ""); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return s, nil
}

// New reads a capture from a stream, such as standard input. name is for messages. Errors are those of Open. Closing
// the Source does not close r.
func New(r io.Reader, name string, opts Options) (*Source, error) {
	s, err := newStream(r, name, opts)
	if err != nil {
		return nil, fmt.Errorf("read capture %q: %w", name, err)
	}
	return s, nil
}

func newStream(r io.Reader, name string, opts Options) (*Source, error) {
	s := &Source{name: name, read: new(atomic.Int64), in: input{want: firstWindow}}
	if f, ok := r.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			s.total, s.in.eager = info.Size(), true
		}
	}
	raw := bufio.NewReaderSize(&countingReader{r: r, n: s.read}, 64<<10)
	kind, err := peek(raw, s.in.eager)
	if err != nil {
		return nil, err
	}
	compression := kind.compression()
	if compression == "" {
		s.in.r = raw
		return s, s.start(kind, "")
	}
	unpacked, err := unpack(raw, kind, opts)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, unpacked)
	s.in.r = unpacked
	if err := s.startUnpacked(compression); err != nil {
		return nil, errors.Join(err, unpacked.Close())
	}
	return s, nil
}

// startUnpacked sniffs again, in what the compression held.
func (s *Source) startUnpacked(compression string) error {
	s.in.fill(sniffLength)
	head := s.in.rest()
	switch kind := sniff(head[:min(len(head), sniffLength)]); {
	case kind == contentPcap, kind == contentPcapng:
		return s.start(kind, compression)
	case len(head) == 0 && s.in.err != nil:
		return s.in.err
	case len(head) == 0:
		return fmt.Errorf("nothing is in the %s data: %w", compression, ErrEmpty)
	case kind.compression() != "":
		return &NotCaptureError{
			LooksLike: fmt.Sprintf("%s data inside %s data", kind.compression(), compression),
			Advice:    "unpack it once and try again",
		}
	default:
		return refusalInside(head, s.in.r == nil && s.in.err == nil, compression)
	}
}

func refusalInside(head []byte, whole bool, compression string) error {
	err := refusal(head, whole)
	var no *NotCaptureError
	if errors.As(err, &no) && no.LooksLike != "" {
		no.LooksLike += " inside " + compression + " data"
	}
	return err
}

// start reads the file header, for pcap, and sets the reader of records.
func (s *Source) start(kind content, compression string) error {
	s.report.Compression = compression
	if kind == contentPcap {
		s.report.Format, s.next = FormatPcap.String(), s.readPcap
		return s.startPcap()
	}
	s.report.Format, s.next = FormatPcapng.String(), s.readPcapng
	return s.startPcapng()
}

// peek sniffs a stream without taking from it. eager says that it may wait for as much as the buffer holds.
func peek(r *bufio.Reader, eager bool) (content, error) {
	// A pipe's first write may be shorter than what is looked at, and its second one late: four bytes decide.
	head, err := r.Peek(4)
	if len(head) == 0 {
		if errors.Is(err, io.EOF) {
			return contentUnknown, ErrEmpty
		}
		return contentUnknown, err
	}
	if kind := sniff(head); kind != contentUnknown {
		return kind, nil
	}
	if startsMagic(head) {
		return contentUnknown, fmt.Errorf("%w (%s there)", ErrShortHeader, haveBytes(len(head)))
	}
	head, err = r.Peek(sniffLength)
	if err != nil && !errors.Is(err, io.EOF) {
		return contentUnknown, err
	}
	if kind := sniff(head); kind != contentUnknown {
		return kind, nil
	}
	if seen := r.Buffered(); !eager && err == nil {
		head, err = r.Peek(seen)
	} else if err == nil {
		head, err = r.Peek(r.Size())
	}
	return contentUnknown, refusal(head, errors.Is(err, io.EOF))
}

// countingReader counts what was taken from the file, for Progress.
type countingReader struct {
	r io.Reader
	n *atomic.Int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}
