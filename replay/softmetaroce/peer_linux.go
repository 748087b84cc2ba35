package softmetaroce

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/metaroce"
)

// batch is how many datagrams are made before they are sent and what came in is looked at.
const batch = 128

// datagramRoom is what headers and ICRC need beside the payload of a packet, bytes.
const datagramRoom = 128

// pace is how the user of a peer is getting on.
type pace uint8

const (
	paceIdle pace = iota // waits for packets
	paceBusy             // has more to do at once
	paceDone             // the loop can end
)

// handler is who uses the endpoint of a peer. Its methods run in the peer's loop.
type handler interface {
	event(now time.Duration, e *metaroce.Event)
	completed(now time.Duration, c *metaroce.Completion)
	// progress is called in each round of the loop; stopping says that the caller of the loop wants it to end.
	progress(now time.Duration, stopping bool) (pace, error)
}

// peer is an endpoint with sockets.
type peer struct {
	config    Config
	endpoint  *metaroce.Endpoint
	handler   handler
	start     time.Time
	receivers []*receiver
	rejecting []*socket // the same sockets, from which answers to strangers leave
	joinedIn  bool
	buffer    int
	polls     []unix.PollFd
	ports     ports
	send      sender
	arena     [][]byte // one buffer for each datagram of a batch
	used      int
	dirty     []*socket // have datagrams pending
	impair    *impairer // nil: none
	held      heldHeap
	order     uint64
	free      [][]byte // of held datagrams
	freed     [][]byte // sent in this round
	record    *recorder
	decoded   mr0.Packet
	arriving  metaroce.Datagram // these are kept lest each be allocated
	leaving   metaroce.Datagram
	happened  metaroce.Event
	completed metaroce.Completion
	counts    counts
	received  SocketCounts // those of the receiving side
	live      Live

	wakeLock sync.Mutex
	wakeFD   int // -1: closed
}

// open binds the sockets that receive and makes the endpoint.
func open(config Config, memory metaroce.Memory, h handler) (*peer, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	p := &peer{config: config, handler: h, start: time.Now(), wakeFD: -1} //nolint:forbidigo // sockets need a clock, which the endpoint is given
	err := p.openSockets()
	if err == nil {
		p.ports = ports{random: rand.New(rand.NewPCG(config.Seed, 0x706f_7274)), sockets: map[netip.AddrPort]*socket{}} //nolint:gosec // repeatable by its seed
		e := p.config.endpoint(memory, &p.ports)
		e.MaxConnections = 128
		p.endpoint, err = metaroce.New(e)
	}
	if err == nil && config.Capture != nil {
		p.record, err = newRecorder(config.Capture)
	}
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	if config.Impairment.active() {
		p.impair = newImpairer(config.Impairment, config.Seed)
	}
	p.send.offload = config.Offload
	p.arena = make([][]byte, batch)
	for i := range p.arena {
		p.arena[i] = make([]byte, 0, config.MTU+datagramRoom)
	}
	return p, nil
}

