package roce

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
)

// responder is the receiving half of a QP (IBTA volume 1, section 9.7.4 and 9.7.5).
type responder struct {
	expected  uint64 // sequence number
	done      uint64 // messages that are complete: the MSN
	nakSent   bool   // for the gap, or the missing buffer, at expected
	receives  queue[receiveBuffer]
	responses queue[response]
	answering int // READs in responses that count for MaxDestReadAtomic
	atomics   queue[atomicResult]
	held      int // requests for an ACK that wait for more
	heldUntil time.Duration
	told      int // credits that the last answer granted
	inbound
	reorder map[uint64][]byte // frames behind a gap, selective repeat
}

// receiveBuffer is a receive work request.
type receiveBuffer struct {
	id     uint64
	buffer []byte
}

// inbound is the SEND or WRITE that is under way inwards.
type inbound struct {
	opcode  infiniband.Opcode // of its first packet; meaningful while under way
	under   bool
	address uint64 // WRITE: of the next byte
	rkey    uint32
	length  int // WRITE: of the message
	got     int // bytes
}

// atomicResult is kept to answer the request again without executing it again (section 9.7.5.1.5).
type atomicResult struct {
	sequence uint64
	original uint64
}

func (r *responder) init(c *QPConfig) {
	r.expected = firstSequence(c.ReceivePSN)
	r.heldUntil = Never
}

// request takes a request packet (section 9.7.4.1): expected, behind a gap, or one that came before.
func (q *QP) request(now time.Duration, p *dissector.Packet) Verdict {
	sequence := near(q.expected, p.BTH.PSN)
	switch {
	case sequence < q.expected:
		q.statistics.Duplicates++
		return q.duplicate(sequence, p)
	case sequence > q.expected:
		if q.config.SelectiveRepeat {
			q.keep(sequence, p)
		}
		q.sequenceNAK()
		return VerdictOutOfOrder
	}
	v := q.execute(now, p)
	if len(q.reorder) > 0 && v == VerdictAccepted {
		q.resume(now)
	}
	return v
}

// sequenceNAK asks for the expected packet, once for each gap (section 9.7.5.2.3).
func (q *QP) sequenceNAK() {
	if q.nakSent {
		return
	}
	q.statistics.SequenceNAKs++
	q.nak(infiniband.NAKPSNSequenceError)
}

// execute takes the packet that is expected.
func (q *QP) execute(now time.Duration, p *dissector.Packet) Verdict {
	opcode := p.BTH.Opcode
	if q.under != (opcode.IsMiddle() || opcode.IsLast()) || q.under && q.opcode.IsSend() != opcode.IsSend() {
		return q.refuse(infiniband.NAKInvalidRequest) // opcode sequence, section 9.7.4.1
	}
	switch {
	case opcode.IsReadRequest():
		return q.executeRead(p)
	case opcode.IsAtomic():
		return q.executeAtomic(p)
	case opcode.IsSend(), opcode.IsWrite():
		return q.executeData(now, p)
	}
	return q.refuse(infiniband.NAKInvalidRequest) // FLUSH and ATOMIC WRITE are not offered
}

