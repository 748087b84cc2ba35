package flow

import "github.com/rocelens/rocelens/dissector"

// request tracks a packet that takes PSNs of its own direction.
func (t *Tracker) request(f *flow, p *dissector.Packet, c class, o *Observation) {
	s := &f.requests
	if s.watch == 0 && p.BTH.PSN == s.next.psn() {
		o.Message, _ = t.advance(f, p, c, s.next)
		return
	}
	if s.watch&watchStart != 0 {
		f.startRequests(p.BTH.PSN)
		o.Message, _ = t.advance(f, p, c, s.next)
		return
	}
	if s.watch&watchOwn != 0 {
		t.beginOwn(f, p.BTH.PSN)
		t.request(f, p, c, o)
		return
	}
	t.requestElsewhere(f, p, c, o)
}

// follow takes the packet that most packets are, one from the middle of a message that comes as expected, and
// does what request, advance, sent and the count of messages would do with it. It reports whether it was one.
func (t *Tracker) follow(f *flow, p *dissector.Packet, c class, o *Observation) bool {
	s, m := &f.requests, &f.messages
	if s.watch != 0 || p.BTH.PSN != s.next.psn() || !m.open || m.kind != c&classKind || (m.end != 0 && s.next >= m.end) ||
		(f.spent < pairEager || (p.BTH.AckRequest && f.spent < pairBudget)) && f.reverse == 0 {
		return false
	}
	s.next++
	f.payload += uint64(t.length)
	f.requestPSNs.last = p.BTH.PSN
	if p.Meta.HasTime {
		f.lastRequest = p.Meta.Time
	}
	f.noteID(p.Network.ID)
	f.vantage = f.remember(p, 0).vantage()
	f.mtu = max(f.mtu, t.length)
	f.mark(t, p)
	o.Message = uint32(m.count)
	return true
}

// startRequests begins the sequence, unless the connection manager said where it begins.
func (f *flow) startRequests(psn uint32) {
	repeat := f.requests.repeat
	f.requests.start(psn)
	f.requests.repeat = repeat
}

// advance takes a request that moves the frontier.
func (t *Tracker) advance(f *flow, p *dissector.Packet, c class, at position) (uint32, uint8) {
	f.requests.next = at + 1
	if c&classRead != 0 {
		f.requests.next = t.readEnd(f, p, at)
	}
	f.requestPSNs.extend(p.BTH.PSN)
	t.sent(f, p, c)
	if f.reverse == 0 && f.spent < pairBudget && (f.spent < pairEager || p.BTH.AckRequest || c&classEnds != 0) {
		t.offer(f, p.BTH.PSN)
	}
	return f.messages.next(t, f, p, c, at)
}

// sent notes what every packet that is no mirror copy tells of its sender.
func (t *Tracker) sent(f *flow, p *dissector.Packet, c class) {
	if p.Meta.HasTime {
		f.lastRequest = p.Meta.Time
	}
	f.noteID(p.Network.ID)
	f.vantage = f.remember(p, 0).vantage()
	if c&classFull != 0 {
		f.mtu = max(f.mtu, t.length)
	}
}

// requestElsewhere takes a request that is not simply the next, or comes while something is open.
func (t *Tracker) requestElsewhere(f *flow, p *dissector.Packet, c class, o *Observation) {
	s := &f.requests
	if s.watch&watchReopen != 0 && t.reopened(f, p.BTH.PSN) {
		o.Message, _ = t.advance(f, p, c, s.next)
		return
	}
	at := s.extend(p.BTH.PSN)
	if s.watch&watchRead != 0 && at >= s.next {
		if f.isReread(p, c) {
			t.requestBehind(f, p, c, at, o)
			return
		}
		f.settleRead(at)
	}
	switch {
	case at == s.next:
		t.resolve(f, s)
		o.Message, _ = t.advance(f, p, c, at)
	case at > s.next && at-s.next < maxJump:
		t.requestAhead(f, p, c, at, o)
	case at < s.next && s.next-at <= maxBack:
		t.requestBehind(f, p, c, at, o)
	default: // the QP began a new life
		t.settle(f, s)
		s.start(p.BTH.PSN)
		f.messages.open = false
		o.Message, _ = t.advance(f, p, c, s.next)
	}
	if s.watch&watchUnseen != 0 {
		t.settleUnseen(f)
	}
}

