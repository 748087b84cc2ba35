package judge

import (
	"fmt"
	"time"

	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/replay/finding"
)

// episode is a run of requests that begins by going back.
type episode struct {
	active bool
	start  position
	number uint64
	cause  cause
	below  bool // it began below the PSN of the NAK that is pending
}

type cause uint8

const (
	causeUnknown cause = iota
	causeNAK
	causeRNR
	causeTimer
	causeAnswers // an answer to a READ or atomic was lost on the way, as the requester alone knows
)

// settled is how long reordering within the network lasts at most; a PSN that comes later was sent again.
const settled = int64(500 * time.Microsecond)

// repeat takes a request whose PSN was passed, and tells whether the requester sent it: a copy that the network made
// is none of its doing.
func (d *dialogue) repeat(p position, e *event) bool {
	s := d.ring.find(p)
	if s != nil && s.copies == 0 && d.late(p, s, e) {
		d.holes--
		d.fill(s, e)
		s.flags |= slotLate
		d.sampled++
		d.follows(p, s, e)
		d.next = max(d.next, d.after(p, e))
		return true
	}
	if d.copied(p, s, e) {
		return false
	}
	if !d.episode.active || p <= d.going {
		d.goBackTo(p, s, e)
	}
	d.complied(p, s, e)
	r := d.reads.find(p)
	switch {
	case s != nil && s.copies == 0:
		d.holes--
		d.losses.Before++
		d.fill(s, e)
		s.flags |= slotRepeated
		d.sampled++
		d.follows(p, s, e)
		d.next = max(d.next, d.after(p, e))
	case s != nil:
		d.again(s, e)
		if r != nil && e.opcode.IsReadRequest() {
			d.askAgain(r, p, e)
		} else if r != nil {
			r.copies += min(1, 255-r.copies)
			r.last = e.number
		}
	case r != nil && e.opcode.IsReadRequest():
		d.askAgain(r, p, e)
	case r != nil && !e.opcode.IsAtomic():
		d.inside(r, p, e)
	}
	return true
}

// enoughSteps is how many requests in a row must have had different IP identifications before equal ones mean a copy.
const enoughSteps = 8

// copied tells whether what looks like a request sent again may be a copy that the network made of one: nothing asked
// for it, it comes sooner than any timer runs out, and nothing in it is new.
func (d *dialogue) copied(p position, s *slot, e *event) bool {
	if s == nil || s.copies == 0 || s.opcode != e.opcode || s.length != e.length {
		return false
	}
	if d.idSteps >= enoughSteps && s.ipID == e.packet.Network.ID {
		return true // the sender gives each packet an identification of its own
	}
	if d.nak.pending || d.rnr.pending {
		return false
	}
	if !e.hasTime || s.flags&slotTimed == 0 || e.time-s.time >= settled {
		return false
	}
	if e.packet.Network.Version == 4 && s.ipID != e.packet.Network.ID {
		return false
	}
	return !d.episode.active || p <= d.going
}

// after is the first position behind a request that filled a hole.
func (d *dialogue) after(p position, e *event) position {
	if !e.opcode.IsReadRequest() && !e.opcode.IsAtomic() {
		return p + 1
	}
	end := p + d.ask(p, e)
	for q := p + 1; q < min(end, p+maxRing); q++ { // these were never to be sent
		if s := d.ring.find(q); s != nil && s.copies == 0 {
			s.used = false
			d.holes--
		}
	}
	return end
}

// late tells whether what fills a hole was only reordered: nobody asked for it, and it comes soon.
func (d *dialogue) late(p position, s *slot, e *event) bool {
	if d.episode.active || (d.nak.known && d.nak.number > s.number && d.nak.at <= p) || d.rnr.pending {
		return false
	}
	return !e.hasTime || s.flags&slotTimed == 0 || e.time-s.time < settled
}

