package compliance

import (
	"fmt"
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

func countScenarios() []Scenario {
	const clause = "mr0, ACKH; Receiver: each ACK carries echo_timestamp, ack_delay, ce_count, packet_count [P]"
	return []Scenario{
		{
			ID: "receiver/ce-count", Title: "counts the packets of a path that arrived marked CE", Clause: clause,
			Checks: "PROBEs of two paths, some marked CE, among them a duplicate; ce_count must be the number of marked ones of that path",
			run:    receiverCECount,
		},
		{
			ID: "receiver/packet-count", Title: "counts the packets of a path, duplicates too", Clause: clause,
			Checks: "PROBEs of two paths in turn, some of them twice; packet_count must be the number that was sent on that path",
			run:    receiverPacketCount,
		},
		{
			ID: "receiver/echo", Title: "echoes the timestamp of the packet that triggered the ACK", Clause: clause,
			Checks: "PROBEs with timestamps across the whole range, 0 and 2^32 - 1 too; each must be echoed as it was",
			run:    receiverEcho,
		},
		{
			ID: "receiver/ack-delay", Title: "tells no longer delay than there was", Clause: clause,
			Checks: "PROBEs and their ACKs; ack_delay must be less than the time from the one to the other",
			run:    receiverACKDelay,
		},
		{
			ID: "receiver/ack-number", Title: "numbers the ACKs of a path by ones", Clause: "mr0, Receiver: ACKs' own numbers rise by 1 a path [P]",
			Checks: "30 PROBEs of two paths in turn; the numbers of the ACKs of a path must be those from the lowest to the highest, each once",
			run:    receiverACKNumber,
		},
	}
}

func receiverCECount(x *attempt) {
	c := x.connect()
	counts := [2]uint32{}
	for i, ce := range []bool{true, true, false, true, false, false, true} {
		path := i % 2
		var how []as
		if ce {
			how = append(how, marked)
			counts[path]++
		}
		a := c.mustACK(c.probe(path, append(how, flags(mr0.FlagAR))...), "AR")
		if a.ACKH.CECount != counts[path] {
			x.fail(fmt.Sprintf("ce_count %d", counts[path]), number(a.ACKH.CECount), a)
		}
	}
	again := c.probe(0, flags(mr0.FlagRTX), marked, psn(c.paths[0].next-1))
	if a := c.mustACK(again, "a duplicate"); a.ACKH.CECount != counts[0]+1 {
		x.fail(fmt.Sprintf("ce_count %d, with the duplicate", counts[0]+1), number(a.ACKH.CECount), a)
	}
}

func receiverPacketCount(x *attempt) {
	c := x.connect()
	for i := range 12 {
		path := i % 2
		a := c.mustACK(c.probe(path, flags(mr0.FlagAR)), "AR")
		if i%3 == 2 {
			a = c.mustACK(c.probe(path, flags(mr0.FlagRTX), psn(c.paths[path].next-1)), "a duplicate")
		}
		if a.ACKH.PacketCount != c.paths[path].count {
			x.fail(fmt.Sprintf("packet_count %d", c.paths[path].count), number(a.ACKH.PacketCount), a)
		}
	}
}

func receiverEcho(x *attempt) {
	c := x.connect()
	for _, stamp := range []uint32{0, 1, 0x7fffffff, 0x80000000, 0xffffffff, x.lab.random.Uint32()} {
		p := c.probe(0, flags(mr0.FlagAR), func(o *outgoing) { o.DH.Timestamp = stamp })
		if a := c.mustACK(p, "AR"); a.ACKH.EchoTimestamp != stamp {
			x.fail(fmt.Sprintf("echo_timestamp %d", stamp), number(a.ACKH.EchoTimestamp), p, a)
		}
	}
}

func receiverACKDelay(x *attempt) {
	c := x.connect()
	for range 8 {
		p := c.probe(0, flags(mr0.FlagAR))
		a := c.mustACK(p, "AR")
		// The clock is read behind the sending of p, which may have been answered by then.
		began := p.at - time.Duration(uint32(p.at)-p.DH.Timestamp)
		if longest := a.at - began; time.Duration(a.ACKH.ACKDelay) > longest {
			x.fail("ack_delay of at most "+longest.String(), time.Duration(a.ACKH.ACKDelay).String(), p, a)
		}
	}
}

func receiverACKNumber(x *attempt) {
	c := x.connect()
	for i := range 30 {
		c.mustACK(c.probe(i%2, flags(mr0.FlagAR)), "AR")
	}
	c.control()
	x.check(violationACKNumber)
	for path := range 2 {
		l := c.paths[path]
		low, high := l.latest.CH.PSN, l.latest.CH.PSN
		for n := range l.numbers {
			if mr0.PSNBefore(n, low) {
				low = n
			}
			if mr0.PSNBefore(high, n) {
				high = n
			}
		}
		if int(high-low)+1 != len(l.numbers) {
			x.fail(fmt.Sprintf("%d numbers for %s", len(l.numbers), plural(len(l.numbers), "ACK")), fmt.Sprintf("numbers from %d to %d", low, high), l.latest)
		}
	}
}
