package compliance

import (
	"bytes"
	"fmt"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

const clauseNAK = "mr0, Receiver: NAK [P]"

func refusalScenarios() []Scenario {
	access := func(id, title, what string, change func(o *outgoing)) Scenario {
		return Scenario{
			ID: "receiver/" + id, Title: title, Clause: clauseNAK,
			Checks: "a WRITE " + what + "; NAK must say remote_access_error of this stream, msn, path and psn, and memory must stay as it was",
			run:    func(x *attempt) { accessRefused(x, what, change) },
		}
	}
	return []Scenario{
		{
			ID: "receiver/nak-not-ready", Title: "refuses a SEND whose buffer is not posted", Clause: clauseNAK,
			Checks: "a SEND with receive_index 40, which is not posted; NAK must say receiver_not_ready with a time to wait, and no ACK may cover it",
			run:    receiverNotReady,
		},
		{
			ID: "receiver/nak-not-ready-later", Title: "takes a refused SEND once its buffer is posted", Clause: clauseNAK,
			Checks: "a SEND to the third buffer where two are posted, which is refused; then those before it, after which the refused packet must be taken",
			run:    receiverReadyLater,
		},
		access("nak-key", "refuses a key that it has not given", "with another rkey", func(o *outgoing) { o.WETH.RKey ^= 0xffff }),
		access("nak-beyond", "refuses an address beyond the memory", "that begins in the memory and ends beyond it", func(o *outgoing) { o.WETH.VirtualAddress = memoryBytes - 4 }),
		access("nak-wrapped", "refuses an address that wraps around", "to 2^64 - 8", func(o *outgoing) { o.WETH.VirtualAddress = 1<<64 - 8 }),
		{
			ID: "receiver/nak-read", Title: "refuses to read what it has not granted", Clause: clauseNAK,
			Checks: "a READ with another rkey; NAK must say remote_access_error, and no READ_RESP may come",
			run: func(x *attempt) {
				c := x.withMemory()
				o := c.readRequest(0, 1, c.next(1), 0, 64)
				o.RRETH.RKey ^= 0xffff
				n := refusedBy(c, o, mr0.NAKReasonRemoteAccessError)
				if p := x.find(x.packets[0], func(q *packet) bool { return q.is(mr0.TypeReadResp) }); p != nil {
					x.fail("no READ_RESP to a READ that is refused", p.text(), n, p)
				}
			},
		},
		{
			ID: "receiver/nak-atomic", Title: "refuses an atomic that is not aligned", Clause: "mr0, AETH.virtual_address: 8-byte aligned; " + clauseNAK,
			Checks: "FETCH_AND_ADD at address 4; NAK must say invalid_request, and no ATOMIC_RESP may come",
			run: func(x *attempt) {
				c := x.withMemory()
				refusedBy(c, c.atomic(0, c.next(1), 4, mr0.AtomicOperationFetchAndAdd, 1, 0), mr0.NAKReasonInvalidRequest)
			},
		},
		{
			ID: "receiver/nak-operation", Title: "refuses an atomic that is unknown", Clause: "mr0, AETH.operation; " + clauseNAK,
			Checks: "an atomic with operation 2; NAK must say invalid_request, and no ATOMIC_RESP may come",
			run: func(x *attempt) {
				c := x.withMemory()
				refusedBy(c, c.atomic(0, c.next(1), 512, 2, 1, 0), mr0.NAKReasonInvalidRequest)
			},
		},
		{
			ID: "receiver/nak-cut", Title: "refuses a message that is not cut as it must be", Clause: "mr0, Packets: cut into packets of at most MTU bytes, all but the last full [P]",
			Checks: "the first packet of a WRITE, half full; NAK must say invalid_request",
			run: func(x *attempt) {
				c := x.withMemory()
				o := c.writes(0, 1, c.next(1), 0, pattern(3*c.mtu, 1))[0]
				o.payload = o.payload[:c.mtu/2]
				refusedBy(c, o, mr0.NAKReasonInvalidRequest)
			},
		},
		{
			ID: "receiver/nak-contradiction", Title: "refuses a packet that contradicts its message", Clause: "mr0, DH; " + clauseNAK,
			Checks: "two packets of one msn that differ in message_length; NAK must say invalid_request of the second",
			run: func(x *attempt) {
				c := x.withMemory()
				msn := c.next(1)
				c.deliver(c.writes(0, 1, msn, 0, pattern(3*c.mtu, 1))[0])
				refusedBy(c, c.writes(0, 1, msn, 0, pattern(4*c.mtu, 1))[1], mr0.NAKReasonInvalidRequest)
			},
		},
		{
			ID: "receiver/nak-stream", Title: "refuses a stream beyond stream_count, and lives on", Clause: "mr0, NAK stream_unknown ends the stream [P]",
			Checks: "a WRITE on the first stream beyond stream_count; NAK must say stream_unknown, and a READ on stream 1 be answered as before",
			run:    receiverUnknownStream,
		},
	}
}

// refusedBy sends a packet until it is refused, and looks at the NAK.
func refusedBy(c *conn, o *outgoing, reason mr0.NAKReason) *packet {
	x := c.x
	var p, n *packet
	for i := range 6 {
		if i == 0 {
			p = c.send(o, flags(mr0.FlagAR))
		} else {
			p = c.send(o, flags(mr0.FlagAR|mr0.FlagRTX), psn(p.CH.PSN))
		}
		n = x.await(p, x.timeout()/3, func(q *packet) bool { return q.is(mr0.TypeNAK) && q.CH.DestConnID == c.local.SourceConnID })
		if n != nil {
			break
		}
	}
	if n == nil {
		if a := x.find(x.packets[0], func(q *packet) bool { return c.isACK(q, int(p.CH.PathID)) && covers(&q.ACKH, p.CH.PSN) }); a != nil {
			x.fail("NAK "+reason.String(), a.text(), p, a)
		}
		x.fail("NAK "+reason.String(), "no answer to a packet that was sent six times", p)
	}
	switch {
	case n.NAKH.Reason != reason:
		x.fail("NAK "+reason.String(), "NAK "+n.NAKH.Reason.String(), p, n)
	case n.CH.PathID != p.CH.PathID || n.NAKH.RefusedPSN != p.CH.PSN:
		x.fail(fmt.Sprintf("psn %d of path %d", p.CH.PSN, p.CH.PathID), fmt.Sprintf("psn %d of path %d", n.NAKH.RefusedPSN, n.CH.PathID), p, n)
	case n.NAKH.StreamID != p.DH.StreamID || n.NAKH.MSN != p.DH.MSN:
		x.fail(fmt.Sprintf("stream %d, msn %d", p.DH.StreamID, p.DH.MSN), fmt.Sprintf("stream %d, msn %d", n.NAKH.StreamID, n.NAKH.MSN), p, n)
	case reason != mr0.NAKReasonReceiverNotReady && n.NAKH.RetryAfter != 0:
		x.fail("retry_after 0", fmt.Sprintf("%d ns", n.NAKH.RetryAfter), n)
	}
	n.note("refuses it as it must")
	if a := c.quietly(p, func(q *packet) bool { return c.isACK(q, int(p.CH.PathID)) && covers(&q.ACKH, p.CH.PSN) }); a != nil {
		x.fail("no ACK of a packet that is refused", a.text(), p, a)
	}
	return n
}

func accessRefused(x *attempt, what string, change func(o *outgoing)) {
	c := x.withMemory()
	end := pattern(64, 50)
	c.deliver(c.writes(1, 2, c.next(2), memoryBytes-64, end)...)
	c.deliver(c.writes(1, 2, c.next(2), 0, end)...)
	o := c.writes(0, 1, c.next(1), 0, pattern(16, 120))[0]
	change(o)
	refusedBy(c, o, mr0.NAKReasonRemoteAccessError)
	for _, address := range []uint64{0, memoryBytes - 64} {
		// The target may have ended the connection, as a sender of such a WRITE has to.
		if got := c.tryRead(address, 64); got != nil && !bytes.Equal(got, end) {
			x.fail("memory as it was behind a WRITE "+what, "it has changed", x.packets[len(x.packets)-1])
		}
	}
}

// tryRead reads memory; nil when it is not answered.
func (c *conn) tryRead(address uint64, length int) []byte {
	msn := c.next(2)
	c.send(c.readRequest(1, 2, msn, address, length), flags(mr0.FlagAR))
	var m *message
	if !c.x.until(c.x.timeout()/2, func() bool { m = c.received[messageKey{mr0.TypeReadResp, 2, msn}]; return m.complete() || c.ended }) || !m.complete() {
		return nil
	}
	return m.data
}

func receiverNotReady(x *attempt) {
	c := x.connect()
	c.index = 40
	n := refusedBy(c, c.sends(0, odd())[0], mr0.NAKReasonReceiverNotReady)
	if n.NAKH.RetryAfter == 0 {
		x.fail("a time to wait in retry_after", "0", n)
	}
}

func receiverReadyLater(x *attempt) {
	c := x.connect()
	msn, path := uint32(2), 1
	early := c.cut(mr0.TypeSend, path, 0, msn, hello())[0]
	early.SETH.ReceiveIndex = 2
	refusedBy(c, early, mr0.NAKReasonReceiverNotReady)
	n := c.paths[path].next - 1
	for range 2 {
		c.deliver(c.sends(0, odd())...)
		if c.note() == nil {
			x.undetermined("the target sends no notes: it does not answer as softmetaroce serve does")
		}
	}
	c.deliver1(early, n)
	c.ready()
}

func receiverUnknownStream(x *attempt) {
	c := x.withMemory()
	stream := c.peer.StreamCount
	if stream == 65535 {
		x.undetermined("the target takes all streams that there are")
	}
	refusedBy(c, c.writes(0, stream, 0, 0, pattern(16, 1))[0], mr0.NAKReasonStreamUnknown)
	c.read(1, 0, 64)
}
