package compliance

import (
	"fmt"
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

func rateScenarios() []Scenario {
	const aimd = "mr0, Sender: ECN-based AIMD [M]"
	return []Scenario{
		{
			ID: "sender/window", Title: "has no more in flight than the receiver can track", Clause: "mr0, CONN.max_window; Connecting: the smaller of both [P]",
			Checks: "connections with max_window 8 and 1, and a READ that is not acknowledged; no path may have more psns in flight",
			run:    senderWindow,
		},
		{
			ID: "sender/ce-cut", Title: "halves a path's window for a CE mark", Clause: aimd,
			Checks: "a READ that fills the windows, at the end of a long round trip; all of a path is acknowledged with ce_count one higher; then at most half as many may be in flight there",
			run:    senderCECut,
		},
		{
			ID: "sender/additive-increase", Title: "adds at most one packet to a path's window in a round trip", Clause: aimd,
			Checks: "a READ that fills the windows, at the end of a long round trip; all of a path is acknowledged without a mark, time and again until two round trips have passed; each time as many as before may be in flight there, or one more",
			run:    senderAdditiveIncrease,
		},
		{
			ID: "sender/loss-cut", Title: "halves a path's window for a loss", Clause: "mr0, Sender: a loss found by a gap cuts the same way [P]",
			Checks: "a READ that fills the windows, at the end of a long round trip; all of a path but one packet is acknowledged; then at most half as many may be in flight there",
			run:    senderLossCut,
		},
		{
			ID: "sender/hint-obeyed", Title: "sends no faster than it is granted", Clause: "mr0, Sender: rate_hint bounds the sender [M]; (1 + hint_tolerance) × hint [P]",
			Checks: "a READ of 500 packets behind ACKs that grant 5 Mbit/s, as do all of its own; by the timestamps of the last 400 the rate may be at most 5.5 Mbit/s",
			run:    senderHintObeyed,
		},
	}
}

func senderWindow(x *attempt) {
	for _, window := range []int{8, 1} {
		c := x.hold(600, func(c *mr0.CONN) { c.MaxWindow = uint16(window) })
		for path := range c.inbound {
			held := 0
			for _, p := range c.outstanding(path, c.inbound[path].held) {
				if p.is(mr0.TypeReadResp) {
					if held++; held > window {
						x.fail(fmt.Sprintf("at most %s in flight on path %d", plural(window, "packet"), path), "one more", p)
					}
				}
			}
		}
		x.send(c.farewell())
	}
}

// What fills all windows, at the end of a round trip that looks so long, in turn.
const (
	windowfuls = 3600 // packets
	near, afar = 5 * time.Millisecond, 55 * time.Millisecond
)

// full holds a READ that fills all windows, and returns a path with how many are in flight there.
func full(x *attempt) (c *conn, path int, held []*packet) {
	c = x.holdAfar(windowfuls, [2]time.Duration{near, afar})
	path, held = c.busiest()
	for psn := range c.inbound[path].have {
		if mr0.PSNBefore(c.inbound[path].cumulative, psn) {
			x.again("a packet of the target was lost")
		}
	}
	if len(held) < 6 {
		x.undetermined("the target has only %s in flight on a path", plural(len(held), "packet"))
	}
	return c, path, held
}

// burst counts the new packets of a path that come behind an ACK. What the ACK says is missing comes again, too.
func (c *conn) burst(ack *packet, path int, missing ...*packet) (n int, last *packet) {
	c.settle()
	x := c.x
	if q := x.find(x.packets[0], func(p *packet) bool {
		return !p.malformed && int(p.CH.PathID) == path && !mr0.PSNBefore(p.CH.PSN, c.inbound[path].held) && (len(missing) == 0 || p.CH.PSN != missing[0].CH.PSN) && (p.is(mr0.TypeProbe) || p.is(mr0.TypeReadResp) && !fresh(p))
	}); q != nil {
		x.again("a timer of the target ran out before its packets were counted") // one of both hosts is busy
	}
	before := c.inbound[path].held
	for _, p := range x.packets {
		if p.sent || !fresh(p) || int(p.CH.PathID) != path || mr0.PSNBefore(p.CH.PSN, before) {
			continue
		}
		if p.CH.PSN != before {
			x.again("a packet of the target was lost, or has been overtaken")
		}
		if p.index > ack.index {
			n++
			last = p
		}
		before++
	}
	return n, last
}

func senderCECut(x *attempt) {
	c, path, held := full(x)
	ack := c.ack(path, func(a *mr0.Packet) { a.ACKH.CECount++ })
	ack.note(fmt.Sprintf("acknowledges all %d in flight on path %d, one of them marked CE", len(held), path))
	n, last := c.burst(ack, path)
	if most := (len(held) + 1) / 2; n > most {
		x.fail(fmt.Sprintf("at most %s in flight, of %d before", plural(most, "packet"), len(held)), number(n), ack, last)
	}
}

func senderAdditiveIncrease(x *attempt) {
	c, path, held := full(x)
	window := len(held)
	// The ACKs of one round trip add once, so they go on for a little longer than it.
	left := windowfuls - len(x.responses(c.msn[1]-1))
	for end := x.lab.now() + 2*afar; x.lab.now() < end && left > 2*window; left -= window {
		ack := c.ack(path)
		ack.note(fmt.Sprintf("acknowledges all %d in flight on path %d", window, path))
		n, last := c.burst(ack, path)
		if n < window || n > window+1 {
			x.fail(fmt.Sprintf("%d packets in flight, as before, or one more", window), number(n), ack, last)
		}
		window = n
	}
}

func senderLossCut(x *attempt) {
	c, path, held := full(x)
	ack := c.leaveOut(path, held[len(held)-1], held[1])
	ack.note(fmt.Sprintf("acknowledges all but one of %d in flight on path %d", len(held), path))
	n, last := c.burst(ack, path, held[1])
	if most := (len(held) + 1) / 2; n > most {
		x.fail(fmt.Sprintf("at most %s in flight, of %d before", plural(most, "packet"), len(held)), number(n), ack, last)
	}
}

func senderHintObeyed(x *attempt) {
	const hint, skipped, count = 5, 100, 500
	c := x.withMemory()
	c.acknowledge = func(p *packet) {
		c.ack(int(p.CH.PathID), func(a *mr0.Packet) { a.ACKH.RateHint = hint })
	}
	c.read(2, 0, 16*len(c.inbound)*c.mtu)
	c.settled() // it knows the hint before it begins
	msn := c.next(1)
	c.deliver(c.readRequest(controlPath, 1, msn, 0, count*c.mtu))
	c.answer(1, msn, count*c.mtu)
	var measured []*packet
	for _, p := range x.responses(msn) {
		if fresh(p) {
			measured = append(measured, p)
		}
	}
	if len(measured) < count/2 {
		x.undetermined("most packets were sent again")
	}
	measured = measured[skipped:]
	first, last := measured[0], measured[0]
	bits := 0.0
	const headers = 20 + 8 // IPv4 and UDP: what is the least that a packet has
	for _, p := range measured {
		bits += float64(8 * (len(p.data) + headers))
		if mr0.PSNBefore(p.DH.Timestamp, first.DH.Timestamp) {
			first = p
		}
		if mr0.PSNBefore(last.DH.Timestamp, p.DH.Timestamp) {
			last = p
		}
	}
	span := time.Duration(last.DH.Timestamp - first.DH.Timestamp)
	bits -= float64(8 * (len(last.data) + headers))
	if rate := bits / span.Seconds() / 1e6; rate > hint*1.1*1.02 {
		x.fail("at most 5.5 Mbit/s", fmt.Sprintf("%.1f Mbit/s over %v", rate, span.Round(time.Microsecond)), first, last)
	}
}
