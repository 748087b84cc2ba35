package judge

import (
	"fmt"
	"time"

	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/replay/finding"
)

// count follows the message sequence number of a responder: at least, and at most, so many messages were done
// between the answer that it started from and a position.
type count struct {
	valid       bool
	at          position
	msn         uint32
	number      uint64
	least, most int64
	reads       bool // a READ or atomic is among them, whose place in the count is not as sharp
}

// ahead is an ACK of what was not seen yet.
type ahead struct {
	pending bool
	until   position
	number  uint64
	time    int64
	first   uint64 // number of the first packet sent later that it covers
	covered uint32
}

// skew is how far two taps of one capture may be apart.
const skew = int64(10 * time.Microsecond)

// answer takes a packet of the responder.
func (d *dialogue) answer(e *event) {
	if !d.started {
		d.heard = true
		return
	}
	q := extend(e.psn, d.next)
	if q-d.next > maxJump || d.next-q > maxBack {
		return // of another life of the QP
	}
	if d.dupPending() {
		d.evidence.duplicate.Add(false)
		d.c.conforms(finding.RoCEDuplicateUnanswered)
		d.notices.duplicate = 0
	}
	d.heard = true
	switch {
	case e.opcode.IsReadResponse():
		if e.opcode.IsFirst() || e.opcode.IsMiddle() {
			if e.whole && (d.mtu == 0 || d.mtu == e.length || !d.measured(q)) {
				d.checkMTU(e, d.answers())
			}
		}
		d.readResponse(q, e)
	case e.opcode.IsAtomicAck():
		d.atomicAck(q, e)
	case !e.has(infiniband.HasAETH):
	case e.packet.AETH.Syndrome.IsACK():
		d.positive(q, e)
	case e.packet.AETH.Syndrome.IsRNR():
		d.notReady(q, e)
	case e.packet.AETH.Syndrome.IsNAK():
		d.negative(q, e)
	}
}

// positive takes an ACK.
func (d *dialogue) positive(q position, e *event) {
	if d.fatal.pending && q >= d.fatal.at {
		d.answeredAfterFatal(q, e)
	}
	if d.ackSeen && q < d.acked {
		d.backwards(q, e)
		return
	}
	if d.nak.pending && q >= d.nak.at {
		d.overGap(q, e)
	}
	if d.repair.pending && q > d.repair.at {
		d.overRepair(q, e)
	}
	if q >= d.next && !d.open {
		d.ahead = ahead{pending: true, until: q, number: e.number, time: e.time}
	}
	d.cover(q, e, true)
}

// cover moves the acknowledged position on, and counts what it passes.
func (d *dialogue) cover(q position, e *event, exact bool) {
	msn := e.packet.AETH.MSN
	m := &d.messages
	if !d.ackSeen {
		d.ackSeen, d.acked = true, q
		d.ack = answer{number: e.number, time: e.time, msn: msn}
		if exact {
			*m = count{valid: true, at: q, msn: msn, number: e.number}
		}
		return
	}
	if q > d.acked {
		if q-d.acked > maxRing {
			m.valid = false
		} else {
			d.pass(q, e)
		}
		d.acked = q
		d.ack = answer{number: e.number, time: e.time, msn: msn}
	}
	if exact && q == d.acked {
		d.counted(e)
	}
}

// pass looks at each PSN that is acknowledged for the first time.
func (d *dialogue) pass(q position, e *event) {
	m := &d.messages
	for p := d.acked + 1; p <= q; p++ {
		s := d.ring.find(p)
		switch {
		case s != nil && s.copies > 0:
			if s.opcode.EndsMessage() {
				m.least++
				m.most++
				m.reads = m.reads || s.opcode.IsReadRequest() || s.opcode.IsAtomic()
			}
			if s.flags&(slotAckRequest|slotUnanswered) == slotAckRequest {
				d.evidence.ackRequest.Add(false)
				d.c.conforms(finding.RoCEAckRequestUnanswered)
			}
			if p == q && s.copies == 1 && e.hasTime && s.flags&(slotTimed|slotRepeated) == slotTimed {
				d.there.add(e.time - s.time)
			}
		case s != nil: // a hole
			s.used = false
			d.holes--
			d.missed++
			d.sampled++
			d.losses.Capture++
			m.most++
		case p >= d.next:
			m.most++
		default:
			if r := d.reads.find(p); r != nil && r.sure {
				if p == r.start { // so many followed it that only this is left of the request
					m.least++
					m.most++
					m.reads = true
				}
				p = min(r.end-1, q)
				continue
			}
			m.most++
		}
	}
	d.evidence.ackedResent.Add(false)
	d.c.conforms(finding.RoCEAcknowledgedResent)
}

