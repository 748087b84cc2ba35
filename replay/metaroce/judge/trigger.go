package judge

import (
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

// waited tells whether an ACK was sent for no reason that demands one at once. Coalesced ones count unless the last
// packet may have been one too many and a reason at once.
func waited(t mr0.ACKTrigger) bool {
	return t == mr0.ACKTriggerCoalesced || t == mr0.ACKTriggerTimer || t == mr0.ACKTriggerWindowUpdate
}

// between judges an ACK by the one before, whose number precedes its own: no other was sent between the two.
func (c *Connection) between(d *lane, p *path, before *answer, i *interval, e *event) {
	a := &e.m.ACKH
	id := int(p.id)
	i.fresh = int32(p.ack.count() - before.count())
	i.arrived = metaroce.Distance(before.header.PacketCount, a.PacketCount)
	i.marked = metaroce.Distance(before.header.CECount, a.CECount)
	quiet := waited(a.Trigger)
	proof := before.number64

	if p.overWindow == 0 {
		c.weigh(d, clueWindow, id, e, false, 0)
	} else {
		c.weigh(d, clueWindow, id, e, true, 0, proof, p.overWindow, e.number, d.setup.number, c.lanes[1-d.index].setup.number)
	}
	c.weigh(d, clueSACKWindow, id, e, p.overSACK != 0, 0, proof, p.overSACK, e.number)
	p.overWindow, p.overSACK = 0, 0

	c.weigh(d, clueAckEvery, id, e, int(i.fresh) > 4*c.parameters.ACKEvery, 0, proof, e.number)
	if a.Trigger != mr0.ACKTriggerWindowUpdate {
		c.weigh(d, clueAckDelay, id, e, time.Duration(a.ACKDelay) > 4*c.parameters.ACKTimer, 0, e.number)
	}
	if i.asked {
		c.weigh(d, clueAckRequested, id, e, quiet, 0, i.proof, e.number)
	}
	if i.ended {
		c.weigh(d, clueAckMessageEnd, id, e, quiet, 0, i.proof, e.number)
	}
	if i.newGap && (i.behindGap > 1 || a.Trigger != mr0.ACKTriggerCoalesced) {
		c.weigh(d, clueAckGap, id, e, quiet, 0, proof, e.number)
	}
	if d.naks == 0 && i.arrived > i.fresh {
		c.weigh(d, clueAckDuplicate, id, e, quiet, 0, proof, e.number)
	}
	if changed := i.marked > 0 && i.marked < i.arrived; changed && d.naks == 0 {
		atLast := a.Trigger == mr0.ACKTriggerCoalesced && (i.marked == 1 || i.marked == i.arrived-1)
		c.weigh(d, clueAckCEChange, id, e, quiet && !atLast, 0, proof, e.number)
	}
	if i.seenMarked > 0 {
		c.weigh(d, clueCECount, id, e, i.marked < i.seenMarked, 0, i.proof, e.number)
	}
	c.trigger(d, p, before, i, e)
	p.ack.steady = i.arrived > 0 && (i.marked == 0 || i.marked == i.arrived)
	p.ack.marks = i.marked > 0
}

// trigger judges what an ACK says it was sent for.
func (c *Connection) trigger(d *lane, p *path, before *answer, i *interval, e *event) {
	a := &e.m.ACKH
	var wrong bool
	switch a.Trigger {
	case mr0.ACKTriggerGap:
		wrong = !p.ack.any
	case mr0.ACKTriggerDuplicate:
		wrong = i.arrived <= i.fresh
	case mr0.ACKTriggerCEChange:
		steady := i.arrived > 0 && (i.marked == 0 || i.marked == i.arrived)
		wrong = steady && before.steady && before.marks == (i.marked > 0)
	case mr0.ACKTriggerRequested:
		wrong = i.seen == i.fresh && !i.askedEver && i.arrived == i.fresh && i.fresh > 0
	default:
		return
	}
	c.weigh(d, clueAckTrigger, int(p.id), e, wrong, 0, before.number64, e.number)
}
