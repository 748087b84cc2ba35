package capgen

import (
	"math/rand/v2"
	"slices"

	"github.com/rocelens/rocelens/dissector/infiniband"
)

// Waiting times of the two ends, ns.
const (
	transportTimeout = 4096 << 14 // 4.096 µs * 2^14: the common setting of 67 ms
	rnrTimerCode     = 14
	rnrWait          = 1_280_000 // what the code stands for
	cnpDelay         = 1_500
	mirrorDelay      = 180
)

// burst writes one burst of messages of a connection, from a quiet moment to the next, so that whatever
// happens in it is told in full.
type burst struct {
	cfg    *Config
	random *rand.Rand
	truth  *Truth
	c      *connection
	side   uint8 // of the requester
	plan   []packet
	starts []int // indices in plan where messages begin
}

// run appends the packets of one burst to the connection's queue.
func (b *burst) run(c *connection) {
	b.c = c
	b.side = 0
	if !b.cfg.Ring {
		b.side = uint8(b.random.IntN(2))
	}
	c.queue, c.head = c.queue[:0], 0
	if c.service == infiniband.ServiceUC || c.service == infiniband.ServiceUD {
		b.side = 0
		b.unreliable()
	} else {
		switch b.choose() {
		case "read":
			b.read()
		case "atomic":
			b.atomic()
		case "send":
			b.messages(true)
		default:
			b.messages(false)
		}
	}
	if b.cfg.Mirror {
		b.mirror()
	}
	slices.SortStableFunc(c.queue, func(x, y packet) int {
		switch {
		case x.time < y.time:
			return -1
		case x.time > y.time:
			return 1
		}
		return 0
	})
	c.now = c.queue[len(c.queue)-1].time + 2*(c.toRequester+c.toResponder) + b.random.Int64N(30_000)
}

func (b *burst) choose() string {
	m := b.cfg.Mix
	n := b.random.IntN(m.Write + m.Send + m.Read + m.Atomic)
	switch {
	case n < m.Read:
		return "read"
	case n < m.Read+m.Atomic:
		return "atomic"
	case n < m.Read+m.Atomic+m.Send:
		return "send"
	}
	return "write"
}

func (b *burst) size() uint32 {
	return uint32(b.cfg.MinMessage + b.random.IntN(b.cfg.MaxMessage-b.cfg.MinMessage+1))
}

// emit queues a packet at a time, with the next IP identification of its sender.
func (b *burst) emit(t int64, p packet) {
	p.ipID = b.identify(p.side)
	b.emitAs(t, p)
}

func (b *burst) emitAs(t int64, p packet) {
	p.conn, p.time = b.c, t
	b.c.queue = append(b.c.queue, p)
}

func (b *burst) identify(side uint8) uint16 {
	e := &b.c.ends[side]
	e.ipID++
	return e.ipID
}

// planMessages fills the plan with requests of consecutive PSNs.
func (b *burst) planMessages(send bool) {
	b.plan, b.starts = b.plan[:0], b.starts[:0]
	from := &b.c.ends[b.side]
	mtu := uint32(b.cfg.PathMTU)
	n := 1 + b.random.IntN(b.cfg.Burst)
	for m := range n {
		b.starts = append(b.starts, len(b.plan))
		size := b.size()
		immediate := b.random.IntN(4) == 0
		count := max(1, int((size+mtu-1)/mtu))
		for i := range count {
			p := packet{
				side: b.side, psn: from.psn, length: min(mtu, size-uint32(i)*mtu), dma: size,
				va: 0x7f0000000000 + uint64(from.psn)*4096, immediate: from.psn,
				opcode: b.c.opcode(requestOperation(send, immediate, i, count)),
			}
			if i == count-1 {
				p.ackReq = m == n-1 || (m+1)%b.cfg.AckEvery == 0
			}
			from.psn = (from.psn + 1) & 0xffffff
			b.plan = append(b.plan, p)
		}
	}
	b.truth.Messages += uint64(n)
}

