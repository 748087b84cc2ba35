package compliance

import (
	"fmt"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

func failureScenarios() []Scenario {
	const clause = "mr0, Sender: after path_failed_after timeouts in a row [P]"
	return []Scenario{
		{
			ID: "sender/path-failed", Title: "moves the bytes of a failed path to others", Clause: clause,
			Checks: "a READ of which all is acknowledged but what comes by path 0; its bytes must come by other paths with RTX, and the READ be answered",
			run:    senderPathFailed,
		},
		{
			ID: "sender/path-probed", Title: "probes a failed path from a new source port", Clause: clause,
			Checks: "the same; PROBEs of path 0 must come, from another source port than before, and again while none is acknowledged",
			run:    senderPathProbed,
		},
		{
			ID: "sender/path-restored", Title: "uses a failed path again once a PROBE is acknowledged", Clause: clause,
			Checks: "the same; then the PROBE is acknowledged, and the next READ must come by path 0, too",
			run:    senderPathRestored,
		},
	}
}

// failPath makes the target give up its path 0, on which nothing is acknowledged.
func failPath(x *attempt) (c *conn, held []*packet) {
	c = x.withMemory()
	if len(c.inbound) < 2 {
		x.undetermined("the target has one path")
	}
	stop := c.inbound[0].cumulative
	c.acknowledge = func(p *packet) {
		if p.CH.PathID != 0 {
			c.ack(int(p.CH.PathID))
		}
	}
	msn := c.next(1)
	length := 64 * c.mtu
	c.deliver(c.readRequest(controlPath, 1, msn, 0, length))
	c.answer(1, msn, length)
	held = c.outstanding(0, stop)
	if len(held) == 0 {
		x.undetermined("the target does not use its path 0")
	}
	return c, held
}

// moved waits for the bytes of a packet by another path.
func (x *attempt) moved(p *packet) *packet {
	return x.await(p, 8*x.timeout(), func(q *packet) bool {
		return q.is(p.CH.Type) && q.CH.PathID != p.CH.PathID && q.DH.StreamID == p.DH.StreamID && q.DH.MSN == p.DH.MSN && q.DH.MessageOffset == p.DH.MessageOffset
	})
}

func senderPathFailed(x *attempt) {
	_, held := failPath(x)
	for _, p := range held {
		if !p.is(mr0.TypeReadResp) {
			continue
		}
		q := x.moved(p)
		switch {
		case q == nil:
			x.fail(fmt.Sprintf("bytes %d+%d by another path", p.DH.MessageOffset, p.CH.PayloadLength), "they did not come", p)
		case q.CH.Flags&mr0.FlagRTX == 0:
			x.fail("RTX on bytes that were first sent on another path", "flags ["+q.CH.Flags.String()+"]", p, q)
		}
		q.note("bytes of path 0, by another path")
	}
}

// probesOf waits for PROBEs of path 0 from another port than before, and returns the second.
func probesOf(x *attempt, held []*packet) *packet {
	before := held[0].source.Port()
	last := held[0]
	for i := range 2 {
		p := x.await(last, 8*x.timeout(), func(q *packet) bool { return q.is(mr0.TypeProbe) && q.CH.PathID == 0 })
		if p == nil {
			x.fail(fmt.Sprintf("a %d. PROBE of path 0", i+1), "none", held[0])
		}
		if p.source.Port() == before {
			x.fail(fmt.Sprintf("PROBEs from another source port than %d", before), "PROBE from the same", held[0], p)
		}
		p.note("probes path 0 from a new source port")
		last = p
	}
	return last
}

func senderPathProbed(x *attempt) {
	_, held := failPath(x)
	probesOf(x, held)
}

func senderPathRestored(x *attempt) {
	c, held := failPath(x)
	for _, p := range held {
		if p.is(mr0.TypeReadResp) && x.moved(p) == nil {
			return // sender/path-failed judges that
		}
	}
	p := x.await(held[0], 8*x.timeout(), func(q *packet) bool { return q.is(mr0.TypeProbe) && q.CH.PathID == 0 })
	if p == nil {
		return // sender/path-probed judges that
	}
	c.acknowledge = c.acknowledgeNow
	mark := c.ack(0)
	for range 8 {
		c.read(2, 0, 128*c.mtu)
		if q := x.find(mark, func(q *packet) bool { return q.is(mr0.TypeReadResp) && q.CH.PathID == 0 && q.CH.Flags&mr0.FlagRTX == 0 }); q != nil {
			q.note("path 0 is used again")
			return
		}
	}
	x.fail("packets on path 0, whose PROBE was acknowledged", "none", mark)
}
