package headers

import (
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"sync"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"
	"github.com/cilium/ebpf/rlimit"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/clock"
	"github.com/rocelens/rocelens/capture/xdp/attach"
)

const (
	defaultRing = 32 << 20
	batchFrames = 256
	retire      = 50 * time.Millisecond // after which the ring is looked into though it has not called
	care        = time.Second           // how often the interface, its programs and the clock are seen to

	linkTypeEthernet = 1
	recordBytes      = int(unsafe.Sizeof(programRecord{}))
	dataAt           = int(unsafe.Offsetof(programRecord{}.Bytes))
)

// Source captures from one interface. Its methods are for one goroutine, but for Interfaces and Close.
type Source struct {
	at       *attach.Interface
	attached *attach.Attachment
	objects  *ebpf.Collection
	reader   *ringbuf.Reader
	record   ringbuf.Record
	clock    clock.Monotonic
	tended   time.Time
	count    uint64

	reading sync.Mutex // held by Next, and by Close before it takes away what Next needs
	mu      sync.Mutex // guards what follows, and the counts against being closed while they are asked
	closed  bool
	final   programCounts
}

var _ capture.Source = (*Source)(nil)

// Open starts to capture on an interface. Errors: capture.ErrNoInterface, capture.ErrDown, and those of the kernel, which
// may have no such programs or permit none.
func Open(name string, o Options) (*Source, error) {
	s, err := open(name, o)
	if err != nil {
		return nil, fmt.Errorf("capture headers on %q: %w", name, err)
	}
	return s, nil
}

func open(name string, o Options) (*Source, error) {
	at, err := attach.Find(name)
	if err != nil {
		return nil, err
	}
	s := &Source{at: at}
	if err := s.start(o); err != nil {
		return nil, errors.Join(err, s.release())
	}
	return s, nil
}

func (s *Source) start(o Options) error {
	_ = rlimit.RemoveMemlock() // kernels from 5.11 on need none of it, and say what is missing otherwise
	err := s.load(o)
	if err != nil {
		return err
	}
	if s.reader, err = ringbuf.NewReader(s.objects.Maps[programMapRing]); err != nil {
		return fmt.Errorf("read the ring: %w", err)
	}
	if err := s.clock.Adjust(); err != nil {
		return fmt.Errorf("read the clock: %w", err)
	}
	p := s.objects.Programs
	s.attached, err = attach.To(s.at.Name, attach.Programs{
		XDPFrags: p[programProgOnXdpFrags], XDP: p[programProgOnXdp], TCIn: p[programProgOnIngress], TCOut: p[programProgOnEgress],
		Lease: s.objects.Variables[programVarLease],
	}, attach.Options{Promiscuous: !o.NoPromiscuous, Skip: o.Skip})
	return err
}

// load loads what this kernel can run.
func (s *Source) load(o Options) error {
	spec, err := loadProgram()
	if err != nil {
		return err
	}
	if o.RingBytes <= 0 {
		o.RingBytes = defaultRing
	}
	spec.Maps[programMapRing].MaxEntries = 1 << bits.Len(uint(max(o.RingBytes, os.Getpagesize())-1))
	if s.objects, err = ebpf.NewCollection(spec); err == nil {
		return nil
	}
	// Before 5.18 an XDP program is for frames in one piece.
	delete(spec.Programs, programProgOnXdpFrags)
	var again error
	if s.objects, again = ebpf.NewCollection(spec); again == nil {
		return nil
	}
	return fmt.Errorf("load the programs into the kernel: %w", err)
}

// Next waits for packets and copies their headers into the batch. It returns io.EOF after Close, and capture.ErrDown when
// the interface goes away.
func (s *Source) Next(batch *capture.Batch) error {
	if cap(batch.Frames) == 0 {
		batch.Frames = make([]capture.Frame, 0, batchFrames)
	}
	if need := cap(batch.Frames) * recordBytes; cap(batch.Buffer) < need {
		batch.Buffer = make([]byte, 0, need)
	}
	batch.Frames, batch.Buffer = batch.Frames[:0], batch.Buffer[:0]
	s.reading.Lock()
	defer s.reading.Unlock()
	for {
		due, err := s.tend()
		if err != nil {
			return fmt.Errorf("capture headers on %q: %w", s.at.Name, err)
		}
		err = s.fill(batch)
		switch {
		case len(batch.Frames) > 0:
			return nil
		case errors.Is(err, ringbuf.ErrClosed):
			return io.EOF
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return fmt.Errorf("capture headers on %q: read the ring: %w", s.at.Name, err)
		case due && !s.at.Up():
			return fmt.Errorf("capture headers on %q: %w", s.at.Name, capture.ErrDown)
		}
	}
}

