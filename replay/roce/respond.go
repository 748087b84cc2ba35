package roce

import (
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

// maxResponses is how many answers to duplicates may wait.
const maxResponses = 1024

type responseKind uint8

const (
	responseACK responseKind = iota
	responseNAK
	responseRead
	responseAtomic
)

// response is an answer that waits to be sent. They leave in order (IBTA volume 1, section 9.7.5.1).
type response struct {
	kind     responseKind
	first    bool // READ: the next packet is the first
	counted  bool // READ: in answering
	syndrome infiniband.Syndrome
	rkey     uint32
	sequence uint64 // of the next packet
	last     uint64
	msn      uint64
	address  uint64 // READ: of the next byte
	length   int    // READ: bytes left
	original uint64
}

// dataWaits tells whether the next response is data of a READ, which takes turns with requests.
func (q *QP) dataWaits() bool {
	return q.responses.len() > 0 && q.responses.at(0).kind == responseRead
}

// respondWithRead queues the answer to a READ.
func (q *QP) respondWithRead(sequence, span uint64, p *dissector.Packet, counted bool) {
	q.responses.push(response{
		kind: responseRead, first: true, counted: counted, sequence: sequence, last: sequence + span - 1, msn: q.done,
		rkey: p.RETH.RemoteKey, address: p.RETH.VirtualAddress, length: int(p.RETH.DMALength),
	})
}

// nak queues a NAK for the expected packet.
func (q *QP) nak(code infiniband.NAKCode) {
	q.dropHeld()
	q.nakSent = true
	q.responses.push(response{
		kind: responseNAK, sequence: q.expected, msn: q.done,
		syndrome: infiniband.Syndrome(uint8(infiniband.SyndromeNAK)<<5 | uint8(code)),
	})
}

// ackWanted notes a request for an ACK. It may wait for more of them: one ACK answers all (section 9.7.5.1).
func (q *QP) ackWanted(now time.Duration, wanted bool) {
	if !wanted {
		return
	}
	q.held++
	if q.held >= q.config.AckCoalescing || q.config.AckDelay == 0 {
		q.ackNow()
		return
	}
	if q.heldUntil == Never {
		q.heldUntil = now + q.config.AckDelay
	}
}

// ackNow queues an ACK for everything that has come, or widens the one that is queued last.
func (q *QP) ackNow() {
	q.dropHeld()
	if last := q.responses.tail(); last != nil && last.kind == responseACK {
		last.sequence, last.msn = q.expected-1, q.done
		return
	}
	q.responses.push(response{kind: responseACK, sequence: q.expected - 1, msn: q.done})
}

// dropHeld forgets requests for an ACK that another answer covers.
func (q *QP) dropHeld() { q.held, q.heldUntil = 0, Never }

// releaseHeld sends the ACK that waited, because the next answer does not cover it.
func (q *QP) releaseHeld() {
	if q.held > 0 {
		q.ackNow()
	}
}

// offerCredits tells a requester that may have run out of credits about new ones (section 9.7.7.2).
func (q *QP) offerCredits() {
	if q.config.Credits && q.told == 0 && q.expected != firstSequence(q.config.ReceivePSN) && !q.nakSent {
		q.ackNow()
		q.wake()
	}
}

// credits is the syndrome of an ACK: how many receive buffers there are, the one in use included, as the code for no
// more than that (table 45 of section 9.7.5.2).
func (q *QP) credits() infiniband.Syndrome {
	if !q.config.Credits {
		return 31
	}
	q.told = q.receives.len()
	code := infiniband.Syndrome(0)
	for next := code; next < 31; next++ {
		if n, _ := next.CreditCount(); n > q.told {
			break
		}
		code = next
	}
	return code
}

// respond fills the frame with the next response, if one may be sent now.
func (q *QP) respond(now time.Duration) bool {
	if q.heldUntil <= now {
		q.ackNow()
	}
	if q.responses.len() == 0 {
		return false
	}
	r := q.responses.at(0)
	if r.kind == responseRead {
		if now < q.rate.nextAt {
			return false
		}
		if q.buildReadResponse(r) {
			return true
		}
		r = q.responses.at(0) // its memory is gone: it has become a NAK
	}
	q.statistics.Responses++
	opcode := infiniband.RCAcknowledge
	if r.kind == responseAtomic {
		opcode = infiniband.RCAtomicAcknowledge
	}
	f := q.endpoint.packet(q, opcode, r.sequence)
	f.AETH = infiniband.AETH{Syndrome: r.syndrome, MSN: wire(r.msn)}
	if r.kind != responseNAK {
		f.AETH.Syndrome = q.credits()
	}
	f.AtomicAckETH = infiniband.AtomicAckETH{OriginalData: r.original}
	q.responses.pop()
	return true
}

// Opcodes of an answer to a READ by place: only, first, middle, last.
var readResponseOpcodes = [4]infiniband.Opcode{
	infiniband.RCReadResponseOnly, infiniband.RCReadResponseFirst, infiniband.RCReadResponseMiddle, infiniband.RCReadResponseLast,
}

// buildReadResponse fills the frame with one packet of an answer (section 9.7.5.1.4). Data are those that memory has
// now. It answers false when they can no longer be read, and makes a NAK of the rest.
func (q *QP) buildReadResponse(r *response) bool {
	n := min(r.length, q.config.MTU)
	var data []byte
	if n > 0 {
		var err error
		if data, err = q.endpoint.config.Memory.Slice(r.rkey, r.address, n, AccessRead); err != nil {
			r.kind = responseNAK
			r.syndrome = infiniband.Syndrome(uint8(infiniband.SyndromeNAK)<<5 | uint8(accessNAK(err)))
			return false
		}
	}
	q.statistics.Responses++
	at := 2
	switch {
	case r.first && r.sequence == r.last:
		at = 0
	case r.first:
		at = 1
	case r.sequence == r.last:
		at = 3
	}
	f := q.endpoint.packet(q, readResponseOpcodes[at], r.sequence)
	q.endpoint.mark()
	f.AETH = infiniband.AETH{Syndrome: q.credits(), MSN: wire(r.msn)}
	f.Payload = data
	if r.sequence == r.last {
		if r.counted {
			q.answering--
		}
		q.responses.pop()
		return true
	}
	r.first = false
	r.sequence++
	r.address += uint64(n)
	r.length -= n
	return true
}
