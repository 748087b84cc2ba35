package compliance

import (
	"fmt"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

func windowScenarios() []Scenario {
	return []Scenario{
		{
			ID: "receiver/window-edge", Title: "takes psn cumulative_psn + 256", Clause: clauseReceiver,
			Checks: "a PROBE 256 behind the next psn; the ACK must have the last bit of the SACK",
			run:    receiverWindowEdge,
		},
		{
			ID: "receiver/window-beyond", Title: "drops what lies beyond the window", Clause: "mr0, Receiver: a psn beyond cumulative_psn + 256 is dropped [P]",
			Checks: "PROBEs 257, 300 and 100,000 behind the next psn; no ACK may cover or count them",
			run:    receiverWindowBeyond,
		},
		{
			ID: "receiver/window-moves", Title: "moves the window with cumulative_psn", Clause: clauseReceiver,
			Checks: "a PROBE 257 behind the next psn, which is dropped; then the next, and the first again, which must be taken now",
			run:    receiverWindowMoves,
		},
		{
			ID: "receiver/duplicate", Title: "acknowledges a duplicate at once", Clause: "mr0, Receiver: a duplicate is acknowledged at once (trigger 3) [P]",
			Checks: "a PROBE three times, with a new timestamp and without AR; each copy must get an ACK whose trigger is duplicate, and which says no more than before",
			run:    func(x *attempt) { duplicate(x, 0) },
		},
		{
			ID: "receiver/duplicate-sacked", Title: "knows a duplicate behind a gap", Clause: "mr0, Receiver: a duplicate is acknowledged at once (trigger 3) [P]",
			Checks: "a PROBE behind a gap three times; each copy must get an ACK whose trigger is duplicate, and which says no more than before",
			run:    func(x *attempt) { duplicate(x, 5) },
		},
		{
			ID: "receiver/duplicate-old", Title: "knows a duplicate from far before the window", Clause: "mr0, Receiver: a duplicate is acknowledged at once (trigger 3) [P]",
			Checks: "the first PROBE again after 300 others; the ACK must have trigger duplicate, and cumulative_psn must stay",
			run:    receiverDuplicateOld,
		},
	}
}

func receiverWindowEdge(x *attempt) {
	c := x.connect()
	first := c.paths[0].next
	a := c.mustACK(c.probe(0, flags(mr0.FlagAR), psn(first+mr0.SACKBits)), "AR")
	expectState(x, a, first, 0, mr0.SACKBits)
}

func receiverWindowBeyond(x *attempt) {
	c := x.connect()
	first := c.paths[0].next
	c.mustACK(c.probe(0, flags(mr0.FlagAR)), "AR")
	var sent *packet
	for _, n := range []uint32{257, 300, 100_000} {
		for range 2 {
			p := c.probe(0, flags(mr0.FlagAR), psn(first+1+n), undone)
			p.note("beyond the window: must be dropped")
			if sent == nil {
				sent = p
			}
		}
	}
	if a := c.quiet(sent, func(q *packet) bool { return c.isACK(q, 0) }); a != nil {
		x.fail("no ACK: what lies beyond cumulative_psn + 256 is dropped", a.text(), a)
	}
	a := c.mustACK(c.probe(0, flags(mr0.FlagAR)), "AR")
	expectState(x, a, first, 2)
	if a.ACKH.PacketCount != 2 {
		x.fail("packet_count 2", number(a.ACKH.PacketCount), a)
	}
}

func receiverWindowMoves(x *attempt) {
	c := x.connect()
	first := c.paths[0].next
	beyond := c.probe(0, psn(first+mr0.SACKBits+1), undone)
	beyond.note("one beyond the window")
	expectState(x, c.mustACK(c.probe(0, flags(mr0.FlagAR)), "AR"), first, 1)
	a := c.mustACK(c.probe(0, flags(mr0.FlagAR), psn(first+mr0.SACKBits+1)), "AR, within the window now")
	expectState(x, a, first, 1, mr0.SACKBits+1)
	if a.ACKH.Trigger == mr0.ACKTriggerDuplicate {
		x.fail("an ACK of a packet that has arrived for the first time", "trigger duplicate", a)
	}
}

// duplicate sends a PROBE with psn first + n again and again.
func duplicate(x *attempt, n uint32) {
	c := x.connect()
	first := c.paths[0].next
	before := c.mustACK(c.probe(0, flags(mr0.FlagAR), psn(first+n)), "AR")
	for range 3 {
		p := c.probe(0, flags(mr0.FlagRTX), psn(first+n))
		a := c.mustACK(p, "a duplicate")
		if a.ACKH.Trigger != mr0.ACKTriggerDuplicate {
			x.fail("trigger duplicate", "trigger "+a.ACKH.Trigger.String(), a)
		}
		if a.ACKH.CumulativePSN != before.ACKH.CumulativePSN || a.ACKH.SACK != before.ACKH.SACK {
			x.fail(fmt.Sprintf("cumulative_psn %d%s, as before", before.ACKH.CumulativePSN, sackText(&before.ACKH)), fmt.Sprintf("%d%s", a.ACKH.CumulativePSN, sackText(&a.ACKH)), a)
		}
		a.note("says no more than before")
	}
}

func receiverDuplicateOld(x *attempt) {
	c := x.connect()
	first := c.paths[0].next
	for range 38 {
		var some []*outgoing
		for range 8 {
			some = append(some, &outgoing{Packet: mr0.Packet{CH: mr0.CH{Type: mr0.TypeProbe, Flags: mr0.FlagFirst | mr0.FlagLast}}})
		}
		c.deliver(some...)
	}
	x.calm(2*x.lab.config.Timeout/100, x.timeout()/4)
	p := c.probe(0, flags(mr0.FlagRTX), psn(first))
	a := c.mustACK(p, "a duplicate")
	if a.ACKH.Trigger != mr0.ACKTriggerDuplicate {
		x.fail("trigger duplicate", "trigger "+a.ACKH.Trigger.String(), a)
	}
	expectState(x, a, first, 38*8)
}
