package roce

import (
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

// acknowledge takes an ACK or NAK (IBTA volume 1, sections 9.7.5 and 9.7.6).
func (q *QP) acknowledge(now time.Duration, p *dissector.Packet) Verdict {
	s := p.AETH.Syndrome
	sequence := near(q.una, p.BTH.PSN)
	if sequence >= q.high { // of what was never sent
		return VerdictInvalid
	}
	if s.IsACK() {
		q.learnCredits(p)
		if sequence < q.una {
			return VerdictStale
		}
		return q.advanced(now, q.advance(sequence))
	}
	if !s.IsRNR() && !s.IsNAK() {
		return VerdictMalformed
	}
	if sequence < q.una {
		return VerdictStale
	}
	// A NAK acknowledges what stands before it (section 9.7.5.2.3).
	if !q.advance(sequence - 1) {
		return q.advanced(now, false)
	}
	q.advanced(now, true)
	switch {
	case s.IsRNR():
		q.notReady(now, s)
	case s.NAKCode() == infiniband.NAKPSNSequenceError:
		q.sequenceError(now, sequence)
	default:
		q.failOldest(nakError(s.NAKCode()))
	}
	return VerdictAccepted
}

// learnCredits takes message count and credits of an answer that is not older than what is known (section 9.7.7.2).
func (q *QP) learnCredits(p *dissector.Packet) {
	if !q.config.Credits {
		return
	}
	msn := near(q.msn+1<<24, p.AETH.MSN) - 1<<24
	if int64(msn-q.msn) < 0 || msn > q.ssn {
		return
	}
	q.msn = msn
	n, limited := p.AETH.Syndrome.CreditCount()
	q.unlimited = !limited
	q.lsn = msn + uint64(n)
}

// advance takes everything up to the sequence number, inclusive, as acknowledged. It stops, and answers false, at a
// READ or atomic whose response is missing.
func (q *QP) advance(sequence uint64) bool {
	for q.messages.len() > 0 && sequence >= q.una {
		m := *q.messages.at(0)
		switch {
		case m.Operation.answered():
			return false
		case sequence < m.last:
			q.moveUna(sequence + 1)
			return true
		}
		q.complete(m)
	}
	return true
}

// moveUna acknowledges within the oldest message.
func (q *QP) moveUna(to uint64) {
	if to <= q.una {
		return
	}
	q.una = to
	q.next = max(q.next, to)
	q.retries, q.rnrRetries = q.config.RetryCount, q.config.RNRRetry
	q.timerAt = Never
}

// complete ends the oldest message well.
func (q *QP) complete(m *message) {
	if q.cursor > 0 {
		q.cursor--
		if m.Operation.answered() {
			q.reads--
		}
	}
	q.moveUna(m.last + 1)
	q.finish(nil)
}

// advanced starts the timer for what is still on the way, and asks again for a response that is missing: an ACK or
// response that goes past it is an implied NAK (section 9.7.5.2).
func (q *QP) advanced(now time.Duration, whole bool) Verdict {
	if q.una < q.next {
		q.startTimer(now)
	}
	if whole {
		return VerdictAccepted
	}
	if q.implied != q.una { // once for each gap, like the NAK of a responder
		q.implied = q.una
		q.statistics.ImpliedNAKs++
		if q.retry() {
			q.goBack(q.una)
		}
	}
	return VerdictGap
}

// sequenceError goes back to the packet that the responder misses, or repeats only that.
func (q *QP) sequenceError(now time.Duration, sequence uint64) {
	if !q.retry() {
		return
	}
	if q.config.SelectiveRepeat {
		if sequence < q.next {
			q.missing, q.timerAt = sequence, Never
			q.startTimer(now)
		}
		return
	}
	q.goBack(sequence)
}

// notReady waits as long as the responder's RNR NAK says (section 9.7.5.2.8).
func (q *QP) notReady(now time.Duration, s infiniband.Syndrome) {
	if q.config.RNRRetry != 7 {
		if q.rnrRetries == 0 {
			q.failOldest(ErrRNRRetryExceeded)
			return
		}
		q.rnrRetries--
	}
	q.statistics.RNRWaits++
	q.rnrUntil = now + s.RNRTimer()
	q.goBack(q.una)
	q.timerAt = Never
}

// response finds the READ or atomic that a response belongs to. Everything before it is acknowledged by it.
func (q *QP) response(now time.Duration, p *dissector.Packet) (*message, uint64, Verdict) {
	sequence := near(q.una, p.BTH.PSN)
	switch {
	case sequence >= q.high:
		return nil, 0, VerdictInvalid
	case sequence < q.una:
		return nil, 0, VerdictStale
	}
	m := *q.messages.at(q.find(sequence))
	if !m.Operation.answered() || m.Operation.atomic() != p.BTH.Opcode.IsAtomicAck() {
		q.failOldest(ErrBadResponse)
		return nil, 0, VerdictInvalid
	}
	if p.Has&infiniband.HasAETH != 0 {
		if !p.AETH.Syndrome.IsACK() {
			return nil, 0, VerdictMalformed
		}
		q.learnCredits(p)
	}
	if !q.advance(m.first-1) || sequence > m.position() {
		return nil, 0, q.advanced(now, false)
	}
	return m, sequence, VerdictAccepted
}

// readResponse takes a packet of the answer to a READ (sections 9.4.4 and 9.7.5.1.4).
func (q *QP) readResponse(now time.Duration, p *dissector.Packet) Verdict {
	m, sequence, v := q.response(now, p)
	if v != VerdictAccepted {
		return v
	}
	from := int(sequence-m.first) * q.config.MTU
	room := m.Data[from:min(from+q.config.MTU, len(m.Data))]
	data := p.Payload()
	ends := p.BTH.Opcode.IsLast() || p.BTH.Opcode.IsOnly()
	if len(data) != len(room) || ends != (sequence == m.last) {
		q.failOldest(ErrBadResponse)
		return VerdictInvalid
	}
	copy(room, data)
	m.received++
	if sequence == m.last {
		q.complete(m)
	} else {
		q.moveUna(sequence + 1)
	}
	return q.advanced(now, true)
}

// atomicResponse takes the answer to an atomic (section 9.7.5.1.5).
func (q *QP) atomicResponse(now time.Duration, p *dissector.Packet) Verdict {
	m, _, v := q.response(now, p)
	if v != VerdictAccepted {
		return v
	}
	m.original = p.AtomicAckETH.OriginalData
	q.complete(m)
	return q.advanced(now, true)
}
