package judge

import (
	"fmt"

	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/replay/finding"
)

// negative takes a NAK.
func (d *dialogue) negative(q position, e *event) {
	switch code := e.packet.AETH.Syndrome.NAKCode(); code {
	case infiniband.NAKPSNSequenceError:
		d.outOfSequence(q, e)
	case infiniband.NAKInvalidRequest, infiniband.NAKRemoteAccessError, infiniband.NAKRemoteOperationalError:
		switch {
		case !d.fatal.pending:
			d.fatal = complaint{pending: true, known: true, at: q, number: e.number, time: e.time, sentAt: d.sent, highest: d.next}
		case d.fatal.repeats != 0: // said again to a requester that went on: each time it may have been lost
			d.fatal.repeats, d.fatal.number, d.fatal.time = 0, e.number, e.time
		}
	case infiniband.NAKInvalidRDRequest, infiniband.NAKOperationInProgress:
	}
}

// outOfSequence takes a NAK for a gap.
func (d *dialogue) outOfSequence(k position, e *event) {
	n := &d.naks[d.nakCount%uint64(len(d.naks))]
	n.at, n.number, n.time = k, e.number, e.time
	d.nakCount++
	switch {
	case d.ackSeen && k <= d.acked:
		d.nakOfAcknowledged(k, e)
		return
	case d.nak.known && k == d.nak.at:
		d.repeatedNAK(k, e)
		return
	}
	d.evidence.nakOfAcked.Add(false)
	d.c.conforms(finding.RoCENAKOfAcknowledged)
	d.evidence.nakRepeated.Add(false)
	d.c.conforms(finding.RoCENAKRepeated)
	d.nak = complaint{pending: true, known: true, at: k, number: e.number, time: e.time, ipID: e.packet.Network.ID, sentAt: d.copiesOf(k), highest: d.next}
	d.cover(k-1, e, true)
}

// copiesOf is how often a PSN was seen.
func (d *dialogue) copiesOf(k position) uint64 {
	if s := d.ring.find(k); s != nil {
		return uint64(s.copies)
	}
	if r := d.reads.find(k); r != nil {
		return uint64(r.copies)
	}
	return 0
}

// repeatedNAK takes a second NAK for one PSN.
func (d *dialogue) repeatedNAK(k position, e *event) {
	copies := d.copiesOf(k)
	if copies != d.nak.sentAt { // it was sent again, and lost again
		d.nak = complaint{pending: true, known: true, at: k, number: e.number, time: e.time, ipID: e.packet.Network.ID, sentAt: copies, highest: d.next}
		return
	}
	first := d.nak.number
	copied := e.packet.Network.ID == d.nak.ipID
	d.nak.repeats++
	d.nak.ipID = e.packet.Network.ID
	ev := &d.evidence.nakRepeated
	ev.Add(true)
	missed, lost := d.doubt()
	verdict := ev.Verdict(min(0.5, missed+lost))
	if copied {
		verdict = finding.Undetermined
	}
	d.c.find(d.answers(), finding.RoCENAKRepeated, verdict, e, packets(first, e.number), func(f *finding.Finding) {
		f.Expected, f.Seen = fmt.Sprintf("one NAK for PSN %d", psnOf(k)), fmt.Sprintf("%d NAKs", d.nak.repeats+1)
		f.Sentence = fmt.Sprintf("NAK %d asks for PSN %d, as NAK %d did; the PSN was not sent between them.", e.number, psnOf(k), first)
	})
}

// nakOfAcknowledged takes a NAK for what was acknowledged.
func (d *dialogue) nakOfAcknowledged(k position, e *event) {
	newer := infiniband.PSNDiff(e.packet.AETH.MSN, d.ack.msn)
	if newer < 0 {
		return // made before the ACK, and late
	}
	ev := &d.evidence.nakOfAcked
	ev.Add(true)
	verdict := ev.Verdict(0.01)
	if newer > 0 {
		verdict = finding.Diverges
	}
	d.c.find(d.answers(), finding.RoCENAKOfAcknowledged, verdict, e, packets(d.ack.number, e.number), func(f *finding.Finding) {
		f.Expected, f.Seen = fmt.Sprintf("no NAK below PSN %d", psnOf(d.acked+1)), fmt.Sprintf("a NAK for PSN %d", psnOf(k))
		f.Sentence = fmt.Sprintf("NAK %d asks for PSN %d, which ACK %d had acknowledged.", e.number, psnOf(k), d.ack.number)
	})
}

// overGap takes an ACK beyond a PSN that was asked for and not sent since.
func (d *dialogue) overGap(q position, e *event) {
	ev := &d.evidence.ackOverGap
	d.nak.pending = false
	if d.nak.sentAt > 1 {
		return // it had been sent again before the NAK passed, and the ACK may be for that
	}
	// An ACK of just that PSN may be for the first copy, which came late.
	if d.copiesOf(d.nak.at) != d.nak.sentAt || q == d.nak.at {
		ev.Add(false)
		d.c.conforms(finding.RoCEAckOverGap)
		return
	}
	d.ackedGap(d.nak.number, d.nak.at, q, e)
}

// enoughTrips is how many round trips tell how long one takes at least.
const enoughTrips = 16

