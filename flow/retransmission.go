package flow

import (
	"github.com/rocelens/rocelens/dissector"
)

// cause is why a PSN is sent again.
type cause uint8

const (
	causeUnknown cause = iota
	causeNAK
	causeRNR
	causeTimeout
)

func (c cause) flag() Flags {
	switch c {
	case causeNAK:
		return FlagAfterNAK
	case causeRNR:
		return FlagAfterRNR
	case causeTimeout:
		return FlagAfterTimeout
	case causeUnknown:
	}
	return 0
}

// repeat is a pass of the sender over PSNs that it sent before: asked for, or begun.
type repeat struct {
	at    position // PSNs from here on are still to be repeated
	to    position // up to here; the frontier when the pass began
	from  position // where it began
	cause cause
	asked bool // somebody asked, nothing was repeated yet
	fills bool // all that was repeated so far had not been seen before
}

// covers tells whether a packet at the position continues or begins the pass.
func (r *repeat) covers(at position) bool {
	return r.at != 0 && at >= r.at && (r.asked || at < r.to)
}

// lateRun is packets that filled holes, since the frontier moved last, without any sign that they were sent
// twice. What follows may show otherwise.
type lateRun struct {
	count   uint32 // all of them
	last    position
	numbers [maxLate]uint64 // packet numbers of the latest, in a ring
}

// ask notes that the other side wants everything from the position on sent again.
func (f *flow) ask(s *sequence, at position, c cause) {
	if s.started() && at+maxBack > s.next && at <= s.next {
		s.repeat = repeat{at: at, from: at, cause: c, asked: true}
		s.watch |= watchRepeat
	}
}

// asked tells whether a repetition was asked for and has not begun, or is going on.
func (s *sequence) asked() bool {
	return s.repeat.at != 0 && (s.repeat.asked || s.repeat.at < s.repeat.to)
}

// silent tells whether the sender was silent for as long as a time-out takes.
func (t *Tracker) silent(p *dissector.Packet, since int64, timed bool) bool {
	return p.Meta.HasTime && timed && p.Meta.Time-since >= int64(t.config.Timeout)
}

// lateness is a packet behind the frontier.
type lateness struct {
	at, end position // PSNs that it stands for
	since   int64    // when the sender spoke last in this space
	place   place
}

// place is where a late packet belongs.
type place uint8

const (
	placeSeen    place = iota // its PSN was seen before
	placeHole                 // its PSN is known to be missing
	placeUnknown              // before the first packet, or where holes were forgotten
)

// judge decides what a packet behind the frontier is, and counts it.
func (t *Tracker) judge(f *flow, s *sequence, p *dissector.Packet, l lateness, o *Observation) {
	if l.place == placeSeen {
		o.Flags |= FlagDuplicate
		f.duplicates++
		f.duplicatePayload += uint64(t.length)
		switch {
		case !f.reliable():
		case f.isOvertaken(p, s):
			t.disordered(f, s, p, l, o, true)
		default:
			t.resent(f, s, p, l, o)
		}
		return
	}
	switch age := f.ageOf(p); {
	case !f.reliable(), age == ageOlder:
		t.disordered(f, s, p, l, o, age == ageOlder)
	case age == ageNewer, s.repeat.covers(l.at), t.silent(p, l.since, !f.noTime):
		t.resent(f, s, p, l, o)
	default:
		t.disordered(f, s, p, l, o, false)
	}
}

// disordered counts a late packet that was not resent, for all that is known. Unless that is sure, it is
// kept for a later verdict.
func (t *Tracker) disordered(f *flow, s *sequence, p *dissector.Packet, l lateness, o *Observation, sure bool) {
	if vantageOf(p) != f.vantage && l.place == placeUnknown {
		return
	}
	o.Flags |= FlagOutOfOrder
	f.outOfOrder++
	t.totals.OutOfOrder++
	if sure || !f.reliable() {
		return
	}
	run := &f.troubled().late[f.side(s)]
	run.numbers[run.count%maxLate] = p.Meta.Number
	run.count++
	run.last = max(run.last, l.at)
	s.watch |= watchLate
}