// counted holds the MSN against the messages that were passed.
func (d *dialogue) counted(e *event) {
	m := &d.messages
	msn := e.packet.AETH.MSN
	if !m.valid {
		*m = count{valid: true, at: d.acked, msn: msn, number: e.number}
		return
	}
	grown := int64(infiniband.PSNDiff(msn, m.msn))
	slack := int64(0)
	if m.reads {
		slack = maxReads
	}
	if grown >= m.least-slack && grown <= m.most+slack {
		d.c.conforms(finding.RoCEMessageCount)
		return
	}
	from := *m
	*m = count{valid: true, at: d.acked, msn: msn, number: e.number}
	d.c.find(d.answers(), finding.RoCEMessageCount, finding.Diverges, e, packets(from.number, e.number), func(f *finding.Finding) {
		f.Expected = fmt.Sprintf("MSN %d", (uint64(from.msn)+uint64(from.least))&0xffffff)
		if from.most != from.least {
			f.Expected += fmt.Sprintf(" to %d", (uint64(from.msn)+uint64(from.most))&0xffffff)
		}
		f.Seen = fmt.Sprintf("MSN %d", msn)
		f.Sentence = fmt.Sprintf("Between answers %d and %d the MSN grew by %d; %s between their PSNs.", from.number, e.number, grown, ends(from.least, from.most))
	})
}

// ends says how many messages end.
func ends(least, most int64) string {
	switch {
	case most == 0:
		return "no message ends"
	case least == most && most == 1:
		return "one message ends"
	case least == most:
		return fmt.Sprintf("%d messages end", most)
	}
	return fmt.Sprintf("%d to %d messages end", least, most)
}

// backwards takes an ACK of less than was acknowledged.
func (d *dialogue) backwards(q position, e *event) {
	newer := infiniband.PSNDiff(e.packet.AETH.MSN, d.ack.msn)
	if newer < 0 {
		return // made before, and late
	}
	verdict := finding.Undetermined
	if newer > 0 {
		verdict = finding.Diverges
	}
	d.c.find(d.answers(), finding.RoCEAckBackwards, verdict, e, packets(d.ack.number, e.number), func(f *finding.Finding) {
		f.Expected, f.Seen = fmt.Sprintf("PSN %d or later", psnOf(d.acked)), fmt.Sprintf("PSN %d", psnOf(q))
		f.Sentence = fmt.Sprintf("ACK %d acknowledges PSN %d with MSN %d; ACK %d had acknowledged PSN %d with MSN %d.",
			e.number, psnOf(q), e.packet.AETH.MSN, d.ack.number, psnOf(d.acked), d.ack.msn)
	})
}

// sentAfterAck takes a request that is seen for the first time after an ACK that covers it.
func (d *dialogue) sentAfterAck(p position, e *event) {
	a := &d.ahead
	if p > a.until {
		a.pending = false
		ev := &d.evidence.ackUnsent
		if a.covered == 0 {
			ev.Add(false)
			d.c.conforms(finding.RoCEAckUnsent)
			return
		}
		ev.Add(true)
		missed, _ := d.doubt()
		d.c.find(d.answers(), finding.RoCEAckUnsent, ev.Verdict(min(0.5, missed)), e, packets(a.number, a.first), func(f *finding.Finding) {
			f.Expected, f.Seen = "an ACK of what was received", fmt.Sprintf("ACK of PSN %d", psnOf(a.until))
			f.Sentence = fmt.Sprintf("ACK %d covers up to PSN %d; %d packets that it covers, from packet %d on, were seen for the first time after it.",
				a.number, psnOf(a.until), a.covered, a.first)
		})
		return
	}
	if e.hasTime && a.time != 0 && e.time-a.time < skew {
		return
	}
	if a.covered == 0 {
		a.first = e.number
	}
	a.covered++
}
