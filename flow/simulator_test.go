package flow_test

import (
	"container/heap"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/build"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

// The simulator is a requester and a responder of one reliable connection with a capture between them. Links
// keep the order; each may lose packets, and the capture may miss some. It follows IBTA volume 1, section
// 9.7, as far as a capture shows it: go-back-N after a NAK, an RNR NAK, a time-out or a READ response that
// is out of order; duplicates answered; ACKs coalesced.

const (
	simMTU      = 256
	simQPA      = 0x111 // of the requester
	simQPB      = 0x222 // of the responder
	simWindow   = 12
	simTick     = 1_000      // ns between packets of a sender
	simDelay    = 3_000      // ns of each link
	simTimeout  = 20_000_000 // ns
	simRNRTimer = 80_000     // ns, code 6
)

// simConfig is what goes wrong.
type simConfig struct {
	seed          uint64
	messages      int
	lossBefore    float64 // requests before the vantage, answers behind it: on the requester's link
	lossAfter     float64 // on the responder's link
	rnr           float64
	capture       float64 // packets that the capture misses
	constantID    bool
	firstPSN      uint32
	onlyWrites    bool
	selective     bool // the requester resends only what is missing after a NAK
	skipAtCapture int  // packets at the start that were before the capture
}

// simPacket is a packet on the way.
type simPacket struct {
	answer   bool
	op       infiniband.Operation
	psn      uint32
	span     uint32
	payload  int
	length   uint32 // DMA length
	address  uint64
	syndrome infiniband.Syndrome
	msn      uint32
	ack      bool
	id       uint16
}

// simRequest is a packet of the requester's script.
type simRequest struct {
	simPacket
	done uint32 // READ responses that arrived
}

// simTruth is what happened, as far as the capture can know.
type simTruth struct {
	resentRequests, resentAnswers uint64
	seen                          map[uint32]bool // PSNs of requests
}

type simEvent struct {
	at   int64
	n    int
	kind int
	pkt  simPacket
}

const (
	evSend = iota
	evVantage
	evResponder
	evRequester
	evTimer
	evAnswer
)

type simQueue []simEvent

func (q simQueue) Len() int { return len(q) }
func (q simQueue) Less(i, j int) bool {
	return q[i].at < q[j].at || (q[i].at == q[j].at && q[i].n < q[j].n)
}
func (q simQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *simQueue) Push(x any)   { *q = append(*q, x.(simEvent)) }
func (q *simQueue) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}

type simulator struct {
	c      simConfig
	rng    *rand.Rand
	queue  simQueue
	n      int
	now    int64
	frames []frame
	tb     testing.TB
	missed int

	// Requester.
	script    []simRequest
	una, next int
	paused    int64
	timerAt   int64
	sending   bool
	idA, idB  uint16
	implied   [2]int // request and its answers when an answer was missing
	resendTo  int    // selective: after the NAK's packet go on here

	// Responder.
	expected  uint32
	nakSent   bool
	msn       uint32
	answers   []simPacket
	answering bool

	// Vantage.
	truth          simTruth
	frontier       uint32
	started        bool
	answerFrontier uint32
	answerStarted  bool
}

func simulate(tb testing.TB, c simConfig) ([]frame, simTruth) {
	tb.Helper()
	s := &simulator{c: c, rng: rand.New(rand.NewPCG(c.seed, 7)), tb: tb, resendTo: -1, implied: [2]int{-1, 0}}
	s.truth.seen = map[uint32]bool{}
	s.writeScript()
	s.expected = c.firstPSN
	s.post(0, evSend, simPacket{})
	s.sending = true
	for steps := 0; len(s.queue) > 0 && s.una < len(s.script); steps++ {
		if steps > 2_000_000 {
			tb.Fatalf("simulation does not end: %+v", c)
		}
		e := heap.Pop(&s.queue).(simEvent)
		s.now = e.at
		s.step(e)
	}
	if s.una < len(s.script) {
		tb.Fatalf("simulation stuck at %d of %d: %+v", s.una, len(s.script), c)
	}
	return s.frames, s.truth
}

