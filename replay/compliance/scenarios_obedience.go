package compliance

import (
	"fmt"
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

func obedienceScenarios() []Scenario {
	ends := func(name string, reason mr0.NAKReason) Scenario {
		return Scenario{
			ID: "sender/nak-" + name, Title: "ends a connection whose request is refused: " + reason.String(), Clause: "mr0, NAK: end the connection in error [P]",
			Checks: "NAK " + reason.String() + " of the target's note; DISCONNECT with reason error must come",
			run:    func(x *attempt) { nakEnds(x, reason) },
		}
	}
	return []Scenario{
		{
			ID: "sender/nak-not-ready", Title: "waits as long as it is told, and sends that packet again", Clause: "mr0, NAK: sender waits retry_after, sends that packet again [P]",
			Checks: "NAK receiver_not_ready of the target's note with retry_after 80 ms; the packet must come again with its psn and RTX, 80 ms later or more",
			run:    senderNotReady,
		},
		ends("access", mr0.NAKReasonRemoteAccessError),
		ends("invalid", mr0.NAKReasonInvalidRequest),
		ends("operation", mr0.NAKReasonRemoteOperationError),
		{
			ID: "sender/nak-stream", Title: "ends a stream that is unknown, and no more", Clause: "mr0, NAK: stream_unknown ends the stream [P]",
			Checks: "NAK stream_unknown of the target's note; the note must not come again, nor DISCONNECT, and a PROBE be acknowledged",
			run:    senderNAKStream,
		},
		{
			ID: "sender/nak-stranger", Title: "ignores a NAK of what it has not sent", Clause: "mr0, NAKH.refused_psn",
			Checks: "NAK remote_access_error of a psn that the target has not used; a PROBE must be acknowledged as before, and no DISCONNECT come",
			run:    senderNAKStranger,
		},
		{
			ID: "sender/disconnect-repeated", Title: "sends DISCONNECT again until it is answered", Clause: clauseConnecting,
			Checks: "a connection that the target ends; its DISCONNECT must come at least three times while it is not answered, and not after it was",
			run:    senderDisconnectRepeated,
		},
	}
}

// noted makes the target send a note that is not acknowledged, and returns its packet.
func (x *attempt) noted() (*conn, *packet) {
	c := x.connect()
	c.acknowledge = nil
	c.deliver(c.sends(controlPath, hello())...)
	is := func(p *packet) bool { return p.is(mr0.TypeSend) && p.CH.DestConnID == c.local.SourceConnID }
	p := x.await(x.packets[0], 4*x.timeout(), is)
	if p == nil {
		x.undetermined("the target sends no notes: it does not answer as softmetaroce serve does")
	}
	return c, p
}

// nak refuses a packet of the target.
func (c *conn) nak(p *packet, reason mr0.NAKReason, retry time.Duration) *packet {
	o := &outgoing{Packet: mr0.Packet{CH: c.header(mr0.TypeNAK, int(p.CH.PathID))}, sender: c.paths[int(p.CH.PathID)%len(c.paths)].sender}
	o.NAKH = mr0.NAKH{Reason: reason, StreamID: p.DH.StreamID, MSN: p.DH.MSN, RefusedPSN: p.CH.PSN, RetryAfter: uint32(retry)}
	return c.x.send(o)
}

func senderNotReady(x *attempt) {
	const wait = 80 * time.Millisecond
	c, p := x.noted()
	n := c.nak(p, mr0.NAKReasonReceiverNotReady, wait)
	c.nak(p, mr0.NAKReasonReceiverNotReady, wait) // the first may be lost
	known := c.settled()                          // a timer may have sent it again before
	c.nak(p, mr0.NAKReasonReceiverNotReady, wait)
	again := x.copyOf(known, p, wait+4*x.timeout())
	switch {
	case again == nil:
		x.fail(fmt.Sprintf("psn %d of path %d again", p.CH.PSN, p.CH.PathID), "it did not come", p, n)
	case again.CH.Flags&mr0.FlagRTX == 0:
		x.fail("RTX", "flags ["+again.CH.Flags.String()+"]", n, again)
	}
	if waited := time.Duration(again.DH.Timestamp - p.DH.Timestamp); waited < wait {
		x.fail("it again after "+wait.String()+" or later", "after "+waited.Round(time.Microsecond).String(), p, n, again)
	}
	again.note("comes again after the time that it was told to wait")
	c.acknowledge = c.acknowledgeNow
	c.ack(int(p.CH.PathID))
}

func nakEnds(x *attempt, reason mr0.NAKReason) {
	c, p := x.noted()
	var d *packet
	var n *packet
	for range 4 { // each may be lost
		n = c.nak(p, reason, 0)
		if d = x.await(p, x.timeout(), c.isDisconnect); d != nil {
			break
		}
	}
	switch {
	case d == nil:
		x.fail("DISCONNECT, reason error", "none", p, n)
	case d.DISC.Reason != mr0.DisconnectReasonError:
		x.fail("reason error", "reason "+d.DISC.Reason.String(), n, d)
	}
	x.send(c.farewell())
}

func senderNAKStream(x *attempt) {
	c, p := x.noted()
	n := c.nak(p, mr0.NAKReasonStreamUnknown, 0)
	c.nak(p, mr0.NAKReasonStreamUnknown, 0)
	known := c.settled()
	if d := x.await(n, x.timeout()/3, c.isDisconnect); d != nil {
		x.fail("an end of the stream alone", d.text(), n, d)
	}
	c.control()
	if q := x.find(n, func(q *packet) bool {
		return c.isDisconnect(q) || q.is(mr0.TypeSend) && q.index > known.index && q.at > known.at+x.rtt
	}); q != nil {
		x.fail("an end of the stream alone", q.text(), n, q)
	}
}

func senderNAKStranger(x *attempt) {
	c, p := x.noted()
	stranger := *p
	stranger.CH.PSN += 5000
	n := c.nak(&stranger, mr0.NAKReasonRemoteAccessError, 0)
	c.nak(&stranger, mr0.NAKReasonRemoteAccessError, 0)
	c.acknowledge = c.acknowledgeNow
	if q := c.quietly(n, c.isDisconnect); q != nil {
		x.fail("the connection lives on", q.text(), n, q)
	}
	c.control()
}

func senderDisconnectRepeated(x *attempt) {
	c, p := x.noted()
	c.nak(p, mr0.NAKReasonRemoteAccessError, 0)
	var seen []*packet
	last := c.nak(p, mr0.NAKReasonRemoteAccessError, 0)
	for len(seen) < 3 {
		d := x.await(p, 4*x.timeout(), func(q *packet) bool { return c.isDisconnect(q) && (len(seen) == 0 || q.index > last.index) })
		if d == nil {
			x.fail("DISCONNECT again, until it is answered", plural(len(seen), "DISCONNECT"), last)
		}
		seen = append(seen, d)
		last = d
	}
	pause := seen[2].at - seen[1].at
	x.send(c.farewell())
	answer := x.send(c.farewell())
	answer.note("answers it")
	known := x.witness().settled()
	if d := x.await(known, min(3*pause, 2*x.timeout()), func(q *packet) bool { return c.isDisconnect(q) && q.at > known.at+x.rtt }); d != nil {
		x.fail("no DISCONNECT once it was answered", d.text(), answer, d)
	}
}