// again takes another copy of a request that was seen.
func (d *dialogue) again(s *slot, e *event) {
	same := s.opcode == e.opcode && (s.length == e.length || !e.whole)
	if same || e.opcode.IsReadRequest() && s.opcode.IsReadRequest() {
		d.c.conforms(finding.RoCERetransmissionDiffers)
	} else {
		d.c.find(d.lane, finding.RoCERetransmissionDiffers, finding.Diverges, e, packets(s.last, e.number), func(f *finding.Finding) {
			f.Expected = fmt.Sprintf("%s with %d bytes", s.opcode, s.length)
			f.Seen = fmt.Sprintf("%s with %d bytes", e.opcode, e.length)
			f.Sentence = fmt.Sprintf("PSN %d was sent as %s with %d bytes in packet %d, and as %s with %d bytes in packet %d.",
				e.psn, s.opcode, s.length, s.last, e.opcode, e.length, e.number)
		})
		s.opcode, s.length = e.opcode, e.length
	}
	s.copies += min(1, 255-s.copies)
	s.last, s.ipID = e.number, e.packet.Network.ID
	if e.hasTime {
		s.time = e.time
	}
	if e.packet.BTH.AckRequest {
		s.flags |= slotAckRequest
	}
}

// retried counts how often the requester went back to one PSN: had anything behind it been acknowledged, it would
// have gone back to a later one, and the count of retries begun anew.
func (d *dialogue) retried(p position, s *slot, e *event) {
	if d.stuck.at != p || d.stuck.times == 0 || d.rnr.pending {
		d.stuck.at, d.stuck.times = p, 0
	}
	d.stuck.times++
	a := d.agreed
	if a == nil || !a.RetriesKnown || s == nil || s.copies == 0 {
		return
	}
	if d.stuck.times <= uint32(a.Retries)+1 { // one more than allowed may be a copy that the network made
		d.c.conforms(finding.RoCERetries)
		return
	}
	times := d.stuck.times
	d.c.find(d.lane, finding.RoCERetries, d.outOfRetries(s, times-uint32(a.Retries)-1), e, packets(s.number, s.last, e.number), func(f *finding.Finding) {
		f.Expected, f.Seen = fmt.Sprintf("%d retries, then an error", a.Retries), fmt.Sprintf("%d retries", times)
		f.Sentence = fmt.Sprintf("The requester went back to PSN %d for the %dth time with packet %d, and nothing was acknowledged between; retry_cnt is %d.",
			e.psn, times, e.number, a.Retries)
	})
}

// outOfRetries is the verdict about so many retries too many. An RNR NAK that the capture missed asks for a retry
// that retry_cnt does not count; a WRITE without immediate gets none (IBTA volume 1, section 9.7.5.2.8).
func (d *dialogue) outOfRetries(s *slot, more uint32) finding.Verdict {
	if s.opcode.IsWrite() && !s.opcode.HasImmediate() {
		return finding.Diverges
	}
	if !d.heard {
		return finding.Undetermined
	}
	missed, _ := d.doubt()
	return finding.Evidence{Cases: more, Suspicious: more}.Verdict(min(0.5, missed))
}

// goBackTo begins an episode: something made the requester go back.
func (d *dialogue) goBackTo(p position, s *slot, e *event) {
	d.episode = episode{active: true, start: p, number: e.number, cause: causeTimer}
	d.retried(p, s, e)
	ep := &d.episode
	switch {
	case d.rnr.pending && p <= d.rnr.at:
		ep.cause = causeRNR
	case d.onItsWay(p, e):
		ep.cause = causeNAK
	case d.nak.pending && p < d.nak.at && d.reads.find(p) != nil: // an answer that did not arrive is asked for anew
		ep.cause = causeAnswers
	case d.nak.pending:
		ep.cause = causeNAK
		ep.below = p < d.nak.at
	case d.readsWaiting() || d.reads.find(p) != nil:
		ep.cause = causeAnswers
	}
	if ep.cause == causeTimer {
		d.timer(p, s, e)
	}
	if ep.cause != causeRNR && ep.cause != causeNAK && d.ackSeen && p <= d.acked {
		d.resentAcknowledged(p, e)
	}
}

// onItsWay tells whether a NAK for the PSN, be it the latest or one before it, may have arrived only now, though an
// earlier one had already made the requester send the PSN again.
func (d *dialogue) onItsWay(p position, e *event) bool {
	for i := range d.naks {
		n := &d.naks[i]
		if n.number != 0 && n.at == p && e.time-n.time < 20*max(d.back.max, int64(100*time.Microsecond)) {
			return true
		}
	}
	return false
}

