package flow

import (
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

// unseenAck is an acknowledgment of something that was not captured before it.
type unseenAck struct {
	number uint64
	at     position // in the other direction's space of requests
	flags  Flags
}

// acknowledge tracks a packet of opcode ACK, which may be a NAK. Its PSN jumps over what it stands for.
func (t *Tracker) acknowledge(f *flow, p *dissector.Packet, o *Observation) {
	has := p.Has&infiniband.HasAETH != 0
	positive := has && p.AETH.Syndrome.IsACK()
	s := &f.answers
	ahead := position(0)
	if positive {
		ahead = 1
	}
	if s.watch&watchStart != 0 {
		s.start(infiniband.PSNAdd(p.BTH.PSN, int32(ahead)))
	} else {
		upto := s.extend(p.BTH.PSN) + ahead
		switch {
		case upto <= s.next && s.next-upto <= maxBack:
			if t.isCopy(f, p, circumstances{answer: sightAnswer, distinct: !positive}) {
				t.copied(f, p, o)
				return
			}
		case upto > s.next && upto-s.next < maxJump:
			t.skipAnswers(f, upto)
		default:
			t.settle(f, s)
			s.start(infiniband.PSNAdd(p.BTH.PSN, int32(ahead)))
			f.answerOpen = false
		}
	}
	t.answered(f, p)
	f.operations.Ack++
	if !has {
		return
	}
	t.countAck(f, p.AETH.Syndrome)
	if f.reverse == 0 && f.reliable() {
		t.vote(f, p, positive)
	}
	if r := t.partner(f); r != nil && r.requests.started() {
		t.applyAck(f, r, p, o)
	}
}

// answered notes what every answer that is no mirror copy tells of its sender.
func (t *Tracker) answered(f *flow, p *dissector.Packet) {
	f.remember(p, sightAnswer)
	f.noteID(p.Network.ID)
	if p.Meta.HasTime {
		f.lastAnswer = p.Meta.Time
	}
	f.psns[ofAnswers].extend(p.BTH.PSN)
}

// skipAnswers moves the frontier of answers: what lies between was acknowledged together, and no answer of
// its own is missing, except of a READ response that had begun.
func (t *Tracker) skipAnswers(f *flow, upto position) {
	s := &f.answers
	t.resolve(f, s, true)
	if f.answerOpen {
		f.answerOpen = false
		end := min(upto, max(s.next+1, t.readEndOf(f, s.next)))
		t.miss(f, s, s.next, end, holeCounted)
		s.next = end
	}
	if upto > s.next {
		f.forget(s, s.open(s.next, upto, 0))
		s.next = upto
	}
}

// readEndOf is where the READ ends that the position belongs to, 0 when that is unknown.
func (t *Tracker) readEndOf(f *flow, at position) position {
	r := t.partner(f)
	if r == nil || !r.read.known || r.requests.watch&watchRead != 0 {
		return 0
	}
	start := f.answers.extend(r.read.start.psn())
	end := start + (r.read.end - r.read.start)
	if at >= start && at < end {
		return end
	}
	return 0
}

func (t *Tracker) countAck(f *flow, syndrome infiniband.Syndrome) {
	switch syndrome.Type() {
	case infiniband.SyndromeACK:
		f.acks++
	case infiniband.SyndromeRNR:
		f.rnrNaks++
		f.rnrTimerMax = max(f.rnrTimerMax, syndrome.RNRTimer().Nanoseconds())
		t.totals.RNRNaks++
	case infiniband.SyndromeNAK:
		if f.naks == nil {
			f.naks = new([32]uint64)
		}
		f.naks[syndrome.NAKCode()&31]++
		t.totals.Naks++
	case infiniband.SyndromeReserved:
	}
}

// applyAck carries an acknowledgment over to the requests that it answers.
func (t *Tracker) applyAck(f, r *flow, p *dissector.Packet, o *Observation) {
	s := &r.requests
	at := s.extend(p.BTH.PSN)
	syndrome := p.AETH.Syndrome
	switch {
	case syndrome.IsACK():
		t.learnSpan(r, at, false)
		t.confirm(f, r, p, at+1, o)
	case syndrome.IsRNR():
		t.confirm(f, r, p, at, o)
		r.ask(s, at, causeRNR)
	case syndrome.IsNAK() && syndrome.NAKCode() == infiniband.NAKPSNSequenceError:
		t.confirm(f, r, p, at, o)
		r.ask(s, at, causeNAK)
	}
}

// confirm notes that everything before upto arrived at the responder.
func (t *Tracker) confirm(f, r *flow, p *dissector.Packet, upto position, o *Observation) {
	s := &r.requests
	if upto > s.next {
		if upto-s.next >= maxJump || s.watch&watchRead != 0 {
			return
		}
		o.Flags |= FlagAckUnseen
		f.unseen = unseenAck{number: p.Meta.Number, at: upto - 1, flags: o.Flags}
		s.watch |= watchUnseen
	}
	s.acked = max(s.acked, upto)
	if s.repeat.asked && upto > s.repeat.at {
		s.repeat = repeat{}
	}
}

// settleUnseen takes FlagAckUnseen back once the capture shows what was acknowledged, out of order.
func (t *Tracker) settleUnseen(f *flow) {
	s := &f.requests
	r := t.partner(f)
	if r == nil || r.unseen.number == 0 {
		s.watch &^= watchUnseen
		return
	}
	if r.unseen.at >= s.next {
		return
	}
	if s.holeAt(r.unseen.at) < 0 {
		t.queue(Revision{Number: r.unseen.number, Flags: r.unseen.flags &^ FlagAckUnseen})
	}
	r.unseen = unseenAck{}
	s.watch &^= watchUnseen
}

// respond tracks a READ response or an atomic acknowledgment: a packet of its own for each PSN.
func (t *Tracker) respond(f *flow, p *dissector.Packet, c class, o *Observation) {
	s := &f.answers
	if s.watch&watchStart != 0 {
		s.start(p.BTH.PSN)
	}
	at := s.extend(p.BTH.PSN)
	switch {
	case at == s.next:
		if s.watch != 0 {
			t.resolve(f, s, true)
		}
	case at > s.next && at-s.next < maxJump:
		t.respondAhead(f, c, at, o)
	case at < s.next && s.next-at <= maxBack:
		if t.respondBehind(f, p, at, o) {
			return
		}
		t.countResponse(f, c, o)
		t.responded(f, p, c, o)
		return
	default:
		t.settle(f, s)
		s.start(p.BTH.PSN)
		at = s.next
	}
	s.next = at + 1
	f.answerOpen = c&classReadResponse != 0 && c&classEnds == 0
	t.countResponse(f, c, o)
	t.responded(f, p, c, o)
}

// respondAhead opens the hole before a response. Between two responses there may be PSNs that an ACK
// answered or will, so only what must have been a response counts as missing: the rest of one that had
// begun, and what stands before a MIDDLE or LAST packet.
func (t *Tracker) respondAhead(f *flow, c class, at position, o *Observation) {
	s := &f.answers
	continues := c&classReadResponse != 0 && c&classStarts == 0
	if f.answerOpen && continues {
		t.resolve(f, s, true)
		t.miss(f, s, s.next, at, holeCounted)
		o.Flags |= FlagGapBefore
		return
	}
	if f.answerOpen {
		o.Flags |= FlagGapBefore
	}
	if !continues {
		t.skipAnswers(f, at)
		return
	}
	from := at - 1
	if end := t.readEndOf(f, at); end != 0 {
		r := &t.partner(f).read
		from = max(s.next, end-(r.end-r.start))
	}
	t.skipAnswers(f, from)
	t.miss(f, s, from, at, holeCounted)
	o.Flags |= FlagGapBefore
}

// respondBehind takes a response of a PSN that was passed. It reports a mirror copy.
func (t *Tracker) respondBehind(f *flow, p *dissector.Packet, at position, o *Observation) bool {
	s := &f.answers
	if t.isCopy(f, p, circumstances{answer: sightAnswer, excuse: s.repeat.at != 0}) {
		t.copied(f, p, o)
		return true
	}
	l := lateness{at: at, end: at + 1, since: f.lastAnswer, answers: true}
	switch i := s.holeAt(at); {
	case i >= 0:
		l.place = placeHole
		t.found(f, s, i, at, at+1)
	case at < s.first || at < s.forgotten:
		l.place = placeUnknown
	}
	t.judge(f, s, p, l, o)
	return false
}

func (t *Tracker) countResponse(f *flow, c class, o *Observation) {
	switch {
	case o.Flags&(FlagRetransmitted|FlagDuplicate) != 0:
	case c&classReadResponse != 0:
		f.operations.ReadResponse++
	default:
		f.operations.AtomicResponse++
	}
}

// responded carries a response over to the requests that it answers.
func (t *Tracker) responded(f *flow, p *dissector.Packet, c class, o *Observation) {
	t.answered(f, p)
	if c&classFull != 0 {
		f.mtu = max(f.mtu, p.PayloadLength)
	}
	if f.reverse == 0 && f.reliable() && c&classStarts != 0 {
		t.vote(f, p, true)
	}
	r := t.partner(f)
	if r == nil || !r.requests.started() {
		return
	}
	at := r.requests.extend(p.BTH.PSN)
	if c&classReadResponse != 0 {
		t.learnSpan(r, at, c&classEnds != 0)
	}
	t.confirm(f, r, p, at+1, o)
}

// expectAgain notes that the other side will answer a READ again.
func (t *Tracker) expectAgain(f *flow, at, end position) {
	r := t.partner(f)
	if r == nil || !r.answers.started() {
		return
	}
	s := &r.answers
	from := s.extend(at.psn())
	if from < s.next && s.next-from <= maxBack {
		s.repeat = repeat{at: from, from: from, to: from + (end - at), cause: causeUnknown}
		s.watch |= watchRepeat
	}
}
