package compliance

import (
	"fmt"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

const clauseReceiver = "mr0, Receiver [P]"

func sequenceScenarios() []Scenario {
	return []Scenario{
		{
			ID: "receiver/cumulative", Title: "counts on what arrives in order", Clause: clauseReceiver,
			Checks: "20 PROBEs of a path in order; each ACK must have cumulative_psn one higher and no SACK bit",
			run:    receiverCumulative,
		},
		{
			ID: "receiver/gap-filled", Title: "counts on over what has arrived before", Clause: clauseReceiver,
			Checks: "PROBEs 1, 2, 4, 5 and 7, then 0, 3 and 6; cumulative_psn must rise to 3, 6 and 8, and the SACK shift with it",
			run:    receiverGapFilled,
		},
		{
			ID: "receiver/sack-positions", Title: "has a SACK bit for each of 256 positions", Clause: "mr0, ACKH.sack",
			Checks: "256 paths of two connections, on each one PROBE with psn cumulative_psn + 1 + i; each ACK must have bit i alone",
			run:    receiverSACKPositions,
		},
		{
			ID: "receiver/sack-full", Title: "fills the whole SACK from its far end", Clause: "mr0, ACKH.sack",
			Checks: "the 256 psns behind a gap in falling order; after each the bits so far must be set; then the gap, which moves cumulative_psn by 257",
			run:    receiverSACKFull,
		},
		{
			ID: "receiver/psn-wrap", Title: "counts past 2^32", Clause: "mr0, Packets: serial-number arithmetic (RFC 1982) [P]",
			Checks: "a connection whose path 0 begins at 2^32 - 6: PROBEs across the end of the range, in and out of order",
			run:    receiverWrap,
		},
		{
			ID: "receiver/no-reneging", Title: "takes back nothing that it has acknowledged", Clause: "mr0, Receiver: never takes back a SACK bit or lowers cumulative_psn",
			Checks: "120 PROBEs of a path in a random order with repetitions; no ACK may lack what one with a lower number has",
			run:    receiverNoReneging,
		},
		{
			ID: "receiver/paths-apart", Title: "keeps a sequence for each path", Clause: "mr0, Packets [M]",
			Checks: "a gap on path 0 and PROBEs in order on path 1; the ACKs of path 1 must show no gap, those of path 0 it alone",
			run:    receiverPathsApart,
		},
	}
}

// expectState fails when an ACK says something else of its path than what has arrived.
func expectState(x *attempt, a *packet, first uint32, cumulative int, beyond ...int) {
	want := mr0.ACKH{CumulativePSN: first + uint32(cumulative)}
	for _, n := range beyond {
		want.SACK.Set(n - cumulative - 1)
	}
	if a.ACKH.CumulativePSN != want.CumulativePSN || a.ACKH.SACK != want.SACK {
		x.fail(fmt.Sprintf("cumulative_psn %d%s", want.CumulativePSN, sackText(&want)), fmt.Sprintf("%d%s", a.ACKH.CumulativePSN, sackText(&a.ACKH)), a)
	}
}

func receiverCumulative(x *attempt) {
	c := x.connect()
	first := c.paths[0].next
	for i := range 20 {
		a := c.mustACK(c.probe(0, flags(mr0.FlagAR)), "AR")
		expectState(x, a, first, i+1)
	}
}

func receiverGapFilled(x *attempt) {
	c := x.connect()
	first := c.paths[0].next
	probe := func(n int) *packet { return c.mustACK(c.probe(0, flags(mr0.FlagAR), psn(first+uint32(n))), "AR") }
	for _, n := range []int{1, 2, 4, 5} {
		probe(n)
	}
	expectState(x, probe(7), first, 0, 1, 2, 4, 5, 7)
	expectState(x, probe(0), first, 3, 4, 5, 7)
	expectState(x, probe(3), first, 6, 7)
	expectState(x, probe(6), first, 8)
	c.paths[0].next = first + 8
}

func receiverSACKPositions(x *attempt) {
	for round := range 2 {
		c := x.connect(func(c *mr0.CONN) { c.PathCount = 128 })
		for path := range 128 {
			i := round*128 + path
			first := c.paths[path].next
			var a *packet
			for range 6 { // a copy is acknowledged alike
				p := c.probe(path, flags(mr0.FlagAR), psn(first+1+uint32(i)))
				if a = x.await(p, x.timeout()/2, func(a *packet) bool { return c.isACK(a, path) }); a != nil {
					break
				}
			}
			if a == nil {
				x.fail(fmt.Sprintf("an ACK of psn cumulative_psn + 1 + %d", i), "none", x.packets[len(x.packets)-1])
			}
			expectState(x, a, first, 0, i+1)
		}
		x.send(c.farewell())
	}
}

func receiverSACKFull(x *attempt) {
	c := x.connect()
	first := c.paths[0].next
	var beyond []int
	for n := mr0.SACKBits; n >= 1; n-- {
		beyond = append(beyond, n)
		var a *packet
		for range 6 {
			p := c.probe(0, flags(mr0.FlagAR), psn(first+uint32(n)))
			if a = x.await(p, x.timeout()/2, func(a *packet) bool { return c.isACK(a, 0) && covers(&a.ACKH, p.CH.PSN) }); a != nil {
				break
			}
		}
		if a == nil {
			x.fail(fmt.Sprintf("an ACK of psn %d", first+uint32(n)), "none", x.packets[len(x.packets)-1])
		}
		expectState(x, a, first, 0, beyond...)
	}
	a := c.mustACK(c.probe(0, flags(mr0.FlagAR)), "AR")
	expectState(x, a, first, mr0.SACKBits+1)
	c.paths[0].next = first + mr0.SACKBits + 1
}

func receiverWrap(x *attempt) {
	const first = 0xffff_fffa
	c := x.connect(func(c *mr0.CONN) { c.InitialPSN = first })
	for i := range 4 {
		expectState(x, c.mustACK(c.probe(0, flags(mr0.FlagAR)), "AR"), first, i+1)
	}
	probe := func(n int) *packet {
		return c.mustACK(c.probe(0, flags(mr0.FlagAR), psn(uint32((first+uint64(n))&0xffff_ffff))), "AR")
	}
	expectState(x, probe(9), first, 4, 9)
	expectState(x, probe(6), first, 4, 6, 9)
	expectState(x, probe(4), first, 5, 6, 9)
	expectState(x, probe(5), first, 7, 9)
	expectState(x, probe(7), first, 8, 9)
	expectState(x, probe(8), first, 10)
	c.paths[0].next = 4
}

func receiverNoReneging(x *attempt) {
	c := x.connect()
	first := c.paths[0].next
	order := x.lab.random.Perm(100)
	for i, n := range order {
		c.probe(0, psn(first+uint32(n)))
		if i%5 == 4 {
			c.probe(0, psn(first+uint32(order[i-3])))
		}
	}
	c.paths[0].next = first + 100
	c.deliver(&outgoing{Packet: mr0.Packet{CH: mr0.CH{Type: mr0.TypeProbe, Flags: mr0.FlagFirst | mr0.FlagLast}}})
	c.control()
	x.check(violationReneged)
}

func receiverPathsApart(x *attempt) {
	c := x.connect()
	first, other := c.paths[0].next, c.paths[1].next
	gap := c.probe(0, flags(mr0.FlagAR), psn(first+2))
	expectState(x, c.mustACK(gap, "a gap"), first, 0, 2)
	for i := range 4 {
		expectState(x, c.mustACK(c.probe(1, flags(mr0.FlagAR)), "AR"), other, i+1)
	}
	again := c.probe(0, flags(mr0.FlagAR), psn(first+3))
	expectState(x, c.mustACK(again, "AR"), first, 0, 2, 3)
}