// executeData takes a packet of a SEND or WRITE.
func (q *QP) executeData(now time.Duration, p *dissector.Packet) Verdict {
	opcode, data := p.BTH.Opcode, p.Payload()
	whole := opcode.IsFirst() || opcode.IsMiddle()
	switch { // section 9.7.4.1
	case whole && len(data) != q.config.MTU, len(data) > q.config.MTU, opcode.IsLast() && len(data) == 0:
		return q.refuse(infiniband.NAKInvalidRequest)
	}
	// A receive buffer is needed for a SEND, and at the end of a WRITE with immediate (sections 9.7.5.2.8 and 9.4.3).
	needs := opcode.IsSend() && opcode.StartsMessage() || opcode.IsWrite() && opcode.HasImmediate()
	if needs && q.receives.len() == 0 {
		return q.notReadyYet()
	}
	in := q.inbound
	if opcode.StartsMessage() {
		in = inbound{opcode: opcode, under: true}
		if opcode.IsWrite() {
			in.address, in.rkey, in.length = p.RETH.VirtualAddress, p.RETH.RemoteKey, int(p.RETH.DMALength)
			if p.RETH.DMALength > 1<<31 {
				return q.refuse(infiniband.NAKInvalidRequest)
			}
			if in.length > len(data) { // the whole range before the first byte (section 9.7.4.1.5)
				if _, err := q.endpoint.config.Memory.Slice(in.rkey, in.address, in.length, AccessWrite); err != nil {
					return q.refuse(accessNAK(err))
				}
			}
		}
	}
	if code, ok := q.place(&in, data, opcode.EndsMessage()); !ok {
		return q.refuse(code)
	}
	q.inbound = in
	q.took(1)
	if opcode.EndsMessage() {
		q.received(p)
	}
	q.ackWanted(now, p.BTH.AckRequest)
	return VerdictAccepted
}

// place copies payload to where it belongs.
func (q *QP) place(in *inbound, data []byte, last bool) (infiniband.NAKCode, bool) {
	if in.opcode.IsSend() {
		buffer := q.receives.at(0).buffer
		if in.got+len(data) > len(buffer) {
			return infiniband.NAKInvalidRequest, false
		}
		copy(buffer[in.got:], data)
		in.got += len(data)
		return 0, true
	}
	if rest := in.length - in.got; len(data) > rest || last && len(data) != rest || !last && len(data) == rest {
		return infiniband.NAKInvalidRequest, false // against the length of the RETH
	}
	if len(data) > 0 {
		target, err := q.endpoint.config.Memory.Slice(in.rkey, in.address, len(data), AccessWrite)
		if err != nil {
			return accessNAK(err), false
		}
		copy(target, data)
	}
	in.got += len(data)
	in.address += uint64(len(data))
	return 0, true
}

// took moves on behind so many PSNs.
func (q *QP) took(span uint64) {
	q.expected += span
	q.nakSent = false
}

// received ends a SEND or WRITE.
func (q *QP) received(p *dissector.Packet) {
	q.under = false
	q.done++
	opcode := p.BTH.Opcode
	if !opcode.IsSend() && !opcode.HasImmediate() {
		return
	}
	done := Completion{QP: q, ID: q.receives.pop().id, Receive: true, Length: q.got}
	if !opcode.IsSend() {
		done.Operation = OperationWrite
	}
	switch {
	case opcode.HasImmediate():
		done.Operation++
		done.HasImmediate, done.Immediate = true, p.ImmDt.Data
	case p.Has&infiniband.HasIETH != 0:
		done.Operation, done.Invalidated = OperationSendInvalidate, p.IETH.RemoteKey
	}
	q.endpoint.completions.push(done)
}

// executeRead takes a READ request: it takes the PSNs of its whole answer.
func (q *QP) executeRead(p *dissector.Packet) Verdict {
	span := packets(int(p.RETH.DMALength), q.config.MTU)
	if p.RETH.DMALength > 1<<31 || q.answering >= q.config.MaxDestReadAtomic {
		return q.refuse(infiniband.NAKInvalidRequest)
	}
	if code, ok := q.readable(p); !ok {
		return q.refuse(code)
	}
	sequence := q.expected
	q.took(span)
	q.done++
	q.dropHeld()
	q.answering++
	q.respondWithRead(sequence, span, p, true)
	return VerdictAccepted
}

// readable checks the range of a READ.
func (q *QP) readable(p *dissector.Packet) (infiniband.NAKCode, bool) {
	if p.RETH.DMALength == 0 {
		return 0, true
	}
	_, err := q.endpoint.config.Memory.Slice(p.RETH.RemoteKey, p.RETH.VirtualAddress, int(p.RETH.DMALength), AccessRead)
	return accessNAK(err), err == nil
}