// readsWaiting tells whether a READ or atomic was not answered to its end. An answer that does not arrive, be it lost
// before the vantage point or behind it, makes the requester ask again.
func (d *dialogue) readsWaiting() bool {
	n, _ := d.reads.waiting()
	return n != 0
}

// complied sees what a NAK or an RNR NAK asked for being sent.
func (d *dialogue) complied(p position, s *slot, e *event) {
	if d.rnr.pending && p == d.rnr.at {
		d.rnrWaited(e)
	}
	if !d.nak.pending {
		return
	}
	if p > d.nak.at && p < d.nak.highest && d.episode.number > d.nak.number && e.hasTime && e.time-d.nak.time <= max(patience, 10*d.back.min) {
		d.nak.heeded = true
	}
	if p == d.nak.at {
		d.nak.pending = false
		below := d.episode.cause == causeNAK && d.episode.below
		if e.hasTime && !below && !d.nak.heeded { // otherwise the timer may have run out, and the time is its own
			d.back.add(e.time - d.nak.time)
		}
		d.repaired(p, s, e)
		if d.obeyed(below, e) || !below {
			d.startedWhere(e)
		}
		d.resent, d.resending = p, d.next > p+1
		if s != nil && s.copies > 0 {
			d.losses.After++
		}
		d.evidence.nakMissing.Add(false)
		d.c.conforms(finding.RoCENAKMissing)
	}
}

// repaired notes what was sent again for a NAK. When it had been sent twice before, the second copy may have arrived
// behind the NAK, and an ACK that comes soon may be for that.
func (d *dialogue) repaired(p position, s *slot, e *event) {
	if s == nil || s.copies > 1 || d.nak.repeats != 0 || !e.hasTime {
		d.evidence.ackOverGap.Add(false)
		d.repair.pending = false
		return
	}
	d.repair.pending, d.repair.at, d.repair.nak, d.repair.time = true, p, d.nak.number, e.time
}

// slow is how long after a NAK a requester that heeds it sends again, at the least rate that congestion control sets.
const slow = int64(8 * time.Millisecond)

// patience is how long new requests may go out after a NAK passed: it takes a while to arrive.
const patience = int64(500 * time.Microsecond)

// obeyed tells whether the requester sent again what a NAK asked for because of the NAK: if new requests went out long
// after it, or only the timer's time later, it did not. below tells that it began below that.
func (d *dialogue) obeyed(below bool, e *event) bool {
	n := &d.nak
	if n.heeded { // what it sent at once did not get here: where a queue is full, that is no matter of chance
		return true
	}
	ev := &d.evidence.nakIgnored
	late := e.hasTime && n.time != 0 && n.newest-n.time > max(patience, 10*d.back.min)
	if a := d.agreed; a != nil && a.AckTimeoutKnown && a.AckTimeout != 0 && e.time-n.time > max(patience, a.AckTimeout*9/10) {
		late = late || e.hasTime && n.time != 0
	}
	if wait := e.time - n.time; e.hasTime && n.time != 0 && wait > slow && (below || wait > 10*d.back.min) {
		late = true
	}
	ev.Add(late)
	if !late {
		d.c.conforms(finding.RoCENAKIgnored)
		return true
	}
	missed, lost := d.doubt()
	if below {
		lost *= 2 // an ACK that was lost as well
	}
	d.c.find(d.lane, finding.RoCENAKIgnored, ev.Verdict(min(0.5, missed+lost)), e, packets(n.number, e.number), func(f *finding.Finding) {
		f.Expected = fmt.Sprintf("PSN %d at once", psnOf(n.at))
		f.Seen = fmt.Sprintf("PSN %d after %s", psnOf(n.at), time.Duration(e.time-n.time))
		f.Sentence = fmt.Sprintf("NAK %d asks for PSN %d; it was sent again %s later with packet %d, by the timer rather than for the NAK (%d of %d times).",
			n.number, psnOf(n.at), time.Duration(e.time-n.time), e.number, ev.Suspicious, ev.Cases)
	})
	return false
}