func (s *simulator) post(delay int64, kind int, p simPacket) {
	s.n++
	heap.Push(&s.queue, simEvent{s.now + delay, s.n, kind, p})
}

func (s *simulator) writeScript() {
	psn := s.c.firstPSN
	add := func(p simPacket) {
		p.psn = psn
		if p.span == 0 {
			p.span = 1
		}
		s.script = append(s.script, simRequest{simPacket: p})
		psn = infiniband.PSNAdd(psn, int32(p.span))
	}
	for range s.c.messages {
		kind := s.rng.IntN(10)
		if s.c.onlyWrites {
			kind = 0
		}
		switch {
		case kind < 7: // SEND or WRITE
			first, middle, last, only := infiniband.WriteFirst, infiniband.WriteMiddle, infiniband.WriteLast, infiniband.WriteOnly
			if kind%2 == 1 {
				first, middle, last, only = infiniband.SendFirst, infiniband.SendMiddle, infiniband.SendLast, infiniband.SendOnly
			}
			n := 1 + s.rng.IntN(6)
			for i := range n {
				p := simPacket{op: middle, payload: simMTU, length: uint32(n * simMTU), ack: i == n-1 || s.rng.IntN(4) == 0}
				switch {
				case n == 1:
					p.op = only
				case i == 0:
					p.op = first
				case i == n-1:
					p.op = last
				}
				add(p)
			}
		case kind < 9:
			n := uint32(1 + s.rng.IntN(5))
			add(simPacket{op: infiniband.ReadRequest, span: n, length: n * simMTU, address: uint64(len(s.script)) << 20, ack: true})
		default:
			add(simPacket{op: infiniband.FetchAdd, ack: true})
		}
	}
	s.script[len(s.script)-1].ack = true
}

func (s *simulator) step(e simEvent) {
	switch e.kind {
	case evSend:
		s.sending = false
		s.send()
	case evTimer:
		if s.timerAt != 0 && s.now >= s.timerAt {
			s.goBack(s.una)
		}
	case evVantage:
		s.vantage(e.pkt)
	case evResponder:
		s.receive(e.pkt)
	case evAnswer:
		s.answering = false
		s.answer()
	case evRequester:
		s.take(e.pkt)
	}
}

func (s *simulator) wake(delay int64) {
	if !s.sending {
		s.sending = true
		s.post(delay, evSend, simPacket{})
	}
}

func (s *simulator) arm() {
	s.timerAt = s.now + simTimeout
	s.post(simTimeout, evTimer, simPacket{})
}

func (s *simulator) goBack(i int) {
	s.next = i
	s.resendTo = -1
	s.arm()
	s.wake(simTick)
}

func (s *simulator) send() {
	if s.now < s.paused {
		s.wake(s.paused - s.now)
		return
	}
	if s.next >= len(s.script) || s.next-s.una >= simWindow {
		return
	}
	r := s.script[s.next]
	p := r.simPacket
	if r.done > 0 {
		p.psn = infiniband.PSNAdd(p.psn, int32(r.done))
		p.span -= r.done
		p.length -= r.done * simMTU
		p.address += uint64(r.done * simMTU)
	}
	s.idA++
	p.id = s.idA
	if s.next == s.una {
		s.arm()
	}
	s.next++
	if s.resendTo >= 0 && s.next < s.resendTo {
		s.next, s.resendTo = s.resendTo, -1
	}
	s.transmit(p)
	s.wake(simTick)
}

// transmit puts a packet on the first of its two links.
func (s *simulator) transmit(p simPacket) {
	loss := s.c.lossBefore
	if p.answer {
		loss = s.c.lossAfter
	}
	if s.rng.Float64() >= loss {
		s.post(simDelay, evVantage, p)
	}
}

