package roce

import (
	"sort"
	"time"

	"github.com/rocelens/rocelens/dissector/infiniband"
)

// requester is the sending half of a QP (IBTA volume 1, sections 9.7.2 to 9.7.6).
type requester struct {
	messages queue[*message] // not complete, oldest first
	una      uint64          // oldest sequence number that is not acknowledged
	next     uint64          // to be sent next
	high     uint64          // first that was never sent
	tail     uint64          // first that no message has
	cursor   int             // index of the message that has next
	reads    int             // READs and atomics before cursor: they are on the way
	missing  uint64          // packet to be sent again out of turn, selective repeat; 0: none
	implied  uint64          // response that was asked for again; 0: none

	ssn       uint64 // of the message posted last (section 9.7.7.2)
	msn       uint64 // highest that the responder told
	lsn       uint64 // limit of ssn by credits
	unlimited bool   // the responder takes no part in flow control

	retries, rnrRetries uint8         // left
	timerAt             time.Duration // the transport timer
	rnrUntil            time.Duration // end of the wait that an RNR NAK ordered
}

func (r *requester) init(c *QPConfig) {
	first := firstSequence(c.SendPSN)
	r.una, r.next, r.high, r.tail = first, first, first, first
	r.unlimited = !c.Credits
	r.retries, r.rnrRetries = c.RetryCount, c.RNRRetry
	r.timerAt = Never
}

// enqueue gives a work request its PSNs: a READ takes as many as its answer has packets (section 9.7.3.1).
func (q *QP) enqueue(w WorkRequest) {
	e := q.endpoint
	var m *message
	if n := len(e.messages); n > 0 {
		m = e.messages[n-1]
		e.messages = e.messages[:n-1]
	} else {
		m = &message{}
	}
	span := uint64(1)
	if !w.Operation.atomic() {
		span = packets(len(w.Data), q.config.MTU)
	}
	q.ssn++
	*m = message{WorkRequest: w, first: q.tail, last: q.tail + span - 1, ssn: q.ssn}
	q.tail += span
	q.messages.push(m)
}

// find is the index of the message that has a sequence number from una up to, not including, tail.
func (r *requester) find(sequence uint64) int {
	if r.messages.len() > 0 && sequence <= (*r.messages.at(0)).last {
		return 0
	}
	return sort.Search(r.messages.len(), func(i int) bool { return (*r.messages.at(i)).last >= sequence })
}

// send fills the frame with the next request packet, if one may be sent now.
func (q *QP) send(now time.Duration) bool {
	if q.state != StateReady || now < q.rnrUntil || now < q.rate.nextAt {
		return false
	}
	if q.missing != 0 {
		sequence := q.missing
		q.missing = 0
		if sequence >= q.una && sequence < q.next {
			m := *q.messages.at(q.find(sequence))
			q.buildRequest(m, max(sequence, m.position()), true)
			q.statistics.Retransmitted++
			q.startTimer(now)
			return true
		}
	}
	if q.next == q.tail || q.next != q.una && q.next-q.una >= uint64(q.config.Window) {
		return false
	}
	m := *q.messages.at(q.cursor)
	if m.Operation.answered() && q.reads >= q.config.MaxReadAtomic || !q.credited(m) {
		return false
	}
	last := q.next
	if m.Operation.answered() {
		last = m.last
	}
	closes := last+1-q.una >= uint64(q.config.Window) || !q.unlimited && m.Operation.receives() && m.ssn > q.lsn
	q.buildRequest(m, q.next, closes)
	if q.next < q.high {
		q.statistics.Retransmitted++
	}
	q.next = last + 1
	q.high = max(q.high, q.next)
	if last == m.last {
		q.cursor++
		if m.Operation.answered() {
			q.reads++
		}
	}
	q.startTimer(now)
	return true
}

// credited tells whether end-to-end flow control lets the next packet go: beyond the credits one packet of one message
// may, to find out (section 9.7.7.2).
func (q *QP) credited(m *message) bool {
	if q.unlimited || !m.Operation.receives() || m.ssn <= q.lsn {
		return true
	}
	return q.next == q.una || q.next == m.first && m.ssn == q.lsn+1
}

// startTimer starts the transport timer unless it runs.
func (q *QP) startTimer(now time.Duration) {
	if q.timerAt != Never {
		return
	}
	if d := q.config.timeout(); d != Never {
		q.timerAt = now + d
	}
}