func requestOperation(send, immediate bool, i, count int) infiniband.Operation {
	first, middle, last, only := infiniband.WriteFirst, infiniband.WriteMiddle, infiniband.WriteLast, infiniband.WriteOnly
	if send {
		first, middle, last, only = infiniband.SendFirst, infiniband.SendMiddle, infiniband.SendLast, infiniband.SendOnly
	}
	switch {
	case count == 1 && immediate:
		return only + 1
	case count == 1:
		return only
	case i == 0:
		return first
	case i < count-1:
		return middle
	case immediate:
		return last + 1
	}
	return last
}

// messages is a burst of WRITEs or SENDs on a reliable connection, and what happens to it.
func (b *burst) messages(send bool) {
	b.planMessages(send)
	f, k := &b.cfg.Faults, len(b.plan)
	switch {
	case k > 1 && b.hits(f.LossBefore):
		i := b.random.IntN(k - 1)
		b.goBackN(i, func(j int) bool { return j != i }, nil)
	case k > 1 && b.hits(f.LossAfter):
		b.goBackN(b.random.IntN(k-1), nil, nil)
	case k > 1 && b.hits(f.Corrupt):
		i := b.random.IntN(k - 1)
		b.truth.ICRCErrors++
		b.goBackN(i, nil, func(j int, p *packet) { p.corrupt = j == i })
	case b.hits(f.Timeout):
		b.timeout(b.random.IntN(k))
	case send && b.hits(f.RNR):
		b.receiverNotReady(b.starts[b.random.IntN(len(b.starts))])
	case k > 2 && b.hits(f.Reorder):
		b.reorder(b.random.IntN(k - 2))
	case b.c.encapsulation != RoCEv1 && b.hits(f.Mark):
		b.mark() // congestion notification came with RoCEv2
	case k > 2 && b.hits(f.CaptureMiss):
		b.captureMiss(1 + b.random.IntN(k-2))
	default:
		b.acknowledge(0, b.forward(b.c.now, 0, nil, nil))
	}
}

func (b *burst) hits(probability float64) bool {
	return b.c.faulty && probability > 0 && b.random.Float64() < probability
}

// forward emits the plan from an index on and returns the time of each packet's passing.
func (b *burst) forward(t int64, from int, seen func(int) bool, change func(int, *packet)) []int64 {
	times := make([]int64, len(b.plan))
	for i := from; i < len(b.plan); i++ {
		t += gap(b.plan[i].length)
		times[i] = t
		// What does not pass here was sent all the same.
		b.plan[i].ipID = b.identify(b.side)
		if seen != nil && !seen(i) {
			continue
		}
		p := b.plan[i]
		if change != nil {
			change(i, &p)
		}
		b.emitAs(t, p)
	}
	return times
}

// acknowledge answers each packet from an index on that asks for it. It returns the time of the last answer.
func (b *burst) acknowledge(from int, times []int64) { b.acknowledgeUpTo(from, len(b.plan), times) }

func (b *burst) acknowledgeUpTo(from, to int, times []int64) {
	responder := &b.c.ends[1-b.side]
	for i := from; i < to; i++ {
		p := &b.plan[i]
		if p.opcode.EndsMessage() {
			responder.msn = (responder.msn + 1) & 0xffffff
		}
		if p.ackReq {
			b.answer(times[i]+b.c.toResponder, p.psn, noCreditLimit)
		}
	}
}

const (
	noCreditLimit = infiniband.Syndrome(0x1f)
	nakSequence   = infiniband.Syndrome(0x60)
	rnrNak        = infiniband.Syndrome(0x20 | rnrTimerCode)
)

func (b *burst) answer(t int64, psn uint32, s infiniband.Syndrome) {
	b.emit(t, packet{
		side: 1 - b.side, opcode: b.c.opcode(infiniband.Acknowledge), psn: psn,
		syndrome: s, msn: b.c.ends[1-b.side].msn,
	})
}