// overRepair takes an ACK beyond a PSN that was sent again so shortly before that the responder cannot have had it.
func (d *dialogue) overRepair(q position, e *event) {
	r := &d.repair
	r.pending = false
	if !e.hasTime || d.there.n < enoughTrips || 8*d.selective > d.goBack || e.time-r.time >= d.there.min/2 {
		d.evidence.ackOverGap.Add(false)
		d.c.conforms(finding.RoCEAckOverGap)
		return
	}
	d.ackedGap(r.nak, r.at, q, e)
}

// ackedGap says that an ACK covers what was missing.
func (d *dialogue) ackedGap(nak uint64, at, q position, e *event) {
	ev := &d.evidence.ackOverGap
	ev.Add(true)
	d.untrue = untrue{from: at, to: q}
	missed, _ := d.doubt()
	d.c.find(d.answers(), finding.RoCEAckOverGap, ev.Verdict(min(0.5, missed)), e, packets(nak, e.number), func(f *finding.Finding) {
		f.Expected, f.Seen = fmt.Sprintf("no ACK beyond PSN %d", psnOf(at-1)), fmt.Sprintf("an ACK of PSN %d", psnOf(q))
		f.Sentence = fmt.Sprintf("NAK %d asks for PSN %d; ACK %d covers it, and it was not sent again in time between (%d of %d times).",
			nak, psnOf(at), e.number, ev.Suspicious, ev.Cases)
	})
}

// notReady takes an RNR NAK.
func (d *dialogue) notReady(k position, e *event) {
	s := d.ring.find(k)
	unneeded := s != nil && s.copies > 0 && s.opcode.IsWrite() && !s.opcode.HasImmediate()
	if s != nil && s.copies > 0 {
		if unneeded {
			d.c.find(d.answers(), finding.RoCERNRNotForSend, finding.Diverges, e, packets(s.number, e.number), func(f *finding.Finding) {
				f.Expected, f.Seen = "an ACK, or a NAK", "an RNR NAK of "+s.opcode.String()
				f.Sentence = fmt.Sprintf("RNR NAK %d answers PSN %d, packet %d, %s, which needs no receive buffer.", e.number, psnOf(k), s.number, s.opcode)
			})
		} else {
			d.c.conforms(finding.RoCERNRNotForSend)
		}
	}
	if d.ackSeen && k <= d.acked {
		return
	}
	repeats, copies := uint32(0), d.copiesOf(k)
	if d.rnr.known && d.rnr.at == k {
		repeats = d.rnr.repeats
		if copies > d.rnr.sentAt { // otherwise the network doubled it
			repeats++
			d.rnrAgain(repeats, e)
		}
	}
	d.rnr = complaint{
		pending: true, known: true, at: k, number: e.number, time: e.time, repeats: repeats, sentAt: copies,
		wait: int64(e.packet.AETH.Syndrome.RNRTimer()),
	}
	if !e.hasTime {
		d.rnr.time = 0
	}
	d.cover(k-1, e, !unneeded) // what it counts is anybody's guess then
}

// rnrAgain counts how often one request met a receiver that was not ready.
func (d *dialogue) rnrAgain(repeats uint32, e *event) {
	a := d.agreed
	if a == nil || !a.RNRRetriesKnown || a.RNRRetries == 7 {
		return
	}
	if repeats <= uint32(a.RNRRetries)+1 { // one more may be a copy that the network made
		d.c.conforms(finding.RoCERNRRetries)
		return
	}
	first := d.rnr.number
	d.c.find(d.lane, finding.RoCERNRRetries, finding.Diverges, e, packets(first, e.number), func(f *finding.Finding) {
		f.Expected, f.Seen = fmt.Sprintf("%d retries, then an error", a.RNRRetries), fmt.Sprintf("%d retries", repeats)
		f.Sentence = fmt.Sprintf("PSN %d was refused by RNR NAK for the %dth time; rnr_retry is %d.", e.psn, repeats+1, a.RNRRetries)
	})
}

// answeredAfterFatal takes an ACK of what was refused for good.
func (d *dialogue) answeredAfterFatal(q position, e *event) {
	nak := d.fatal.number
	d.c.find(d.answers(), finding.RoCEAnswerAfterFatalNAK, finding.Diverges, e, packets(nak, e.number), func(f *finding.Finding) {
		f.Expected, f.Seen = "silence", fmt.Sprintf("an ACK of PSN %d", psnOf(q))
		f.Sentence = fmt.Sprintf("NAK %d refused PSN %d, which ends the connection; ACK %d acknowledges PSN %d.", nak, psnOf(d.fatal.at), e.number, psnOf(q))
	})
}

// stopWithin is how many round trips a requester may go on after a NAK that ends the connection.
const stopWithin = 10

// afterFatal takes a new request after such a NAK.
func (d *dialogue) afterFatal(e *event) {
	f := &d.fatal
	if !e.hasTime || d.there.n == 0 || e.time-f.time < stopWithin*max(d.there.max, d.back.max, skew) {
		return
	}
	if f.repeats != 0 {
		return // one NAK is one case: when it was lost, all that follows is innocent
	}
	f.repeats = 1
	ev := &d.evidence.afterFatal
	ev.Add(true)
	_, lost := d.doubt()
	d.c.find(d.lane, finding.RoCEAfterFatalNAK, ev.Verdict(min(0.9, lost)), e, packets(f.number, e.number), func(out *finding.Finding) {
		out.Expected, out.Seen = "no request", e.opcode.String()
		out.Sentence = fmt.Sprintf("NAK %d refused PSN %d, which ends the connection; packet %d goes on with PSN %d.", f.number, psnOf(f.at), e.number, e.psn)
	})
}