// startedWhere tells whether going back began where the NAK said.
func (d *dialogue) startedWhere(e *event) {
	ev := &d.evidence.goBackStart
	if d.episode.cause != causeNAK || !d.episode.below {
		ev.Add(false)
		d.c.conforms(finding.RoCEGoBackStart)
		return
	}
	ev.Add(true)
	missed, lost := d.doubt()
	d.c.find(d.lane, finding.RoCEGoBackStart, ev.Verdict(min(0.5, 2*lost+missed)), e, packets(d.nak.number, d.episode.number, e.number), func(f *finding.Finding) {
		f.Expected = fmt.Sprintf("PSN %d, as the NAK says", psnOf(d.nak.at))
		f.Seen = fmt.Sprintf("PSN %d", psnOf(d.episode.start))
		f.Sentence = fmt.Sprintf("NAK %d asks for PSN %d; the requester went back to PSN %d with packet %d (%d of %d times).",
			d.nak.number, psnOf(d.nak.at), psnOf(d.episode.start), d.episode.number, ev.Suspicious, ev.Cases)
	})
}

func psnOf(p position) uint32 { return uint32(uint64(p) & 0xffffff) }

// rnrWaited measures how long the requester waited after an RNR NAK.
func (d *dialogue) rnrWaited(e *event) {
	r := &d.rnr
	r.pending = false
	if !e.hasTime || r.time == 0 {
		return
	}
	waited := e.time - r.time
	d.rnrWaits.add(waited)
	ev := &d.evidence.rnrEarly
	if waited >= r.wait {
		ev.Add(false)
		d.c.conforms(finding.RoCERNREarly)
		return
	}
	ev.Add(true)
	_, lost := d.doubt()
	d.c.find(d.lane, finding.RoCERNREarly, ev.Verdict(min(0.3, lost+0.01)), e, packets(r.number, e.number), func(f *finding.Finding) {
		f.Expected = "at least " + infiniband.TimerText(time.Duration(r.wait))
		f.Seen = time.Duration(waited).String()
		f.Sentence = fmt.Sprintf("RNR NAK %d asks to wait for %s; PSN %d came again with packet %d after %s (%d of %d times).",
			r.number, infiniband.TimerText(time.Duration(r.wait)), e.psn, e.number, time.Duration(waited), ev.Suspicious, ev.Cases)
	})
}

// timer takes going back for which nothing was seen that asked for it.
func (d *dialogue) timer(p position, s *slot, e *event) {
	if d.nak.known || d.heard || s != nil {
		d.losses.Unknown++
	}
	if s == nil {
		return
	}
	hole := s.copies == 0
	if hole {
		d.nakMissed(p, s, e)
		return
	}
	if e.hasTime && s.flags&slotTimed != 0 {
		d.waited(s, e)
	}
	if d.ackSeen && p <= d.acked || d.stuck.times > 1 {
		return // one case, however often it is tried: an outage of the path explains all of them
	}
	if d.rnr.known && (p <= d.rnr.at || !d.ackSeen || d.acked < d.rnr.at) {
		return // an RNR NAK answered it, or what it waits behind, and a further one may have been missed
	}
	for q := p; q < d.next && q < p+maxAsked; q++ {
		if t := d.ring.find(q); t != nil && t.copies > 0 && t.flags&(slotAckRequest|slotUnanswered) == slotAckRequest {
			t.flags |= slotUnanswered
			d.unanswered(q, t, e)
			return
		}
	}
}

// maxAsked is how many packets behind the one that is sent again are looked at for a request for an ACK.
const maxAsked = 256