// goBackN loses packet i on its way to the responder, which asks for it once the next one arrives; everything
// from i on is sent again.
func (b *burst) goBackN(i int, seen func(int) bool, change func(int, *packet)) {
	times := b.forward(b.c.now, 0, seen, change)
	b.acknowledgeUpTo(0, i, times)
	nak := times[i+1] + b.c.toResponder
	b.answer(nak, b.plan[i].psn, nakSequence)
	b.truth.Naks++
	b.truth.Retransmitted += uint64(len(b.plan) - i)
	again := b.forward(max(nak+b.c.toRequester, times[len(times)-1]), i, nil, nil)
	b.acknowledge(i, again)
}

// timeout loses everything from packet i on behind the vantage point; nobody tells the requester.
func (b *burst) timeout(i int) {
	times := b.forward(b.c.now, 0, nil, nil)
	b.acknowledgeUpTo(0, i, times)
	b.truth.Retransmitted += uint64(len(b.plan) - i)
	again := b.forward(times[len(times)-1]+transportTimeout, i, nil, nil)
	b.acknowledge(i, again)
}

// receiverNotReady has no receive buffer for the message that begins at packet i.
func (b *burst) receiverNotReady(i int) {
	times := b.forward(b.c.now, 0, nil, nil)
	b.acknowledgeUpTo(0, i, times)
	nak := times[i] + b.c.toResponder
	b.answer(nak, b.plan[i].psn, rnrNak)
	b.truth.RNRNaks++
	b.truth.Retransmitted += uint64(len(b.plan) - i)
	again := b.forward(max(nak+rnrWait, times[len(times)-1]), i, nil, nil)
	b.acknowledge(i, again)
}

// reorder lets one or two packets overtake packet i; the responder takes them in.
func (b *burst) reorder(i int) {
	times := b.forward(b.c.now, 0, func(j int) bool { return j != i }, nil)
	j := min(i+1+b.random.IntN(2), len(b.plan)-2)
	// It was sent before those that overtook it, and its identification says so.
	b.emitAs(times[j]+1, b.plan[i])
	b.truth.OutOfOrder++
	b.acknowledge(0, times)
}

// captureMiss hides packet i from the capture; both ends know nothing of it. Without its first packet, whether a
// message was there is for no capture to tell, so first packets are spared.
func (b *burst) captureMiss(i int) {
	if b.startsMessage(i) {
		b.acknowledge(0, b.forward(b.c.now, 0, nil, nil))
		return
	}
	b.truth.MissingPSNs++
	b.acknowledge(0, b.forward(b.c.now, 0, func(j int) bool { return j != i }, nil))
}

// mark sets CE on some packets and answers with one CNP.
func (b *burst) mark() {
	first := -1
	times := b.forward(b.c.now, 0, nil, func(j int, p *packet) {
		if first < 0 || b.random.IntN(3) == 0 {
			p.marked = true
			b.truth.CEMarked++
			if first < 0 {
				first = j
			}
		}
	})
	b.emit(times[first]+cnpDelay, packet{side: 1 - b.side, opcode: infiniband.CNP})
	b.truth.CNPs++
	b.acknowledge(0, times)
}

// read asks for data and gets it.
func (b *burst) read() {
	c := b.c
	from, to := &c.ends[b.side], &c.ends[1-b.side]
	size, mtu := max(1, b.size()), uint32(b.cfg.PathMTU)
	count := (size + mtu - 1) / mtu
	request := packet{
		side: b.side, opcode: c.opcode(infiniband.ReadRequest), psn: from.psn, ackReq: true,
		va: 0x7f0000000000 + uint64(from.psn)*4096, dma: size,
	}
	from.psn = (from.psn + count) & 0xffffff
	to.msn = (to.msn + 1) & 0xffffff
	b.truth.Messages++
	t := c.now
	b.emit(t, request)
	t = b.readResponse(t+c.toResponder, request.psn, size)
	if count < 3 || !b.hits(b.cfg.Faults.ReadLoss) {
		return
	}
	// The requester misses response i and asks for the rest.
	i := uint32(b.random.IntN(int(count - 1)))
	request.psn = (request.psn + i) & 0xffffff
	request.va += uint64(i * mtu)
	request.dma -= i * mtu
	t += c.toRequester
	b.emit(t, request)
	b.readResponse(t+c.toResponder, request.psn, request.dma)
	b.truth.Retransmitted += uint64(1 + count - i)
}