func (s *simulator) vantage(p simPacket) {
	s.observe(p)
	loss, kind := s.c.lossAfter, evResponder
	if p.answer {
		loss, kind = s.c.lossBefore, evRequester
	}
	if s.rng.Float64() >= loss {
		s.post(simDelay, kind, p)
	}
}

// receive is the responder.
func (s *simulator) receive(p simPacket) {
	switch d := infiniband.PSNDiff(p.psn, s.expected); {
	case d == 0:
		if s.c.rnr > 0 && (p.op == infiniband.SendOnly || p.op == infiniband.SendFirst) && s.rng.Float64() < s.c.rnr {
			s.reply(simPacket{op: infiniband.Acknowledge, psn: p.psn, syndrome: 0x20 | 6, msn: s.msn})
			return
		}
		s.nakSent = false
		s.expected = infiniband.PSNAdd(p.psn, int32(p.span))
		if opcode := infiniband.Opcode(p.op); opcode.EndsMessage() {
			s.msn++
		}
		s.execute(p)
	case d > 0:
		if !s.nakSent {
			s.nakSent = true
			s.reply(simPacket{op: infiniband.Acknowledge, psn: s.expected, syndrome: 0x60, msn: s.msn})
		}
	case p.op == infiniband.ReadRequest || p.op == infiniband.FetchAdd:
		s.execute(p)
	default:
		s.reply(simPacket{op: infiniband.Acknowledge, psn: infiniband.PSNAdd(s.expected, -1), syndrome: 0x1f, msn: s.msn})
	}
}

func (s *simulator) execute(p simPacket) {
	switch {
	case p.op == infiniband.FetchAdd:
		s.reply(simPacket{op: infiniband.AtomicAcknowledge, psn: p.psn, syndrome: 0x1f, msn: s.msn})
	case p.op == infiniband.ReadRequest:
		for i := range p.span {
			op := infiniband.ReadResponseMiddle
			switch {
			case p.span == 1:
				op = infiniband.ReadResponseOnly
			case i == 0:
				op = infiniband.ReadResponseFirst
			case i == p.span-1:
				op = infiniband.ReadResponseLast
			}
			s.reply(simPacket{op: op, psn: infiniband.PSNAdd(p.psn, int32(i)), payload: simMTU, syndrome: 0x1f, msn: s.msn})
		}
	case p.ack:
		s.reply(simPacket{op: infiniband.Acknowledge, psn: p.psn, syndrome: 0x1f, msn: s.msn})
	}
}

func (s *simulator) reply(p simPacket) {
	p.answer = true
	s.answers = append(s.answers, p)
	if !s.answering {
		s.answering = true
		s.post(simTick, evAnswer, simPacket{})
	}
}

func (s *simulator) answer() {
	p := s.answers[0]
	s.answers = s.answers[1:]
	s.idB++
	p.id = s.idB
	s.transmit(p)
	if len(s.answers) > 0 {
		s.answering = true
		s.post(simTick, evAnswer, simPacket{})
	}
}