// executeAtomic takes a COMPARE SWAP or FETCH ADD (section 9.4.5). Memory has the host's byte order.
func (q *QP) executeAtomic(p *dissector.Packet) Verdict {
	a := &p.AtomicETH
	if a.VirtualAddress&7 != 0 || q.config.MaxDestReadAtomic == 0 {
		return q.refuse(infiniband.NAKInvalidRequest)
	}
	target, err := q.endpoint.config.Memory.Slice(a.RemoteKey, a.VirtualAddress, 8, AccessAtomic)
	if err != nil {
		return q.refuse(accessNAK(err))
	}
	original := binary.NativeEndian.Uint64(target)
	switch {
	case p.BTH.Opcode == infiniband.RCFetchAdd:
		binary.NativeEndian.PutUint64(target, original+a.SwapOrAdd)
	case original == a.Compare:
		binary.NativeEndian.PutUint64(target, a.SwapOrAdd)
	}
	sequence := q.expected
	q.took(1)
	q.done++
	if q.atomics.len() >= q.config.MaxDestReadAtomic {
		q.atomics.pop()
	}
	q.atomics.push(atomicResult{sequence, original})
	q.dropHeld()
	q.responses.push(response{kind: responseAtomic, sequence: sequence, msn: q.done, original: original})
	return VerdictAccepted
}

// accessNAK is the code for an error of Memory.
func accessNAK(err error) infiniband.NAKCode {
	if errors.Is(err, ErrAccess) {
		return infiniband.NAKRemoteAccessError
	}
	return infiniband.NAKRemoteOperationalError
}

// refuse answers the expected packet by a NAK that ends the connection (section 9.9.3).
func (q *QP) refuse(code infiniband.NAKCode) Verdict {
	q.nak(code)
	q.fail(ErrRefused)
	return VerdictRefused
}

// notReadyYet answers a packet for which there is no receive buffer.
func (q *QP) notReadyYet() Verdict {
	q.statistics.RNRNAKs++
	q.dropHeld()
	q.nakSent = true
	q.responses.push(response{
		kind: responseNAK, sequence: q.expected, msn: q.done,
		syndrome: infiniband.Syndrome(uint8(infiniband.SyndromeRNR)<<5 | q.config.MinRNRTimer),
	})
	return VerdictRefused
}

// duplicate answers a request that came before (section 9.7.5.1.2): SEND and WRITE by an ACK for all, a READ by its
// data again from the PSN that is asked, an atomic from memory.
func (q *QP) duplicate(sequence uint64, p *dissector.Packet) Verdict {
	opcode := p.BTH.Opcode
	if q.responses.len() >= maxResponses {
		return VerdictIgnored
	}
	switch {
	case opcode.IsReadRequest():
		span := packets(int(min(p.RETH.DMALength, 1<<31)), q.config.MTU)
		if p.RETH.DMALength > 1<<31 || sequence+span > q.expected {
			return VerdictIgnored
		}
		if _, ok := q.readable(p); !ok {
			return VerdictIgnored
		}
		q.releaseHeld()
		q.respondWithRead(sequence, span, p, false)
	case opcode.IsAtomic():
		for i := range q.atomics.len() {
			if a := q.atomics.at(i); a.sequence == sequence {
				q.releaseHeld()
				q.responses.push(response{kind: responseAtomic, sequence: sequence, msn: q.done, original: a.original})
				return VerdictDuplicate
			}
		}
		return VerdictIgnored
	case p.BTH.AckRequest, opcode.EndsMessage():
		q.releaseHeld()
		q.ackNow()
	}
	return VerdictDuplicate
}

// flushReceives completes the buffers that were not used.
func (q *QP) flushReceives() {
	for q.receives.len() > 0 {
		q.endpoint.completions.push(Completion{QP: q, ID: q.receives.pop().id, Receive: true, Err: ErrFlushed})
	}
	clear(q.reorder)
}