// readResponse emits size bytes from a PSN on and returns the time of the last packet.
func (b *burst) readResponse(t int64, psn, size uint32) int64 {
	mtu := uint32(b.cfg.PathMTU)
	count := (size + mtu - 1) / mtu
	for i := range count {
		operation := infiniband.ReadResponseMiddle
		switch {
		case count == 1:
			operation = infiniband.ReadResponseOnly
		case i == 0:
			operation = infiniband.ReadResponseFirst
		case i == count-1:
			operation = infiniband.ReadResponseLast
		}
		p := packet{
			side: 1 - b.side, opcode: b.c.opcode(operation), psn: (psn + i) & 0xffffff,
			length: min(mtu, size-i*mtu), syndrome: noCreditLimit, msn: b.c.ends[1-b.side].msn,
		}
		t += gap(p.length)
		b.emit(t, p)
	}
	return t
}

// atomic is one COMPARE SWAP or FETCH ADD and its answer.
func (b *burst) atomic() {
	c := b.c
	from, to := &c.ends[b.side], &c.ends[1-b.side]
	operation := infiniband.FetchAdd
	if b.random.IntN(2) == 0 {
		operation = infiniband.CompareSwap
	}
	p := packet{side: b.side, opcode: c.opcode(operation), psn: from.psn, ackReq: true, va: 0x7f00_0000_0000}
	from.psn = (from.psn + 1) & 0xffffff
	to.msn = (to.msn + 1) & 0xffffff
	b.truth.Messages++
	b.emit(c.now, p)
	b.emit(c.now+c.toResponder, packet{
		side: 1 - b.side, opcode: c.opcode(infiniband.AtomicAcknowledge), psn: p.psn,
		syndrome: noCreditLimit, msn: to.msn,
	})
}

// unreliable is a burst without answers: what is lost stays lost.
func (b *burst) unreliable() {
	if b.c.service == infiniband.ServiceUD {
		b.datagrams()
		return
	}
	b.planMessages(b.choose() == "send")
	for i := range b.plan {
		b.plan[i].ackReq = false
	}
	k := len(b.plan)
	switch {
	case k > 2 && b.hits(b.cfg.Faults.LossBefore):
		i := 1 + b.random.IntN(k-2)
		b.captureMiss(i) // unreliable packets are acknowledged to nobody
	case k > 2 && b.hits(b.cfg.Faults.Reorder):
		i := b.random.IntN(k - 2)
		times := b.forward(b.c.now, 0, func(j int) bool { return j != i }, nil)
		b.emitAs(times[i+1]+1, b.plan[i])
		b.truth.OutOfOrder++
	default:
		b.forward(b.c.now, 0, nil, nil)
	}
}

func (b *burst) startsMessage(i int) bool { return slices.Contains(b.starts, i) }

func (b *burst) datagrams() {
	n := 1 + b.random.IntN(b.cfg.Burst)
	from := &b.c.ends[b.side]
	t := b.c.now
	for range n {
		p := packet{
			side: b.side, opcode: infiniband.UDSendOnly, psn: from.psn,
			length: min(b.size(), uint32(b.cfg.PathMTU)),
		}
		from.psn = (from.psn + 1) & 0xffffff
		t += gap(p.length)
		b.emit(t, p)
	}
	b.truth.Messages += uint64(n)
}

// mirror lets the capture see every packet a second time, as a switch does that mirrors both of a packet's ports.
func (b *burst) mirror() {
	n := len(b.c.queue)
	for i := range n {
		p := b.c.queue[i]
		p.time += mirrorDelay
		p.copy = true
		b.c.queue = append(b.c.queue, p)
	}
	b.truth.MirrorCopies += uint64(n)
}