// tend sees to programs and clock from time to time, and tells whether it did.
func (s *Source) tend() (did bool, err error) {
	now := time.Now()
	if now.Sub(s.tended) < care {
		return false, nil
	}
	s.tended = now
	return true, errors.Join(s.attached.Renew(), s.clock.Adjust())
}

// fill waits for the first packet and takes those that are there behind it, until the batch is full.
func (s *Source) fill(batch *capture.Batch) error {
	s.reader.SetDeadline(time.Now().Add(retire))
	for len(batch.Frames) < cap(batch.Frames) {
		at := len(batch.Buffer)
		s.record.RawSample = batch.Buffer[at : at : at+recordBytes]
		if err := s.reader.ReadInto(&s.record); err != nil {
			return err
		}
		batch.Buffer = batch.Buffer[:at+recordBytes]
		s.add(batch, batch.Buffer[at:])
		if s.record.Remaining == 0 {
			return nil
		}
	}
	return nil
}

// add makes a frame of a record. The bytes stay where they are.
func (s *Source) add(batch *capture.Batch, b []byte) {
	r := (*programRecord)(unsafe.Pointer(&b[0])) //nolint:gosec // bpf2go made the layout the kernel's
	end := dataAt + int(min(r.Captured, SnapLength))
	s.count++
	f := capture.Frame{
		Number: s.count, Time: s.clock.Unix(r.Time), HasTime: true, Offset: -1, OriginalLength: r.Length, LinkType: linkTypeEthernet,
		Direction: capture.Direction(r.Direction),
	}
	begin := dataAt
	if r.Type != 0 && end-begin >= macLength {
		begin = tag(b, r.Type, r.Tag)
		end = min(end, begin+SnapLength)
	}
	f.Data = b[begin:end:end]
	batch.Frames = append(batch.Frames, f)
}

// Interfaces has one interface, with the counts up to now. It may be called from any goroutine.
func (s *Source) Interfaces() []capture.Interface {
	c := s.counts()
	received := c.Copied + c.Lost + c.Ignored
	return []capture.Interface{{
		Name: s.at.Name, Description: "headers by " + s.attached.String(), LinkType: linkTypeEthernet, SnapLength: SnapLength, Clock: "kernel",
		Received: &received, Dropped: &c.Lost, Ignored: capture.Ignored{Packets: c.Ignored, Bytes: c.IgnoredBytes},
	}}
}

// counts are those of all CPUs.
func (s *Source) counts() programCounts {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.final
	}
	var each []programCounts
	if err := s.objects.Maps[programMapTotals].Lookup(uint32(0), &each); err != nil {
		return s.final // it cannot fail on a map that is open
	}
	sum := programCounts{}
	for _, c := range each {
		sum.Copied += c.Copied
		sum.Lost += c.Lost
		sum.Ignored += c.Ignored
		sum.IgnoredBytes += c.IgnoredBytes
	}
	s.final = sum
	return sum
}

// FellBack tells what ways to attach were tried before, and why they did not do.
func (s *Source) FellBack() []string { return s.attached.FellBack }

// Report tells how many packets were handed over.
func (s *Source) Report() capture.Report { return capture.Report{Format: "live", Packets: s.count} }

// Close ends the capture and detaches the programs. It may be called from any goroutine, and makes a Next that waits
// return io.EOF.
func (s *Source) Close() error {
	err := s.attached.Detach()
	s.counts()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return errors.Join(err, s.release())
}

func (s *Source) release() error {
	var errs []error
	if s.reader != nil {
		errs = append(errs, s.reader.Close()) // which ends a Next that reads
	}
	s.reading.Lock()
	defer s.reading.Unlock()
	if s.objects != nil {
		s.objects.Close()
	}
	errs = append(errs, s.at.Close())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close capture on %q: %w", s.at.Name, err)
	}
	return nil
}
