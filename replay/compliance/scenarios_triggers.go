package compliance

import (
	"fmt"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

const clauseAtOnce = "mr0, Receiver: ACK at once [P]"

func triggerScenarios() []Scenario {
	return []Scenario{
		{
			ID: "receiver/ack-requested", Title: "acknowledges at once what asks for it", Clause: clauseAtOnce,
			Checks: "packets from the middle of a WRITE, in order, with AR; each must get an ACK, whose trigger is requested",
			run: func(x *attempt) {
				triggered(x, mr0.ACKTriggerRequested, "AR", func(c *conn, o *outgoing) { c.send(o, flags(mr0.FlagAR)) })
			},
		},
		{
			ID: "receiver/ack-gap", Title: "acknowledges a new gap at once", Clause: clauseAtOnce,
			Checks: "packets from the middle of a WRITE without AR, each leaving a psn out; each must get an ACK, whose trigger is gap",
			run: func(x *attempt) {
				triggered(x, mr0.ACKTriggerGap, "a new gap", func(c *conn, o *outgoing) {
					c.paths[0].next++
					c.send(o)
				})
			},
		},
		{
			ID: "receiver/ack-ce", Title: "acknowledges a change of CE at once", Clause: clauseAtOnce,
			Checks: "packets from the middle of a WRITE without AR, in turn marked CE and not; each must get an ACK, whose trigger is ce_change",
			run: func(x *attempt) {
				on := false
				triggered(x, mr0.ACKTriggerCEChange, "a change of CE", func(c *conn, o *outgoing) {
					if on = !on; on {
						c.send(o, marked)
						return
					}
					c.send(o)
				})
			},
		},
		{
			ID: "receiver/ack-message-end", Title: "acknowledges the end of a message at once", Clause: clauseAtOnce,
			Checks: "WRITEs of one packet without AR; each must get an ACK, whose trigger is message_end",
			run:    receiverMessageEnd,
		},
		{
			ID: "receiver/ack-timer", Title: "acknowledges anything within its timer", Clause: "mr0, Receiver: after ack_timer [P]",
			Checks: "single packets from the middle of a WRITE without AR; each must get an ACK before long, whose trigger is timer",
			run: func(x *attempt) {
				triggered(x, mr0.ACKTriggerTimer, "its timer", func(c *conn, o *outgoing) { c.send(o) })
			},
		},
		{
			ID: "receiver/ack-coalesced", Title: "acknowledges a run of packets without being asked", Clause: "mr0, Receiver: every ack_every packets or after ack_timer [P]",
			Checks: "200 packets from the middle of a WRITE without AR; all must be acknowledged, by ACKs whose trigger is coalesced, timer or window_update",
			run:    receiverCoalesced,
		},
		{
			ID: "receiver/probe", Title: "acknowledges a PROBE at once", Clause: "mr0, types: PROBE; Receiver: end of a message",
			Checks: "PROBEs without AR on each path; each must get an ACK",
			run:    receiverProbe,
		},
	}
}

// triggered sends packets from the middle of a message, and looks at the trigger of what comes.
func triggered(x *attempt, want mr0.ACKTrigger, why string, send func(c *conn, o *outgoing)) {
	c := x.withMemory()
	middle := c.writes(0, 1, c.next(1), 0, pattern(12*c.mtu, 3))[1:7]
	// The first tells the target what comes unmarked; its ACK is waited for, so that none is left to come.
	c.mustACK(c.send(middle[0], flags(mr0.FlagAR)), "AR")
	for _, o := range middle[1:] {
		send(c, o)
		p := x.packets[len(x.packets)-1]
		for i := len(x.packets) - 1; !x.packets[i].sent; i-- {
			p = x.packets[i-1]
		}
		a := c.mustACK(p, why)
		if a.ACKH.Trigger != want && a.ACKH.Trigger != mr0.ACKTriggerWindowUpdate {
			x.fail("trigger "+want.String(), "trigger "+a.ACKH.Trigger.String(), p, a)
		}
		if !covers(&a.ACKH, p.CH.PSN) {
			x.fail(fmt.Sprintf("an ACK of psn %d", p.CH.PSN), a.text(), p, a)
		}
	}
}

func receiverMessageEnd(x *attempt) {
	c := x.withMemory()
	for i := range 4 {
		o := c.writes(0, 1, c.next(1), 0, pattern(20+i, 3))[0]
		p := c.send(o)
		a := c.mustACK(p, "the end of a message")
		if a.ACKH.Trigger != mr0.ACKTriggerMessageEnd && a.ACKH.Trigger != mr0.ACKTriggerWindowUpdate {
			x.fail("trigger message_end", "trigger "+a.ACKH.Trigger.String(), p, a)
		}
	}
}

func receiverCoalesced(x *attempt) {
	c := x.withMemory()
	packets := c.writes(0, 1, c.next(1), 0, pattern(202*c.mtu, 3))[1:201]
	c.mustACK(c.send(packets[0], flags(mr0.FlagAR)), "AR")
	mark := x.packets[len(x.packets)-1]
	var last *packet
	for _, o := range packets[1:] {
		last = c.send(o)
	}
	if !x.until(2*x.timeout(), func() bool { return c.covered(0, last.CH.PSN) }) {
		x.fail(fmt.Sprintf("ACKs up to psn %d", last.CH.PSN), fmt.Sprintf("none beyond psn %d", c.paths[0].end-1), last)
	}
	for a := x.find(mark, func(q *packet) bool { return c.isACK(q, 0) }); a != nil; a = x.find(a, func(q *packet) bool { return c.isACK(q, 0) }) {
		switch a.ACKH.Trigger {
		case mr0.ACKTriggerCoalesced, mr0.ACKTriggerTimer, mr0.ACKTriggerWindowUpdate:
		default:
			if first := mr0.PathInitialPSN(c.local.InitialPSN, 0); a.ACKH.SACK != (mr0.SACK{}) || a.ACKH.PacketCount != a.ACKH.CumulativePSN-first {
				x.again("the network lost or doubled packets of the run") // of which the target has to tell
			}
			x.fail("trigger coalesced, timer or window_update", "trigger "+a.ACKH.Trigger.String(), a)
		}
	}
}

func receiverProbe(x *attempt) {
	c := x.connect()
	for path := range ownPaths {
		p := c.probe(path)
		a := c.mustACK(p, "a PROBE ends its message")
		if !covers(&a.ACKH, p.CH.PSN) {
			x.fail(fmt.Sprintf("an ACK of psn %d", p.CH.PSN), a.text(), a)
		}
	}
}
