package compliance

import (
	"fmt"
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

func recoveryScenarios() []Scenario {
	const gap = "mr0, Sender: a gap in the SACK bitvector is loss [M]; same psn, RTX, new timestamp [P]"
	return []Scenario{
		{
			ID: "sender/gap-resent", Title: "sends again at once what is missing", Clause: gap,
			Checks: "packets of a READ_RESP of which the ACK leaves two of a path out; both must come again on that path with their psns, although the timer would bring the first alone",
			run:    senderGapResent,
		},
		{
			ID: "sender/gap-rtx", Title: "marks what it sends again, with a new timestamp", Clause: gap,
			Checks: "the same; both copies must have RTX, a later timestamp and the same bytes",
			run:    senderGapRTX,
		},
		{
			ID: "sender/gap-once", Title: "sends what is missing again once", Clause: "mr0, Sender: not declared lost again before an ACK echoes a timestamp later than the retransmission's [P]",
			Checks: "the same gap in three ACKs that echo an early timestamp; no more than one copy may come at once, and one by the timer",
			run:    senderGapOnce,
		},
		{
			ID: "sender/gap-again", Title: "sends again what was lost again", Clause: "mr0, Sender: declared lost again when an ACK echoes a timestamp later than the retransmission's [P]",
			Checks: "the same gap in an ACK that echoes the timestamp of a copy's successor; another copy of both must come",
			run:    senderGapAgain,
		},
		{
			ID: "sender/acknowledged-forever", Title: "never sends again what was acknowledged", Clause: "mr0, Sender: acknowledged once is acknowledged for ever",
			Checks: "ACKs that cover some packets of a READ_RESP, and then none for as long as several timeouts; no psn that they covered may come again",
			run:    senderAcknowledgedForever,
		},
		{
			ID: "sender/timeout", Title: "sends the oldest packet again when nothing is acknowledged", Clause: "mr0, Sender: retransmission timer per path [P]",
			Checks: "a READ that is not acknowledged; the oldest packet of a path must come again with its psn, RTX and a new timestamp, not before rto_min",
			run:    senderTimeout,
		},
		{
			ID: "sender/timeout-doubles", Title: "doubles its timeout", Clause: "mr0, Sender: within rto_min..rto_max, doubling [P]",
			Checks: "a READ that is not acknowledged; the time to the second copy must be at least one and a half that to the first, or rto_max",
			run:    senderTimeoutDoubles,
		},
		{
			ID: "sender/ack-late", Title: "knows a late ACK", Clause: "mr0, Receiver: ACKs' own numbers rise by 1 a path, so a late ACK is known [P]",
			Checks: "an ACK, then one with a lower number and a rate_hint of 1 Mbit/s; a READ must go on at the rate of the first",
			run:    senderACKLate,
		},
		{
			ID: "sender/ack-unsent", Title: "ignores an ACK of what it has not sent", Clause: "mr0, ACKH.cumulative_psn",
			Checks: "an ACK whose cumulative_psn lies 100 beyond the last psn; the packets of that path must still come again by the timer",
			run:    senderACKUnsent,
		},
	}
}

// hold makes the target send the answer to a READ, of which nothing is acknowledged, and waits until no more comes.
func (x *attempt) hold(packets int, change ...func(c *mr0.CONN)) *conn {
	c := x.withMemory(change...)
	c.hold(packets)
	return c
}

// holdAfar does so at the end of a round trip that is long in the eyes of the target and varies: so its timers leave a
// busy host the time to look at what comes before they run out.
func (x *attempt) holdAfar(packets int, distance [2]time.Duration) *conn {
	c := x.withMemory()
	c.distance = distance
	c.read(2, 0, 12*len(c.inbound)*c.mtu)
	x.await(x.packets[len(x.packets)-1], max(distance[0], distance[1]), func(*packet) bool { return false })
	c.hold(packets)
	return c
}

func (c *conn) hold(packets int) {
	for path := range c.inbound {
		if c.inbound[path].count > 0 {
			c.ack(path)
		}
	}
	for _, l := range c.inbound {
		l.held = l.cumulative
	}
	c.acknowledge = nil
	c.deliver(c.readRequest(controlPath, 1, c.next(1), 0, packets*c.mtu))
	c.settle()
}

// outstanding are the packets of a path that no ACK of the suite has covered, in order of psn.
func (c *conn) outstanding(path int, from uint32) []*packet {
	l := c.inbound[path]
	var out []*packet
	for n := from; l.have[n] != nil; n++ {
		out = append(out, l.have[n])
	}
	return out
}

// busiest is the path of the target with the most packets that are held.
func (c *conn) busiest() (path int, packets []*packet) {
	for i := range c.inbound {
		var held []*packet
		for _, p := range c.outstanding(i, c.inbound[i].held) {
			if p.is(mr0.TypeReadResp) {
				held = append(held, p)
			}
		}
		if len(held) > len(packets) {
			path, packets = i, held
		}
	}
	return path, packets
}

// leaveOut acknowledges a path but for some psns; the echo is the timestamp of a packet.
func (c *conn) leaveOut(path int, echo *packet, missing ...*packet) *packet {
	return c.ack(path, func(a *mr0.Packet) {
		a.ACKH.EchoTimestamp = echo.DH.Timestamp
		end := a.ACKH.CumulativePSN
		a.ACKH.CumulativePSN = missing[0].CH.PSN
		a.ACKH.SACK = mr0.SACK{}
		for n := missing[0].CH.PSN + 1; n != end; n++ {
			a.ACKH.SACK.Set(int(n - missing[0].CH.PSN - 1))
		}
		for _, m := range missing[1:] {
			i := int(m.CH.PSN - missing[0].CH.PSN - 1)
			a.ACKH.SACK[i>>3] &^= 1 << (i & 7)
		}
	})
}

// gapped holds packets and leaves two of a path out: one and its next but one.
func gapped(x *attempt) (c *conn, path int, held, missing []*packet, ack *packet) {
	c = x.hold(64)
	path, held = c.busiest()
	if len(held) < 5 {
		x.undetermined("the target has only %s in flight on a path", plural(len(held), "packet"))
	}
	missing = []*packet{held[0], held[2]}
	ack = c.leaveOut(path, held[len(held)-1], missing...)
	ack.note(fmt.Sprintf("leaves out psns %d and %d of path %d", missing[0].CH.PSN, missing[1].CH.PSN, path))
	return c, path, held, missing, ack
}

// copyOf waits for another packet with path and psn.
func (x *attempt) copyOf(behind, p *packet, within time.Duration) *packet {
	return x.await(behind, within, func(q *packet) bool { return sameSequence(q, p) })
}

func sameSequence(q, p *packet) bool {
	return !q.malformed && q.CH.Type.Sequenced() && q.CH.DestConnID == p.CH.DestConnID && q.CH.PathID == p.CH.PathID && q.CH.PSN == p.CH.PSN
}

func senderGapResent(x *attempt) {
	_, path, _, missing, ack := gapped(x)
	for _, m := range missing {
		again := x.copyOf(ack, m, 2*x.timeout())
		if again == nil {
			x.fail(fmt.Sprintf("psn %d of path %d again", m.CH.PSN, path), "it did not come", m, ack)
		}
		again.note("comes again")
	}
}

func senderGapRTX(x *attempt) {
	_, _, _, missing, ack := gapped(x)
	for _, m := range missing {
		again := x.copyOf(ack, m, 2*x.timeout())
		switch {
		case again == nil:
			return // sender/gap-resent judges that
		case again.CH.Flags&mr0.FlagRTX == 0:
			x.fail("RTX", "flags ["+again.CH.Flags.String()+"]", m, again)
		case !mr0.PSNBefore(m.DH.Timestamp, again.DH.Timestamp):
			x.fail(fmt.Sprintf("a timestamp later than %d", m.DH.Timestamp), number(again.DH.Timestamp), m, again)
		case again.DH.MessageOffset != m.DH.MessageOffset || again.DH.MSN != m.DH.MSN || string(again.payload()) != string(m.payload()):
			x.fail("the same bytes", again.text(), m, again)
		}
	}
}

func senderGapOnce(x *attempt) {
	c, path, held, missing, ack := gapped(x)
	second := missing[1] // the timer brings the first
	if x.copyOf(ack, second, 2*x.timeout()) == nil {
		return // sender/gap-resent judges that
	}
	mark := x.packets[len(x.packets)-1]
	for range 3 {
		c.leaveOut(path, held[len(held)-1], missing...)
	}
	x.calm(x.lull(), x.timeout()/8)
	copies := 0
	var last *packet
	for p := x.find(mark, func(q *packet) bool { return sameSequence(q, second) }); p != nil; p = x.find(p, func(q *packet) bool { return sameSequence(q, second) }) {
		copies++
		last = p
	}
	if copies > 0 {
		x.fail(fmt.Sprintf("no further copy of psn %d: no ACK echoes a timestamp later than that of the copy", second.CH.PSN), plural(copies, "copy"), last)
	}
}

func senderGapAgain(x *attempt) {
	c, path, _, missing, ack := gapped(x)
	var copies []*packet
	for _, m := range missing {
		again := x.copyOf(ack, m, 2*x.timeout())
		if again == nil {
			return // sender/gap-resent judges that
		}
		copies = append(copies, again)
	}
	later := *copies[1]
	later.DH.Timestamp += 1000 // as of a packet that left behind it
	if d := copies[0].DH.Timestamp; mr0.PSNBefore(later.DH.Timestamp, d) {
		later.DH.Timestamp = d + 1000
	}
	x.calm(time.Millisecond, 2*time.Millisecond)
	mark := c.leaveOut(path, &later, missing...)
	if x.copyOf(mark, missing[1], 2*x.timeout()) == nil {
		x.fail(fmt.Sprintf("psn %d of path %d once more", missing[1].CH.PSN, path), "it did not come", copies[1], mark)
	}
}

func senderAcknowledgedForever(x *attempt) {
	c := x.hold(64)
	path, held := c.busiest()
	if len(held) < 4 {
		x.undetermined("the target has only %s in flight on a path", plural(len(held), "packet"))
	}
	missing := held[1]
	mark := c.leaveOut(path, held[len(held)-1], missing)
	known := c.settled()
	x.calm(x.timeout()/2, x.timeout()/2)
	for _, p := range held {
		again := x.find(known, func(q *packet) bool { return sameSequence(q, p) && q.at > known.at+x.rtt })
		if p != missing && again != nil {
			x.fail(fmt.Sprintf("psn %d of path %d never again", p.CH.PSN, path), again.text(), mark, again)
		}
	}
}

func senderTimeout(x *attempt) {
	c := x.hold(32)
	path, held := c.busiest()
	if len(held) == 0 {
		x.undetermined("the target sends nothing")
	}
	again := x.copyOf(held[0], held[0], 6*x.timeout())
	switch {
	case again == nil:
		x.fail(fmt.Sprintf("psn %d of path %d again", held[0].CH.PSN, path), "it did not come", held[0])
	case again.CH.Flags&mr0.FlagRTX == 0:
		x.fail("RTX", "flags ["+again.CH.Flags.String()+"]", held[0], again)
	case !mr0.PSNBefore(held[0].DH.Timestamp, again.DH.Timestamp):
		x.fail(fmt.Sprintf("a timestamp later than %d", held[0].DH.Timestamp), number(again.DH.Timestamp), held[0], again)
	}
	const least = time.Millisecond
	if waited := time.Duration(again.DH.Timestamp - held[0].DH.Timestamp); waited < least {
		x.fail("a copy after rto_min, 1ms, or later", "after "+waited.String(), held[0], again)
	}
}

func senderTimeoutDoubles(x *attempt) {
	// The first timeout is long, about half of rto_max, so that it matters little by how much a timer is late.
	c := x.holdAfar(32, [2]time.Duration{0, 24 * time.Millisecond})
	path, held := c.busiest()
	if len(held) == 0 {
		x.undetermined("the target sends nothing")
	}
	copies := []*packet{held[0]}
	for len(copies) < 3 {
		again := x.copyOf(copies[len(copies)-1], held[0], 6*x.timeout())
		if again == nil {
			x.fail(fmt.Sprintf("psn %d of path %d a %d. time", held[0].CH.PSN, path, len(copies)+1), "it did not come", copies...)
		}
		copies = append(copies, again)
	}
	first := time.Duration(copies[1].DH.Timestamp - copies[0].DH.Timestamp)
	second := time.Duration(copies[2].DH.Timestamp - copies[1].DH.Timestamp)
	const longest = 100 * time.Millisecond // rto_max
	if second < first*3/2 && second < longest*9/10 {
		x.fail("a timeout of twice "+first.Round(time.Microsecond).String()+", or of rto_max", second.Round(time.Microsecond).String(), copies...)
	}
}

func senderACKLate(x *attempt) {
	c := x.hold(1600)
	mark := x.packets[len(x.packets)-1]
	for path, l := range c.inbound {
		if l.count == 0 {
			continue
		}
		l.number += 10
		c.ack(path)
		late := c.ack(path, func(a *mr0.Packet) {
			a.CH.PSN -= 5
			a.ACKH.RateHint = 1
		})
		late.note("late: its number is lower than that of the one before")
	}
	c.settle() // nothing is acknowledged from here on, so that the last hint stays; the windows are open
	var all []*packet
	for p := x.find(mark, fresh); p != nil; p = x.find(p, fresh) {
		all = append(all, p)
	}
	if len(all) < 20 {
		if x.find(x.packets[0], func(p *packet) bool { return p.index < mark.index && p.is(mr0.TypeReadResp) && !fresh(p) }) != nil {
			x.again("a timer of the target ran out before the ACKs were sent") // one of both hosts is busy
		}
		x.fail("packets at the rate of the first ACK", plural(len(all), "packet")+" within "+x.lull().String()+", as if at 1 Mbit/s", mark)
	}
}

// fresh tells whether a packet is data that is sent for the first time.
func fresh(p *packet) bool { return p.is(mr0.TypeReadResp) && p.CH.Flags&mr0.FlagRTX == 0 }

func senderACKUnsent(x *attempt) {
	c := x.holdAfar(64, [2]time.Duration{0, 24 * time.Millisecond})
	path, held := c.busiest()
	if len(held) == 0 {
		x.undetermined("the target sends nothing")
	}
	mark := c.ack(path, func(a *mr0.Packet) { a.ACKH.CumulativePSN += 100 })
	mark.note("acknowledges what was never sent")
	// A copy that left before the ACK was taken says nothing.
	if x.copyOf(c.settled(), held[0], 6*x.timeout()) == nil {
		if x.find(mark, func(q *packet) bool { return sameSequence(q, held[0]) }) != nil {
			x.again("a timer of the target ran out before the ACK was taken") // one of both hosts is busy
		}
		x.fail(fmt.Sprintf("psn %d of path %d again: it was not acknowledged by any ACK that can be", held[0].CH.PSN, path), "it did not come", mark)
	}
}
