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
	moves := true
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
			if t.isCopy(f, p, t.aroundAck(f, positive)) {
				t.copied(f, p, o)
				return
			}
			moves = false
		case upto > s.next && upto-s.next < maxJump:
			t.skipAnswers(f, upto)
		default:
			t.settle(f, s)
			s.start(infiniband.PSNAdd(p.BTH.PSN, int32(ahead)))
			f.answerOpen = false
		}
	}
	f.answered(p, moves)
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

// aroundAck says whether equal acknowledgments may follow each other at once: NAKs may, and answers to
// requests that are sent again. Without any sign of copies elsewhere they are taken for two.
func (t *Tracker) aroundAck(f *flow, positive bool) circumstances {
	return circumstances{answer: sightAnswer, distinct: !positive || !t.mirrors(f), once: true}
}

// answered notes what every answer that is no mirror copy tells of its sender. moves tells whether it moved
// the frontier.
func (f *flow) answered(p *dissector.Packet, moves bool) {
	f.remember(p, sightAnswer)
	if moves {
		f.noteID(p.Network.ID)
	} else {
		f.noteLateID(p)
	}
	if p.Meta.HasTime {
		f.lastAnswer = p.Meta.Time
	}
	if psns := &f.answerPSNs; moves || !psns.valid {
		psns.extend(p.BTH.PSN)
	}
}

// skipAnswers moves the frontier of answers: what lies between was acknowledged together, and no answer of
// its own is missing, except of a READ response that had begun.
func (t *Tracker) skipAnswers(f *flow, upto position) {
	s := &f.answers
	t.resolve(f, s)
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
		f.troubled().naks[syndrome.NAKCode()&31]++
		t.totals.Naks++
	case infiniband.SyndromeReserved:
	}
}

// applyAck carries an acknowledgment over to the requests that it answers.
func (t *Tracker) applyAck(f, r *flow, p *dissector.Packet, o *Observation) {
	s := &r.requests
	r.heard = true
	t.stir(r)
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
		f.keepUnseen(unseenAck{number: p.Meta.Number, at: upto - 1, flags: o.Flags})
		s.watch |= watchUnseen
	}
	if upto <= s.next && s.holeAt(upto-1) >= 0 && p.AETH.Syndrome.IsACK() {
		o.Flags |= FlagAckUnseen
	}
	s.acked = max(s.acked, upto)
	if s.repeat.asked && upto > s.repeat.at {
		s.repeat = repeat{}
	}
}

// keepUnseen keeps an acknowledgment whose verdict may change. The oldest makes room and keeps its own.
func (f *flow) keepUnseen(u unseenAck) {
	x := f.troubled()
	if x.unseenLen == maxUnseen {
		copy(x.unseen[:], x.unseen[1:])
		x.unseenLen--
	}
	x.unseen[x.unseenLen] = u
	x.unseenLen++
}

// settleUnseen takes FlagAckUnseen back once the capture shows what was acknowledged, out of order.
func (t *Tracker) settleUnseen(f *flow) {
	s := &f.requests
	r := t.partner(f)
	if r == nil || r.trouble == nil {
		s.watch &^= watchUnseen
		return
	}
	x := r.trouble
	kept := uint8(0)
	for _, u := range x.unseen[:x.unseenLen] {
		switch {
		case u.at >= s.next:
			x.unseen[kept] = u
			kept++
		case s.holeAt(u.at) < 0:
			t.queue(Revision{Number: u.number, Flags: u.flags &^ FlagAckUnseen})
		}
	}
	x.unseenLen = kept
	if kept == 0 {
		s.watch &^= watchUnseen
	}
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
		t.resolve(f, s)
	case at > s.next && at-s.next < maxJump:
		t.respondAhead(f, c, at, o)
	case at < s.next && s.next-at <= maxBack:
		if t.respondBehind(f, p, at, o) {
			return
		}
		t.countResponse(f, c, o)
		t.responded(f, p, c, false, o)
		return
	default:
		t.settle(f, s)
		s.start(p.BTH.PSN)
		at = s.next
	}
	s.next = at + 1
	f.answerOpen = c&classReadResponse != 0 && c&classEnds == 0
	t.countResponse(f, c, o)
	t.responded(f, p, c, true, o)
}

// respondAhead opens the hole before a response. Between two responses there may be PSNs that an ACK
// answered or will, so only what must have been a response counts as missing: the rest of one that had
// begun, and what stands before a MIDDLE or LAST packet.
func (t *Tracker) respondAhead(f *flow, c class, at position, o *Observation) {
	s := &f.answers
	continues := c&classReadResponse != 0 && c&classStarts == 0
	if f.answerOpen && continues {
		t.resolve(f, s)
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
	i := s.holeAt(at)
	if i < 0 && t.isCopy(f, p, circumstances{answer: sightAnswer, excuse: t.excused(f, s, at)}) {
		t.copied(f, p, o)
		return true
	}
	l := lateness{at: at, end: at + 1, since: f.lastAnswer}
	switch {
	case i >= 0:
		l.place = placeHole
		t.found(f, s, i, at, at+1, 0)
	case at < s.first || at < s.forgotten:
		l.place = placeUnknown
		if at < s.first {
			s.lower(at, at+1, 0)
		}
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
func (t *Tracker) responded(f *flow, p *dissector.Packet, c class, moves bool, o *Observation) {
	f.answered(p, moves)
	if c&classFull != 0 {
		f.mtu = max(f.mtu, t.length)
	}
	if f.reverse == 0 && f.reliable() && c&classStarts != 0 {
		t.vote(f, p, true)
	}
	r := t.partner(f)
	if r == nil || !r.requests.started() {
		return
	}
	r.heard = true
	t.stir(r)
	at := r.requests.extend(p.BTH.PSN)
	if c&classReadResponse != 0 {
		t.learnSpan(r, at, c&classEnds != 0)
	}
	t.confirm(f, r, p, at+1, o)
}

// expectAgain notes that the other side will answer a READ or an atomic again.
func (t *Tracker) expectAgain(f *flow, at, end position) {
	r := t.partner(f)
	if r == nil || !r.answers.started() {
		return
	}
	s := &r.answers
	from := s.extend(at.psn())
	if from+maxBack < s.next || from > s.next+maxBack {
		return
	}
	to := from + (end - at)
	if s.asked() {
		from, to = min(from, s.repeat.at), max(to, s.repeat.to)
	}
	s.repeat = repeat{at: from, from: from, to: to}
	s.watch |= watchRepeat
}