func (p *peer) openSockets() error {
	for _, a := range p.config.Addresses {
		local := netip.AddrPortFrom(a, p.config.Port)
		fd, buffer, joined, err := openReceiver(local, p.config.Buffer, p.config.Offload)
		if err != nil {
			return err
		}
		p.receivers = append(p.receivers, newReceiver(fd, local, joined, 8192+2*datagramRoom))
		p.rejecting = append(p.rejecting, &socket{fd: fd, local: local})
		p.polls = append(p.polls, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		p.joinedIn, p.buffer = joined, buffer
	}
	p.fitWindow()
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return fmt.Errorf("open eventfd: %w", err)
	}
	p.wakeFD = fd
	p.polls = append(p.polls, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	return nil
}

// fitWindow keeps max_window to what the receive buffer holds: on most hosts only root gets a large one.
func (p *peer) fitWindow() {
	const overhead = 512 // of the kernel for each datagram, about
	c := &p.config
	fits := max(2, p.buffer/(c.MTU+overhead)/max(1, c.Paths))
	c.MaxWindow = min(c.MaxWindow, fits)
	c.InitialWindow = min(c.InitialWindow, c.MaxWindow)
	c.MinWindow = min(c.MinWindow, c.InitialWindow)
}

// close closes all sockets and completes the capture.
func (p *peer) close() error {
	var errs []error
	for _, r := range p.receivers {
		errs = append(errs, unix.Close(r.fd))
	}
	p.receivers = nil
	p.wakeLock.Lock()
	if p.wakeFD >= 0 {
		errs = append(errs, unix.Close(p.wakeFD))
		p.wakeFD = -1
	}
	p.wakeLock.Unlock()
	errs = append(errs, p.ports.close())
	if p.record != nil {
		errs = append(errs, p.record.close())
		p.record = nil
	}
	return errors.Join(errs...)
}

// wake ends the loop's wait, from any goroutine.
func (p *peer) wake() {
	p.wakeLock.Lock()
	defer p.wakeLock.Unlock()
	if p.wakeFD >= 0 {
		_, _ = unix.Write(p.wakeFD, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // fails only when it is awake anyway
	}
}

// now is the time since the peer was opened.
func (p *peer) now() time.Duration { return time.Since(p.start) }

// run is the loop. It ends when the handler says so, or with an error.
func (p *peer) run(ctx context.Context) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// Deadlines are tens of microseconds away; the kernel's default is to be 50 µs late. Refused: it is late.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1000, 0, 0, 0)
	stop := context.AfterFunc(ctx, p.wake)
	defer stop()
	for {
		worked, err := p.receive()
		if err != nil {
			return err
		}
		p.hand()
		pace, err := p.handler.progress(p.now(), ctx.Err() != nil)
		if err != nil {
			return err
		}
		if p.produce() {
			worked = true
		}
		if p.hand() {
			worked = true // progress may have something to do about it
		}
		switch {
		case p.ports.err != nil:
			return p.ports.err
		case pace == paceDone:
			return nil
		case !worked && pace == paceIdle:
			if err := p.wait(); err != nil {
				return err
			}
		}
	}
}

// wait sleeps until something arrives, a deadline passes, or it is woken.
func (p *peer) wait() error {
	at := p.endpoint.NextTimeout()
	if len(p.held) > 0 {
		at = min(at, p.held[0].at)
	}
	left := min(at-p.now(), p.config.IdleAfter/4)
	if left <= 0 {
		return nil
	}
	timeout := unix.NsecToTimespec(int64(left))
	n, err := unix.Ppoll(p.polls, &timeout, nil)
	if err != nil && !errors.Is(err, unix.EINTR) {
		return fmt.Errorf("wait for sockets: %w", err)
	}
	if n > 0 && p.polls[len(p.polls)-1].Revents != 0 {
		var b [8]byte
		_, _ = unix.Read(p.wakeFD, b[:]) // what was written does not matter
	}
	return nil
}

// receive takes a batch of what has arrived on each address.
func (p *peer) receive() (bool, error) {
	worked := false
	for _, r := range p.receivers {
		n, err := r.read()
		p.received.ReceiveCalls++
		if err != nil {
			return false, fmt.Errorf("receive on %s: %w", r.local, err)
		}
		worked = worked || n > 0
		now := p.now()
		for i := range n {
			a := r.message(i)
			p.received.MessagesReceived++
			size := a.segment
			if size <= 0 {
				size = max(1, len(a.payload))
			}
			for len(a.payload) > 0 {
				k := min(size, len(a.payload))
				p.arriving = metaroce.Datagram{Source: a.source, Destination: r.local, ECN: a.ecn, Payload: a.payload[:k]}
				p.take(now, &p.arriving)
				a.payload = a.payload[k:]
			}
		}
	}
	return worked, nil
}

// take hands a datagram to the endpoint.
func (p *peer) take(now time.Duration, d *metaroce.Datagram) {
	p.received.DatagramsReceived++
	if p.record != nil {
		p.record.add(p.start.UnixNano()+int64(now), d.Source, d.Destination, d.ECN, d.Payload)
	}
	switch v := p.endpoint.Handle(now, d); v {
	case metaroce.VerdictNotMetaRoCE, metaroce.VerdictMalformed, metaroce.VerdictICRC:
	default:
		p.hand()
		if mr0.Decode(d.Payload, &p.decoded) == nil {
			p.counts.add(p.counts.in[p.decoded.CH.DestConnID], false, &p.decoded, d)
		}
	}
}

// hand gives events and completions to the handler. It runs before the acknowledgments of what has landed leave, so
// that a sender that is told so may reuse the memory. It tells whether there were any.
func (p *peer) hand() (some bool) {
	e, c := &p.happened, &p.completed
	for p.endpoint.NextEvent(e) {
		some = true
		if e.Kind == metaroce.EventConnected || e.Kind == metaroce.EventAccepted {
			p.counts.register(e.Connection)
		}
		p.handler.event(p.now(), e)
	}
	for p.endpoint.NextCompletion(c) {
		some = true
		p.handler.completed(p.now(), c)
	}
	return some
}

// produce sends what the endpoint has to send, up to a batch.
func (p *peer) produce() bool {
	p.release()
	n := 0
	for p.used < batch {
		var ok bool
		if p.leaving, ok = p.endpoint.Poll(p.now(), p.arena[p.used]); !ok {
			break
		}
		n++
		p.output(&p.leaving)
	}
	for _, s := range p.dirty {
		p.send.flush(s)
	}
	clear(p.dirty)
	p.dirty = p.dirty[:0]
	p.used = 0
	p.recycle()
	if len(p.ports.released) > 0 {
		p.ports.sweep()
	}
	p.live.publish(p)
	return n > 0
}

// output sends a datagram of the endpoint through the impairment.
func (p *peer) output(d *metaroce.Datagram) {
	now := p.now()
	if p.record != nil {
		p.record.add(p.start.UnixNano()+int64(now), d.Source, d.Destination, d.ECN, d.Payload)
	}
	if mr0.Decode(d.Payload, &p.decoded) == nil {
		p.counts.add(p.counts.out[p.decoded.CH.DestConnID], true, &p.decoded, d)
	}
	s := p.socket(d.Source)
	if s == nil { // the address is gone: as if the network had lost it
		p.send.count.SendErrors++
		return
	}
	f := fate{copies: 1, ecn: d.ECN}
	if p.impair != nil {
		f = p.impair.decide(&s.broken, &p.decoded.CH, d.ECN)
	}
	for range f.copies {
		if f.delay > 0 {
			p.hold(now+f.delay, s, outgoing{payload: d.Payload, destination: d.Destination, ecn: f.ecn})
		} else {
			p.enqueue(s, outgoing{payload: d.Payload, destination: d.Destination, ecn: f.ecn})
		}
	}
	if f.copies > 0 && f.delay == 0 {
		p.used++
	}
}

// socket is what a datagram leaves from: of a path, or what receives, since who is rejected has no path. nil: it is gone.
func (p *peer) socket(name netip.AddrPort) *socket {
	if s := p.ports.find(name); s != nil {
		return s
	}
	for _, s := range p.rejecting {
		if s.local == name {
			return s
		}
	}
	return nil
}

func (p *peer) enqueue(s *socket, o outgoing) {
	if len(s.pending) == 0 {
		p.dirty = append(p.dirty, s)
	}
	s.pending = append(s.pending, o)
	s.queued++
}

// hold keeps a copy of a datagram until its time has come.
func (p *peer) hold(at time.Duration, s *socket, o outgoing) {
	var b []byte
	if n := len(p.free); n > 0 {
		b, p.free = p.free[n-1], p.free[:n-1]
	}
	o.payload = append(b[:0], o.payload...)
	p.order++
	s.queued++
	heap.Push(&p.held, held{at: at, order: p.order, socket: s, outgoing: o})
}

// release queues the held datagrams whose time has come.
func (p *peer) release() {
	for len(p.held) > 0 && p.held[0].at <= p.now() {
		h, ok := heap.Pop(&p.held).(held)
		if !ok {
			return
		}
		h.socket.queued--
		p.enqueue(h.socket, h.outgoing)
		p.freed = append(p.freed, h.outgoing.payload)
	}
}

// recycle makes the buffers of held datagrams that were sent available.
func (p *peer) recycle() {
	p.free = append(p.free, p.freed...)
	clear(p.freed)
	p.freed = p.freed[:0]
}
