package compliance

import (
	"fmt"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

func hintScenarios() []Scenario {
	const clause = "mr0, Receiver: rate_hint; Max-min fair: link_rate × hint_target shared out [P]"
	return []Scenario{
		{
			ID: "receiver/hint", Title: "grants a sender no more than the rate of its link", Clause: clause,
			Checks: "PROBEs of one connection; each rate_hint must be above 0 and at most link_rate, or 0xFFFFFFFF where link_rate is 0",
			run:    receiverHint,
		},
		{
			ID: "receiver/hint-fair", Title: "shares its rate out among active senders", Clause: clause,
			Checks: "two connections that send PROBEs in turn without a pause, each more than link_rate where it is low enough; then the rate_hints of both together must come to at most link_rate, and neither be less than half of the other",
			run:    receiverHintFair,
		},
	}
}

func receiverHint(x *attempt) {
	c := x.connect()
	for range 10 {
		a := c.mustACK(c.probe(0, flags(mr0.FlagAR)), "AR")
		expectHint(x, c, a)
	}
}

func expectHint(x *attempt, c *conn, a *packet) {
	hint, rate := a.ACKH.RateHint, c.peer.LinkRate
	switch {
	case hint == 0:
		x.fail("a share of the link's rate", "rate_hint 0, by which nothing may ever be sent", a)
	case rate == 0 && hint != mr0.ACKHRateHintNoLimit:
		x.fail("no limit, for link_rate is 0", fmt.Sprintf("%d Mbit/s", hint), a)
	case rate != 0 && hint > rate:
		x.fail(fmt.Sprintf("at most link_rate, %d Mbit/s", rate), fmt.Sprintf("%d Mbit/s", hint), a)
	}
}

func receiverHintFair(x *attempt) {
	a, b := x.connect(), x.connect()
	rate := a.peer.LinkRate
	if rate == 0 {
		expectHint(x, a, a.mustACK(a.probe(0, flags(mr0.FlagAR)), "AR"))
		return // nothing is shared out
	}
	const rounds = 800
	began := x.lab.now()
	for i := range rounds {
		how := flags(0)
		if i%16 == 0 {
			how = flags(mr0.FlagAR)
		}
		a.probe(0, how)
		b.probe(0, how)
	}
	const bits = 8 * (20 + 8 + mr0.CHLength + mr0.DHLength + 4)
	if each := rounds * bits / (x.lab.now() - began).Seconds() / 1e6; each < 1.5*float64(rate) {
		return // one that uses less than its share may be granted the rest; and the suite cannot use all
	}
	x.calm(x.timeout()/20, x.timeout())
	// The best of the later ACKs counts: whoever is kept from running for a while is not active, which is no fault.
	var worst [2]*packet
	var last [2]*packet
	for _, p := range x.packets {
		for i, c := range []*conn{a, b} {
			if p.sent || !c.isACK(p, 0) || p.ACKH.PacketCount < rounds/4 {
				continue
			}
			last[i] = p
			if o := last[1-i]; o != nil {
				low, high := min(p.ACKH.RateHint, o.ACKH.RateHint), max(p.ACKH.RateHint, o.ACKH.RateHint)
				if uint64(low)+uint64(high) <= uint64(rate) && low >= high/2 {
					return
				}
				worst = [2]*packet{p, o}
			}
		}
	}
	if worst[0] == nil {
		x.undetermined("too few ACKs came to tell")
	}
	x.fail(fmt.Sprintf("shares of about half of %d Mbit/s", rate), fmt.Sprintf("%d and %d Mbit/s", worst[0].ACKH.RateHint, worst[1].ACKH.RateHint), worst[0])
}
