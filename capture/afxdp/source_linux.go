package afxdp

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/clock"
	"github.com/rocelens/rocelens/capture/xdp/attach"
)

const (
	defaultRing = 32 << 20
	batchFrames = 256
	care        = time.Second // how often the interface and the clock are seen to

	linkTypeEthernet = 1
)

// Source captures from one interface. Its methods are for one goroutine, but for Interfaces and Close. The frames of a
// batch lie in the memory that the kernel wrote them to, but for those in several pieces.
type Source struct {
	at      *attach.Interface
	objects *ebpf.Collection
	sockets []*socket
	turn    int // the socket to be read first
	lent    map[*capture.Batch][]loan
	poll    []unix.PollFd
	wake    int // eventfd by which Close ends a waiting Next
	detach  []func() error
	how     string
	clock   clock.Monotonic
	tended  time.Time
	count   uint64

	ending  atomic.Bool
	reading sync.Mutex // held by Next, and by Close before it takes away what Next needs
	mu      sync.Mutex // guards what follows, and the counts against being closed while they are asked
	closed  bool
	final   capture.Interface
}

var _ capture.Source = (*Source)(nil)

// Open starts to capture on an interface. Errors: capture.ErrNoInterface, capture.ErrDown, and those of the kernel.
func Open(name string, o Options) (*Source, error) {
	at, err := attach.Find(name)
	if err != nil {
		return nil, fmt.Errorf("capture by AF_XDP on %q: %w", name, err)
	}
	s := &Source{at: at, wake: -1, lent: map[*capture.Batch][]loan{}}
	if err := s.start(o); err != nil {
		return nil, fmt.Errorf("capture by AF_XDP on %q: %w", name, errors.Join(err, s.release()))
	}
	return s, nil
}

func (s *Source) start(o Options) (err error) {
	_ = rlimit.RemoveMemlock() // kernels from 5.11 on need it for the memory of frames alone, and say what is missing
	if err := s.load(); err != nil {
		return err
	}
	if s.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return fmt.Errorf("make event descriptor: %w", err)
	}
	s.poll = []unix.PollFd{{Fd: int32(s.wake), Events: unix.POLLIN}}
	if err := s.clock.Adjust(); err != nil {
		return fmt.Errorf("read the clock: %w", err)
	}
	if o.RingBytes <= 0 {
		o.RingBytes = defaultRing
	}
	queues := s.at.Queues()
	for queue := range queues {
		one, err := newSocket(s.at.Index, uint32(queue), chunksOf(o.RingBytes, queues), s.tries(o))
		if err != nil {
			return err
		}
		s.sockets = append(s.sockets, one)
		s.poll = append(s.poll, unix.PollFd{Fd: int32(one.fd), Events: unix.POLLIN})
		if err := s.objects.Maps[programMapSockets].Put(uint32(queue), uint32(one.fd)); err != nil {
			return fmt.Errorf("give a queue its socket: %w", err)
		}
	}
	return s.attach(o)
}

// load loads what this kernel can run.
func (s *Source) load() error {
	spec, err := loadProgram()
	if err != nil {
		return err
	}
	if s.objects, err = ebpf.NewCollection(spec); err == nil {
		return nil
	}
	// Before 5.18 an XDP program is for frames in one piece.
	delete(spec.Programs, programProgOnXdpFrags)
	var again error
	if s.objects, again = ebpf.NewCollection(spec); again == nil {
		return nil
	}
	return fmt.Errorf("load the program into the kernel: %w", err)
}

// tries are the ways to bind a socket, from the best. Frames that no chunk holds come in pieces.
func (s *Source) tries(o Options) []uint16 {
	var pieces uint16
	if s.at.MTU()+26 > chunk-headroom { // with Ethernet header and two tags
		pieces = unix.XDP_USE_SG
	}
	if o.Copy || o.Generic {
		return []uint16{unix.XDP_COPY | pieces}
	}
	return []uint16{unix.XDP_ZEROCOPY | pieces, unix.XDP_COPY | pieces}
}