// resolve makes the verdicts on late packets final, since the frontier moved on, and forgets a repetition
// that is over.
func (t *Tracker) resolve(f *flow, s *sequence) {
	if s.watch == 0 {
		return
	}
	if s.watch&watchLate != 0 {
		f.trouble.late[f.side(s)] = lateRun{}
		s.watch &^= watchLate
	}
	if s.watch&watchRepeat != 0 && !s.asked() {
		s.repeat = repeat{}
		s.watch &^= watchRepeat
	}
}

// requestAhead takes a request that leaves PSNs out.
func (t *Tracker) requestAhead(f *flow, p *dissector.Packet, c class, at position, o *Observation) {
	s := &f.requests
	t.resolve(f, s)
	start := s.next
	var flags uint8
	o.Message, flags = t.advance(f, p, c, at)
	t.miss(f, s, start, at, holeCounted|flags)
	o.Flags |= FlagGapBefore
}

// miss opens a hole and counts its PSNs as missing.
func (t *Tracker) miss(f *flow, s *sequence, start, end position, flags uint8) {
	n := uint32(end - start)
	f.gaps++
	f.missing += n
	t.totals.MissingPSNs += uint64(n)
	f.forget(s, s.open(start, end, flags))
}

// forget takes what can be known of a hole when it is given up.
func (f *flow) forget(s *sequence, h hole) { f.missingElsewhere += s.elsewhereOf(h) }

// elsewhereOf is how many PSNs of a hole were acknowledged, so that they were lost to the capture only.
func (s *sequence) elsewhereOf(h hole) uint32 {
	if h.flags&holeCounted == 0 || s.acked <= h.start {
		return 0
	}
	return uint32(min(s.acked, h.end()) - h.start)
}

// elsewhere is the same of all holes.
func (s *sequence) elsewhere() (n uint64) {
	for _, h := range s.holes {
		n += uint64(s.elsewhereOf(h))
	}
	return n
}

// settle gives up all holes and open verdicts of a PSN space.
func (t *Tracker) settle(f *flow, s *sequence) {
	for _, h := range s.holes {
		f.forget(s, h)
	}
	s.holes = s.holes[:0]
	t.resolve(f, s)
}

// requestBehind takes a request of a PSN that the frontier has passed.
func (t *Tracker) requestBehind(f *flow, p *dissector.Packet, c class, at position, o *Observation) {
	s := &f.requests
	i := s.holeAt(at)
	if i < 0 && t.isCopy(f, p, circumstances{excuse: t.excused(f, s, at)}) {
		t.copied(f, p, o)
		return
	}
	l := lateness{at: at, end: at + 1, since: f.lastRequest}
	switch {
	case i >= 0:
		l.place = placeHole
		var head uint8
		o.Message, head = f.messages.fill(t, f, c, at, s.holes[i].start, &s.holes[i].flags)
		if c&classRead != 0 {
			l.end = t.lateReadEnd(f, p, at, s.holes[i].end())
		}
		t.found(f, s, i, at, l.end, head)
	case at < s.first || at < s.forgotten:
		l.place = placeUnknown
		if c&classRead != 0 {
			l.end = t.lateReadEnd(f, p, at, max(s.first, at+1))
		}
		var flags uint8
		if at < s.first {
			o.Message, flags = f.messages.before(t, f, c, at)
			s.lower(at, l.end, flags)
		} else {
			o.Message, _ = f.messages.fill(t, f, c, at, 0, &flags)
		}
	default:
		o.Message = f.recent.of(at)
		if c&classRead != 0 {
			l.end = t.lateReadEnd(f, p, at, s.next)
		}
	}
	t.judge(f, s, p, l, o)
	if c&(classRead|classAtomic) != 0 && o.Flags&FlagRetransmitted != 0 {
		t.expectAgain(f, at, l.end)
	}
	if p.Meta.HasTime {
		f.lastRequest = p.Meta.Time
	}
	f.remember(p, 0)
	f.noteLateID(p)
	if c&classFull != 0 {
		f.mtu = max(f.mtu, t.length)
	}
}

// found takes PSNs out of the hole that they were missing from.
func (t *Tracker) found(f *flow, s *sequence, i int, at, end position, head uint8) {
	counted := s.holes[i].flags&holeCounted != 0
	n, dropped := s.fill(i, at, end, head)
	f.forget(s, dropped)
	if counted {
		f.missing -= n
		t.totals.MissingPSNs -= uint64(n)
	}
}