// take is the requester, receiving.
func (s *simulator) take(p simPacket) {
	if s.una >= len(s.script) {
		return
	}
	head := &s.script[s.una]
	at := infiniband.PSNAdd(head.psn, int32(head.done))
	if infiniband.PSNDiff(p.psn, at) < 0 && (p.op != infiniband.Acknowledge || p.syndrome.IsACK()) {
		return // old
	}
	// Everything before p.psn is acknowledged too, as far as it needs no answer of its own.
	for s.una < len(s.script) {
		head = &s.script[s.una]
		at = infiniband.PSNAdd(head.psn, int32(head.done))
		d := infiniband.PSNDiff(p.psn, at)
		own := head.op == infiniband.ReadRequest || head.op == infiniband.FetchAdd
		switch {
		case p.op == infiniband.Acknowledge && !p.syndrome.IsACK():
			if d > 0 && !own {
				s.complete()
				continue
			}
			if d > 0 {
				s.goBack(s.una)
				return
			}
			if d < 0 {
				return
			}
			if p.syndrome.IsRNR() {
				s.paused = s.now + simRNRTimer
				s.goBack(s.una)
				return
			}
			to := s.next
			s.goBack(s.una)
			if s.c.selective && to > s.una+1 {
				s.resendTo = to
			}
			return
		case own && d > 0: // an answer is missing; it is asked for again once, then by time-out
			if mark := [2]int{s.una, int(head.done)}; s.implied != mark {
				s.implied = mark
				s.goBack(s.una)
			}
			return
		case own && (p.op == infiniband.Acknowledge || d < 0):
			return
		case own:
			head.done++
			s.arm()
			if head.done == head.span || head.op == infiniband.FetchAdd {
				s.complete()
			}
			return
		case d < 0:
			return
		case d == 0:
			if p.op == infiniband.Acknowledge {
				s.complete()
			}
			return
		default:
			s.complete()
		}
	}
}

func (s *simulator) complete() {
	s.una++
	s.next = max(s.next, s.una)
	s.arm()
	s.wake(simTick)
}

// observe captures a packet and writes down the truth about it.
func (s *simulator) observe(p simPacket) {
	if s.missed++; s.missed <= s.c.skipAtCapture || (s.c.capture > 0 && s.rng.Float64() < s.c.capture) {
		return
	}
	end := infiniband.PSNAdd(p.psn, int32(p.span))
	switch {
	case !p.answer:
		if s.started && infiniband.PSNDiff(p.psn, s.frontier) < 0 {
			s.truth.resentRequests++
		}
		if !s.started || infiniband.PSNDiff(end, s.frontier) > 0 {
			s.frontier, s.started = end, true
		}
		for i := range p.span {
			s.truth.seen[infiniband.PSNAdd(p.psn, int32(i))] = true
		}
	default:
		end = infiniband.PSNAdd(p.psn, 1)
		if p.op == infiniband.Acknowledge {
			if !p.syndrome.IsACK() {
				end = p.psn
			}
		} else if s.answerStarted && infiniband.PSNDiff(p.psn, s.answerFrontier) < 0 {
			s.truth.resentAnswers++
		}
		if !s.answerStarted || infiniband.PSNDiff(end, s.answerFrontier) > 0 {
			s.answerFrontier, s.answerStarted = end, true
		}
	}
	s.frames = append(s.frames, s.frame(p))
}

func (s *simulator) frame(p simPacket) frame {
	f := build.Frame{
		Source: netip.MustParseAddr("10.0.0.1"), Destination: netip.MustParseAddr("10.0.0.2"), ID: p.id,
		SourcePort: 50001, Payload: make([]byte, p.payload),
		BTH: infiniband.BTH{
			Opcode: infiniband.Opcode(p.op), PartitionKey: infiniband.DefaultPartitionKey, DestinationQP: simQPB, PSN: p.psn,
			AckRequest: p.ack,
		},
		RETH: infiniband.RETH{VirtualAddress: p.address, RemoteKey: 7, DMALength: p.length},
		AETH: infiniband.AETH{Syndrome: p.syndrome, MSN: p.msn},
	}
	if p.answer {
		f.Source, f.Destination = f.Destination, f.Source
		f.BTH.DestinationQP = simQPA
		f.SourcePort = 50002
	}
	if s.c.constantID {
		f.ID = 0
	}
	data, err := f.AppendTo(nil)
	if err != nil {
		s.tb.Fatal(err)
	}
	return frame{data, dissector.Meta{
		Time: 1_700_000_000_000_000_000 + s.now, Number: uint64(len(s.frames) + 1),
		OriginalLength: uint32(len(data)), LinkType: dissector.LinkTypeEthernet, HasTime: true,
	}}
}
