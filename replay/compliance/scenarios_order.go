package compliance

import (
	"fmt"
	"slices"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

func orderScenarios() []Scenario {
	const clause = "mr0, Receiver: completions are handed up in msn order within a stream, streams independent of each other [P]"
	return []Scenario{
		{
			ID: "receiver/stream-order", Title: "hands up messages of a stream in their order", Clause: clause,
			Checks: "the SEND of msn 1 on stream 0 before that of msn 0; no note may come before msn 0 has landed, and then the answers to both in order",
			run:    receiverStreamOrder,
		},
		{
			ID: "receiver/streams-apart", Title: "lets no stream wait for another", Clause: clause,
			Checks: "a WRITE of which a packet is missing on stream 1; a READ on stream 2 must be answered",
			run:    receiverStreamsApart,
		},
		{
			ID: "receiver/receive-index", Title: "puts a SEND into the buffer that it names", Clause: "mr0, SETH.receive_index; Packets [M]",
			Checks: "two SENDs on stream 0 over two paths, the packets of the second first; both must be understood",
			run:    receiverReceiveIndex,
		},
		{
			ID: "receiver/send-once", Title: "hands up a SEND once", Clause: "mr0, Receiver: a SEND or ATOMIC takes effect once [P]",
			Checks: "a SEND three times with the same psn; one note may come, and the next SEND must find the next buffer",
			run:    receiverSendOnce,
		},
		{
			ID: "receiver/receive-index-reused", Title: "uses a receive buffer once", Clause: "mr0, SETH.receive_index",
			Checks: "a SEND with a receive_index that a SEND before has used, under the next msn; it must not be acknowledged, and NAK must say invalid_request if it comes",
			run:    receiverIndexReused,
		},
	}
}

// odd is a note that is not understood, and is answered so.
func odd() []byte { return []byte("no JSON at all, and longer than nothing") }

func receiverStreamOrder(x *attempt) {
	c := x.connect()
	first, second := c.sends(0, odd()), c.sends(0, hello())
	c.deliver(second...)
	mark := x.packets[len(x.packets)-1]
	if p := c.quiet(mark, func(q *packet) bool { return q.is(mr0.TypeSend) }); p != nil {
		x.fail("no note before the message with msn 0 has landed", p.text(), p)
	}
	c.deliver(first...)
	n := c.note()
	if n == nil || n.Error == "" {
		if n == nil {
			x.undetermined("the target sends no notes: it does not answer as softmetaroce serve does")
		}
		x.fail("an answer to msn 0 first", "an answer to msn 1", x.packets[len(x.packets)-1])
	}
	c.ready()
}

func receiverStreamsApart(x *attempt) {
	c := x.withMemory()
	packets := c.writes(0, 1, c.next(1), 0, pattern(4*c.mtu, 1))
	c.deliver(packets[0], packets[2], packets[3])
	c.read(2, 0, 64)
}

func receiverReceiveIndex(x *attempt) {
	c := x.connect()
	// A hello, filled up with blanks to three packets.
	text := append(hello(), make([]byte, 2*c.mtu)...)
	for i := len(hello()); i < len(text); i++ {
		text[i] = ' '
	}
	first, second := c.sends(0, odd()), c.sends(1, text)
	for _, o := range slices.Backward(second) {
		c.deliver(o)
	}
	c.deliver(first...)
	n := c.note()
	switch {
	case n == nil:
		x.undetermined("the target sends no notes: it does not answer as softmetaroce serve does")
	case n.Error == "":
		x.fail("the first SEND in the first buffer", "the note of the second", x.packets[len(x.packets)-1])
	}
	m := c.note()
	if m == nil || m.Kind != "ready" || m.Error != "" {
		x.fail("the second SEND in the second buffer", "it was not understood", x.packets[len(x.packets)-1])
	}
}

func receiverSendOnce(x *attempt) {
	c := x.connect()
	once := c.sends(0, odd())[0]
	c.deliver(once)
	if n := c.note(); n == nil {
		x.undetermined("the target sends no notes: it does not answer as softmetaroce serve does")
	}
	for range 2 {
		p := c.send(once, psn(c.paths[0].next-1), flags(mr0.FlagRTX|mr0.FlagAR))
		c.mustACK(p, "a duplicate")
	}
	mark := x.packets[len(x.packets)-1]
	if p := c.quiet(mark, func(q *packet) bool { return q.is(mr0.TypeSend) && q.DH.MSN >= c.notes }); p != nil {
		x.fail("nothing handed up twice", "another note: "+p.text(), p)
	}
	c.deliver(c.sends(0, hello())...)
	n := c.note()
	if n == nil || n.Kind != "ready" || n.Error != "" {
		x.fail("the next SEND in the next buffer", "it was not understood", x.packets[len(x.packets)-1])
	}
}

func receiverIndexReused(x *attempt) {
	c := x.connect()
	c.deliver(c.sends(0, odd())...)
	if n := c.note(); n == nil {
		x.undetermined("the target sends no notes: it does not answer as softmetaroce serve does")
	}
	c.index--
	again := c.sends(0, hello())[0]
	var p *packet
	for range 3 {
		p = c.send(again, flags(mr0.FlagAR), psn(c.paths[0].next))
		c.paths[0].next = p.CH.PSN // of the same psn again
	}
	if a := c.quietly(p, func(q *packet) bool { return c.isACK(q, 0) && covers(&q.ACKH, p.CH.PSN) }); a != nil {
		x.fail("no ACK of a SEND into a buffer that was used", a.text(), a)
	}
	if n := x.find(x.packets[0], func(q *packet) bool { return q.is(mr0.TypeNAK) }); n != nil && n.NAKH.Reason != mr0.NAKReasonInvalidRequest {
		x.fail("NAK invalid_request, if any", fmt.Sprintf("NAK %s", n.NAKH.Reason), n)
	}
}

// quietly is quiet for a connection that may have ended.
func (c *conn) quietly(p *packet, unwanted func(q *packet) bool) *packet {
	c.x.witness().control()
	return c.x.find(p, unwanted)
}