// waited measures the retransmission timer.
func (d *dialogue) waited(s *slot, e *event) {
	from := s.time
	if d.ackSeen && d.ack.time > from {
		from = d.ack.time
	}
	waited := e.time - from
	d.timeouts.add(waited)
	d.backoff.add(d.stuck.at, d.stuck.times, waited)
	a := d.agreed
	if a == nil || !a.AckTimeoutKnown || a.AckTimeout == 0 || waited < settled { // so soon, it may be a copy
		return
	}
	missed, lost := d.doubt()
	verdictOn := func(r finding.Rule, ev *finding.Evidence, suspicious bool, q float64, expected string) {
		ev.Add(suspicious)
		if !suspicious {
			d.c.conforms(r)
			return
		}
		d.c.find(d.lane, r, ev.Verdict(q), e, packets(s.last, e.number), func(f *finding.Finding) {
			f.Expected, f.Seen = expected, time.Duration(waited).String()
			f.Sentence = fmt.Sprintf("PSN %d was sent again %s after packet %d without a NAK; the local ACK timeout is %s (%d of %d times).",
				e.psn, time.Duration(waited), s.last, time.Duration(a.AckTimeout), ev.Suspicious, ev.Cases)
		})
	}
	verdictOn(finding.RoCETimeoutEarly, &d.evidence.timeoutEarly, waited < a.AckTimeout*9/10, min(0.5, missed+lost+0.05),
		"at least "+time.Duration(a.AckTimeout).String())
	verdictOn(finding.RoCETimeoutLate, &d.evidence.timeoutLate, waited > 4*a.AckTimeout+4*int64(time.Millisecond), min(0.5, missed+0.05),
		"at most "+time.Duration(4*a.AckTimeout).String())
}

// nakMissed takes a gap that the requester repaired although no NAK for it was seen.
func (d *dialogue) nakMissed(p position, s *slot, e *event) {
	ev := &d.evidence.nakMissing
	ev.Add(true)
	missed, lost := d.doubt()
	verdict := ev.Verdict(min(0.5, missed+2*lost))
	if !d.heard {
		verdict = finding.Undetermined
	}
	d.c.find(d.answers(), finding.RoCENAKMissing, verdict, e, packets(s.number, e.number), func(f *finding.Finding) {
		f.Expected, f.Seen = fmt.Sprintf("a NAK for PSN %d", psnOf(p)), "none before it was sent again"
		f.Sentence = fmt.Sprintf("PSN %d was missing when packet %d passed; it came with packet %d, and no NAK was seen between (%d of %d gaps).",
			psnOf(p), s.number, e.number, ev.Suspicious, ev.Cases)
	})
}

// unanswered takes a request for an ACK that the requester had to repeat.
func (d *dialogue) unanswered(p position, s *slot, e *event) {
	ev := &d.evidence.ackRequest
	ev.Add(true)
	missed, lost := d.doubt()
	verdict := ev.Verdict(min(0.5, 2*lost+missed))
	if !d.heard {
		verdict = finding.Undetermined
	}
	d.c.find(d.answers(), finding.RoCEAckRequestUnanswered, verdict, e, packets(s.number, e.number), func(f *finding.Finding) {
		f.Expected, f.Seen = fmt.Sprintf("an ACK of PSN %d", psnOf(p)), "none before it was sent again"
		last := "nothing was ever heard of the responder"
		if d.heard {
			last = fmt.Sprintf("its last answer is packet %d", d.ack.number)
		}
		f.Sentence = fmt.Sprintf("Packet %d asks for an ACK of PSN %d; none was seen before packet %d repeats it; %s (%d of %d times).",
			s.number, psnOf(p), e.number, last, ev.Suspicious, ev.Cases)
	})
}

// resentAcknowledged takes going back to what was acknowledged.
func (d *dialogue) resentAcknowledged(p position, e *event) {
	if p >= d.untrue.from && p <= d.untrue.to {
		return // the fault is that of the ACK
	}
	ev := &d.evidence.ackedResent
	if d.resentBehind != d.ack.number { // one ACK that was lost on its way explains all that is sent again behind it
		d.resentBehind = d.ack.number
		ev.Suspicious++
		ev.Cases = max(ev.Cases, ev.Suspicious)
	}
	d.duplicated(p, e)
	d.c.find(d.lane, finding.RoCEAcknowledgedResent, ev.Verdict(0.5), e, packets(d.ack.number, e.number), func(f *finding.Finding) {
		f.Expected, f.Seen = fmt.Sprintf("PSN %d or later", psnOf(d.acked+1)), fmt.Sprintf("PSN %d", psnOf(p))
		f.Sentence = fmt.Sprintf("Packet %d sends PSN %d again; ACK %d had acknowledged it.", e.number, psnOf(p), d.ack.number)
	})
}