// attach comes last: from then on packets are taken away.
func (s *Source) attach(o Options) error {
	if !o.NoPromiscuous {
		leave, err := attach.Promiscuous(s.at.Index)
		if err != nil {
			return err
		}
		s.detach = append(s.detach, leave)
	}
	type rung struct {
		way     attach.Way
		program string
		flags   link.XDPAttachFlags
	}
	ladder := []rung{
		{attach.NativeFrags, programProgOnXdpFrags, link.XDPDriverMode},
		{attach.Native, programProgOnXdp, link.XDPDriverMode},
		{attach.GenericFrags, programProgOnXdpFrags, link.XDPGenericMode},
		{attach.Generic, programProgOnXdp, link.XDPGenericMode},
	}
	if o.Generic {
		ladder = ladder[2:]
	}
	var errs []error
	for _, r := range ladder {
		program := s.objects.Programs[r.program]
		if program == nil {
			continue
		}
		l, err := link.AttachXDP(link.XDPOptions{Program: program, Interface: s.at.Index, Flags: r.flags})
		if err == nil {
			s.detach = append(s.detach, l.Close)
			s.how = fmt.Sprintf("AF_XDP by %s, %s", r.way, nameOf(s.sockets[0].flags))
			return nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", r.way, err))
	}
	return fmt.Errorf("attach a program: %w", errors.Join(errs...))
}

// Next waits for frames and lends them to the batch. It returns io.EOF after Close, and capture.ErrDown when the interface
// goes away.
func (s *Source) Next(batch *capture.Batch) error {
	if cap(batch.Frames) == 0 {
		batch.Frames = make([]capture.Frame, 0, batchFrames)
	}
	s.reading.Lock()
	defer s.reading.Unlock()
	if s.ending.Load() {
		return io.EOF
	}
	s.takeBack(batch)
	due, err := s.tend()
	if err != nil {
		return fmt.Errorf("capture by AF_XDP on %q: %w", s.at.Name, err)
	}
	for {
		for range s.sockets {
			s.turn = (s.turn + 1) % len(s.sockets)
			s.fill(s.sockets[s.turn], batch)
		}
		if len(batch.Frames) > 0 {
			return nil
		}
		if due && !s.at.Up() {
			return fmt.Errorf("capture by AF_XDP on %q: %w", s.at.Name, capture.ErrDown)
		}
		if err := s.wait(); err != nil {
			return err
		}
		if due, err = s.tend(); err != nil {
			return fmt.Errorf("capture by AF_XDP on %q: %w", s.at.Name, err)
		}
	}
}

// tend sees to the clock from time to time, and tells whether it did.
func (s *Source) tend() (did bool, err error) {
	now := time.Now()
	if now.Sub(s.tended) < care {
		return false, nil
	}
	s.tended = now
	return true, s.clock.Adjust()
}

// takeBack gives the kernel the chunks that a batch had.
func (s *Source) takeBack(batch *capture.Batch) {
	for _, l := range s.lent[batch] {
		l.socket.giveBack(l.address)
	}
	s.lent[batch] = s.lent[batch][:0]
	batch.Frames, batch.Buffer = batch.Frames[:0], batch.Buffer[:0]
}

func (s *Source) wait() error {
	if _, err := unix.Poll(s.poll, int(care.Milliseconds())); err != nil && !errors.Is(err, unix.EINTR) {
		return fmt.Errorf("capture by AF_XDP on %q: wait for packets: %w", s.at.Name, err)
	}
	if s.ending.Load() {
		return io.EOF
	}
	for _, p := range s.poll[1:] {
		if p.Revents&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) != 0 {
			return fmt.Errorf("capture by AF_XDP on %q: %w", s.at.Name, capture.ErrDown)
		}
	}
	return nil
}

// fill takes frames of one socket until the batch is full. A frame's pieces are there all or none.
func (s *Source) fill(one *socket, batch *capture.Batch) {
	at, n := one.waiting()
	for n > 0 && len(batch.Frames) < cap(batch.Frames) {
		d := one.frames.descriptor(at)
		f := capture.Frame{Time: s.clock.Unix(one.timeOf(d)), HasTime: true, Offset: -1, LinkType: linkTypeEthernet, Direction: capture.DirectionIn}
		took := uint32(1)
		if d.Options&unix.XDP_PKT_CONTD == 0 {
			f.Data = one.bytesOf(d)
			s.lent[batch] = append(s.lent[batch], loan{one, d.Addr})
		} else {
			f.Data, took = one.joined(at, n, batch)
		}
		s.count++
		f.Number, f.OriginalLength = s.count, uint32(len(f.Data))
		batch.Frames = append(batch.Frames, f)
		at, n = at+took, n-took
	}
	one.read(at)
}

// joined copies a frame in pieces, and gives their chunks back.
func (s *socket) joined(at, n uint32, batch *capture.Batch) (data []byte, took uint32) {
	begin := len(batch.Buffer)
	for more := true; more && took < n; took++ {
		d := s.frames.descriptor(at + took)
		batch.Buffer = append(batch.Buffer, s.bytesOf(d)...)
		more = d.Options&unix.XDP_PKT_CONTD != 0
		s.giveBack(d.Addr)
	}
	return batch.Buffer[begin:len(batch.Buffer):len(batch.Buffer)], took
}

// Interfaces has one interface, with the counts up to now. It may be called from any goroutine.
func (s *Source) Interfaces() []capture.Interface {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.final = s.counted()
	}
	return []capture.Interface{s.final}
}

func (s *Source) counted() capture.Interface {
	var dropped uint64
	for _, one := range s.sockets {
		dropped += one.lost()
	}
	var each []programCounts
	// The call cannot fail on a map that is open.
	_ = s.objects.Maps[programMapTotals].Lookup(uint32(0), &each)
	var received uint64
	var ignored capture.Ignored
	for _, c := range each {
		received += c.Redirected + c.Lost + c.Ignored
		dropped += c.Lost
		ignored.Packets += c.Ignored
		ignored.Bytes += c.IgnoredBytes
	}
	return capture.Interface{
		Name: s.at.Name, Description: s.how, LinkType: linkTypeEthernet, Received: &received, Dropped: &dropped, Ignored: ignored, Clock: "kernel",
	}
}

// Report tells how many frames were handed over.
func (s *Source) Report() capture.Report { return capture.Report{Format: "live", Packets: s.count} }

// Close ends the capture: packets reach the kernel again. It may be called from any goroutine, and makes a Next that waits
// return io.EOF. Frames that were lent stay what they are.
func (s *Source) Close() error {
	if s.ending.Swap(true) {
		return nil
	}
	_, err := unix.Write(s.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	s.reading.Lock()
	defer s.reading.Unlock()
	err = errors.Join(err, s.letGo())
	s.Interfaces()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return errors.Join(err, s.release())
}

// letGo detaches the program.
func (s *Source) letGo() error {
	var errs []error
	for _, f := range s.detach {
		errs = append(errs, f())
	}
	s.detach = nil
	return errors.Join(errs...)
}

func (s *Source) release() error {
	errs := []error{s.letGo()}
	for _, one := range s.sockets {
		errs = append(errs, one.close())
	}
	if s.objects != nil {
		s.objects.Close()
	}
	if s.wake >= 0 {
		errs = append(errs, unix.Close(s.wake))
	}
	return errors.Join(append(errs, s.at.Close())...)
}