// resent counts a retransmission and moves the sender's pass on.
func (t *Tracker) resent(f *flow, s *sequence, p *dissector.Packet, l lateness, o *Observation) {
	fills := l.place != placeSeen
	why := t.pass(f, s, p, l, fills)
	s.watch |= watchRepeat
	o.Flags |= FlagRetransmitted | why.flag()
	f.countResent(t, why, 1)
	f.troubled().onlyResent = 0
	switch {
	case !fills && s.watch&watchLate != 0:
		t.revise(f, s, l, why)
	case fills && f.ageOf(p) == ageUnknown:
		f.trouble.onlyResent = p.Meta.Number
	}
}

// pass finds the pass over old PSNs that a retransmission belongs to, or begins one, and returns its cause.
func (t *Tracker) pass(f *flow, s *sequence, p *dissector.Packet, l lateness, fills bool) cause {
	r := &s.repeat
	switch {
	case r.covers(l.at):
		if r.asked {
			*r = repeat{from: l.at, to: s.next, cause: r.cause, fills: true}
		}
	case t.silent(p, l.since, !f.noTime):
		*r = repeat{from: l.at, to: s.next, cause: causeTimeout, fills: true}
	case r.cause == causeNAK && r.fills && l.at == r.from && !fills && r.at == l.end && f.troubled().onlyResent != 0:
		// The pass that was asked for begins only now: what had come before was the original, late.
		t.takeBack(f, r.cause)
		*r = repeat{from: l.at, to: s.next, cause: r.cause}
	case s.asked():
		return causeUnknown // a pass that is still to come is not forgotten over this packet
	default:
		*r = repeat{from: l.at, to: s.next, fills: true}
	}
	r.at = l.end
	r.fills = r.fills && fills
	return r.cause
}

// takeBack turns the only packet of a repetition into a late original.
func (t *Tracker) takeBack(f *flow, c cause) {
	x := f.troubled()
	f.countResent(t, c, -1)
	f.outOfOrder++
	t.totals.OutOfOrder++
	t.queue(Revision{Number: x.onlyResent, Flags: FlagOutOfOrder})
}

func (f *flow) countResent(t *Tracker, c cause, n int32) {
	f.retransmitted += uint32(n)
	t.totals.Retransmitted += uint64(int64(n))
	switch c {
	case causeNAK:
		f.afterNAK += uint32(n)
	case causeRNR:
		f.afterRNR += uint32(n)
	case causeTimeout:
		f.afterTimeout += uint32(n)
	case causeUnknown:
	}
}

// revise turns late packets into retransmissions, once a packet behind them repeats what was seen: the
// sender went back, and they were the beginning of its pass.
func (t *Tracker) revise(f *flow, s *sequence, l lateness, c cause) {
	run := &f.trouble.late[f.side(s)]
	if run.last > l.at {
		return
	}
	f.outOfOrder -= run.count
	t.totals.OutOfOrder -= uint64(run.count)
	f.countResent(t, c, int32(run.count))
	for i := run.count - min(run.count, maxLate); i < run.count; i++ {
		t.queue(Revision{Number: run.numbers[i%maxLate], Flags: FlagRetransmitted | c.flag()})
	}
	*run = lateRun{}
	s.watch &^= watchLate
}

// queue hands a revision out with this or one of the next observations.
func (t *Tracker) queue(r Revision) {
	if t.revisionCount == maxRevisions {
		return
	}
	t.revisions[(t.revisionStart+t.revisionCount)%maxRevisions] = r
	t.revisionCount++
}

// Revised is a verdict on an earlier packet that has not been handed out by an Observation yet; false when
// there is none. Call it until then after the last packet.
func (t *Tracker) Revised() (Revision, bool) {
	if t.revisionCount == 0 {
		return Revision{}, false
	}
	r := t.revisions[t.revisionStart]
	t.revisionStart = (t.revisionStart + 1) % maxRevisions
	t.revisionCount--
	return r, true
}