// Opcodes of a SEND or WRITE by place: only, first, middle, last.
var requestOpcodes = [operationCount][4]infiniband.Opcode{
	OperationSend:           {infiniband.RCSendOnly, infiniband.RCSendFirst, infiniband.RCSendMiddle, infiniband.RCSendLast},
	OperationSendImmediate:  {infiniband.RCSendOnlyImmediate, infiniband.RCSendFirst, infiniband.RCSendMiddle, infiniband.RCSendLastImmediate},
	OperationSendInvalidate: {infiniband.RCSendOnlyInvalidate, infiniband.RCSendFirst, infiniband.RCSendMiddle, infiniband.RCSendLastInvalidate},
	OperationWrite:          {infiniband.RCWriteOnly, infiniband.RCWriteFirst, infiniband.RCWriteMiddle, infiniband.RCWriteLast},
	OperationWriteImmediate: {infiniband.RCWriteOnlyImmediate, infiniband.RCWriteFirst, infiniband.RCWriteMiddle, infiniband.RCWriteLastImmediate},
	OperationRead:           {infiniband.RCReadRequest},
	OperationCompareSwap:    {infiniband.RCCompareSwap},
	OperationFetchAdd:       {infiniband.RCFetchAdd},
}

// place is the index of an opcode in its row.
func place(sequence, first, last uint64) int {
	switch {
	case first == last:
		return 0
	case sequence == first:
		return 1
	case sequence == last:
		return 3
	}
	return 2
}

// buildRequest fills the frame with one packet of a message (sections 9.4 and 9.7.3).
func (q *QP) buildRequest(m *message, sequence uint64, ackRequest bool) {
	e := q.endpoint
	q.statistics.Requests++
	if m.Operation.answered() {
		f := e.packet(q, requestOpcodes[m.Operation][0], sequence)
		e.mark()
		done := uint64(0)
		if m.Operation == OperationRead { // the rest, when part of the answer has come (section 9.7.6.1)
			done = (sequence - m.first) * uint64(q.config.MTU)
		}
		f.RETH = infiniband.RETH{VirtualAddress: m.RemoteAddress + done, RemoteKey: m.RKey, DMALength: uint32(uint64(len(m.Data)) - done)}
		f.AtomicETH = infiniband.AtomicETH{VirtualAddress: m.RemoteAddress, RemoteKey: m.RKey, SwapOrAdd: m.SwapOrAdd, Compare: m.Compare}
		f.BTH.AckRequest = true
		return
	}
	index := sequence - m.first
	from := index * uint64(q.config.MTU)
	to := min(from+uint64(q.config.MTU), uint64(len(m.Data)))
	every := uint64(q.config.AckRequestEvery)
	f := e.packet(q, requestOpcodes[m.Operation][place(sequence, m.first, m.last)], sequence)
	e.mark()
	f.Payload = m.Data[from:to]
	f.RETH = infiniband.RETH{VirtualAddress: m.RemoteAddress, RemoteKey: m.RKey, DMALength: uint32(len(m.Data))}
	f.ImmDt = infiniband.ImmDt{Data: m.Immediate}
	f.IETH = infiniband.IETH{RemoteKey: m.Invalidate}
	f.BTH.AckRequest = ackRequest || sequence == m.last || every > 0 && (index+1)%every == 0
	f.BTH.SolicitedEvent = m.Solicited && sequence == m.last && m.Operation.receives()
}

// goBack makes a sequence number the next to be sent (section 9.7.6.1.2). In a READ it is the first response that is
// missing.
func (q *QP) goBack(to uint64) {
	if to >= q.next {
		return
	}
	q.cursor = q.find(to)
	m := *q.messages.at(q.cursor)
	if m.Operation.answered() {
		to = m.position()
	}
	q.next, q.missing, q.timerAt = to, 0, Never
	q.reads = 0
	for i := range q.cursor {
		if (*q.messages.at(i)).Operation.answered() {
			q.reads++
		}
	}
}

// timedOut is the end of the transport timer (section 9.7.6.1.3).
func (q *QP) timedOut() {
	q.timerAt = Never
	q.statistics.Timeouts++
	q.implied = 0
	if q.retry() {
		q.goBack(q.una)
	}
}

// retry counts down, and ends the connection when nothing is left.
func (q *QP) retry() bool {
	if q.retries == 0 {
		q.failOldest(ErrRetryExceeded)
		return false
	}
	q.retries--
	return true
}

// failOldest completes the oldest work request with an error, which ends the connection (section 9.9.2).
func (q *QP) failOldest(err error) {
	if q.messages.len() > 0 {
		q.finish(err)
	}
	q.fail(err)
}

// finish completes the oldest work request.
func (q *QP) finish(err error) {
	m := q.messages.pop()
	q.endpoint.completions.push(Completion{
		QP: q, ID: m.ID, Operation: m.Operation, Err: err, Length: len(m.Data), Original: m.original,
	})
	m.Data = nil
	q.endpoint.messages = append(q.endpoint.messages, m)
}

// flushRequests completes what is left.
func (q *QP) flushRequests() {
	for q.messages.len() > 0 {
		q.finish(ErrFlushed)
	}
	q.cursor, q.next, q.missing = 0, q.tail, 0
}
