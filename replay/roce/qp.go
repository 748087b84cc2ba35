package roce

import (
	"fmt"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

// State of a queue pair, as far as it is used here (IBTA volume 1, section 10.3.1).
type State uint8

// States.
const (
	StateReady      State = iota // ready to send and to receive
	StateConnecting              // REQ is under way: nothing but receive buffers
	StateReceiving               // REP is under way: ready to receive
	StateError                   // work is flushed, packets are dropped
)

// QP is a queue pair of the reliable connection service.
type QP struct {
	endpoint   *Endpoint
	config     QPConfig
	state      State
	ready      bool // in the endpoint's queue
	readsTurn  bool // READ responses had the last turn
	deadline   time.Duration
	timerIndex int
	dialogue   *dialogue // nil: opened without the connection manager
	rate       rateControl
	cnpOwed    bool
	cnpAt      time.Duration // when the next CNP may leave
	statistics Statistics
	requester
	responder
}

func newQP(e *Endpoint, config QPConfig) *QP {
	q := &QP{endpoint: e, config: config, deadline: Never, timerIndex: -1}
	q.rate.init(e.config.LineRate)
	q.requester.init(&q.config)
	q.responder.init(&q.config)
	return q
}

// Config is what the QP was opened with.
func (q *QP) Config() QPConfig { return q.config }

// State is the QP's state.
func (q *QP) State() State { return q.state }

// Rate is what rate control allows, bit/s.
func (q *QP) Rate() float64 { return q.rate.rate }

// Post adds a work request to the send queue.
func (q *QP) Post(w WorkRequest) error {
	switch {
	case q.state != StateReady:
		return ErrNotReady
	case w.Operation >= operationCount:
		return fmt.Errorf("%d: %w", w.Operation, ErrOperation)
	case int64(len(w.Data)) > 1<<31:
		return ErrTooLong
	case w.Operation.atomic() && w.RemoteAddress&7 != 0:
		return ErrAlignment
	case w.Operation.answered() && q.config.MaxReadAtomic == 0:
		return fmt.Errorf("%v with an initiator depth of 0: %w", w.Operation, ErrOperation)
	}
	q.enqueue(w)
	q.wake()
	return nil
}

// PostReceive adds a buffer to the receive queue. Messages take buffers in order.
func (q *QP) PostReceive(id uint64, buffer []byte) error {
	if q.state == StateError {
		return ErrNotReady
	}
	q.receives.push(receiveBuffer{id: id, buffer: buffer})
	q.offerCredits()
	return nil
}

// Close takes the QP out of its endpoint; work that is not done is flushed. Nothing is sent about it.
func (q *QP) Close() {
	q.fail(nil)
	delete(q.endpoint.qps, q.config.QPN)
}

// wake makes Poll look at the QP.
func (q *QP) wake() {
	if !q.ready {
		q.ready = true
		q.endpoint.ready.push(q)
	}
}

// handle takes a packet for this QP.
func (q *QP) handle(now time.Duration, p *dissector.Packet) Verdict {
	opcode := p.BTH.Opcode
	if opcode.IsCNP() {
		q.statistics.CNPsReceived++
		if q.endpoint.config.RateControl {
			q.rate.cut(now, &q.endpoint.config.DCQCN)
		}
		return VerdictAccepted
	}
	if q.state == StateError || q.state == StateConnecting {
		return VerdictIgnored
	}
	if opcode.Service() != infiniband.ServiceRC {
		return VerdictMalformed
	}
	if p.Network.ECN == dissector.ECNCE {
		q.congested(now)
	}
	switch {
	case opcode.IsRequest():
		if q.state == StateReceiving {
			q.established()
		}
		return q.request(now, p)
	case opcode.IsAck():
		return q.acknowledge(now, p)
	case opcode.IsReadResponse():
		return q.readResponse(now, p)
	case opcode.IsAtomicAck():
		return q.atomicResponse(now, p)
	}
	return VerdictMalformed
}

// expire does what the QP waited for.
func (q *QP) expire(now time.Duration) {
	if q.state == StateReady && q.timerAt <= now {
		q.timedOut()
	}
}

// produce fills the endpoint's frame with the next packet, if there is one.
func (q *QP) produce(now time.Duration) bool {
	q.rate.recover(now, q.endpoint.config.LineRate, &q.endpoint.config.DCQCN)
	if q.cnpOwed {
		q.buildCNP()
		return true
	}
	// READ responses and requests take turns; short responses go first.
	if !q.readsTurn && q.dataWaits() && q.send(now) {
		q.readsTurn = true
		return true
	}
	q.readsTurn = false
	return q.respond(now) || q.send(now)
}

// nextDeadline is when there is something to do again, asked when there is nothing now.
func (q *QP) nextDeadline(now time.Duration) time.Duration {
	if q.state == StateError {
		return Never
	}
	at := min(q.timerAt, q.heldUntil)
	if q.next < q.tail && q.rnrUntil > now {
		at = min(at, q.rnrUntil)
	}
	if (q.next < q.tail || q.dataWaits()) && q.rate.nextAt > now {
		at = min(at, q.rate.nextAt)
	}
	return at
}

// fail moves the QP to the error state, flushes its work and says so, unless err is nil.
func (q *QP) fail(err error) {
	if q.state == StateError {
		return
	}
	q.state = StateError
	q.flushRequests()
	q.flushReceives()
	q.timerAt, q.heldUntil = Never, Never
	if err != nil {
		q.endpoint.events.push(Event{Kind: EventFailed, QP: q, Err: err})
	}
	q.wake()
}
