package compliance

import (
	"bytes"
	"fmt"
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

func answerScenarios() []Scenario {
	return []Scenario{
		{
			ID: "sender/read", Title: "answers a READ by what is there", Clause: "mr0, READ_RESP, RSETH",
			Checks: "a READ of 50 packets, the last not full; each READ_RESP must bear the request's read_id, stream and msn, the whole length, and its own place, and the data must be what was written",
			run:    senderRead,
		},
		{
			ID: "sender/read-empty", Title: "answers a READ of length 0", Clause: "mr0, Packets: a message of length 0 is one packet with FIRST and LAST [P]",
			Checks: "a READ of length 0; one READ_RESP with FIRST and LAST and no payload must come",
			run:    senderReadEmpty,
		},
		{
			ID: "sender/read-once", Title: "answers a READ once", Clause: "mr0, Receiver: a duplicate is acknowledged at once, and takes no effect",
			Checks: "a READ three times with the same psn; no READ_RESP may come again under another psn",
			run:    senderReadOnce,
		},
		{
			ID: "sender/cut", Title: "cuts messages into full packets", Clause: "mr0, Packets: cut into packets of at most MTU bytes, all but the last full [P]",
			Checks: "a READ of 10 packets and a byte; all READ_RESPs but the last must carry MTU bytes, FIRST must be on the first and LAST on the last",
			run:    senderCut,
		},
		{
			ID: "sender/spray", Title: "sprays packets over its paths", Clause: "mr0, Sender: sprays packet by packet over its paths [M]",
			Checks: "a READ of 200 packets; each path that the CONN_REP announced must carry some",
			run:    senderSpray,
		},
		{
			ID: "sender/psn-order", Title: "numbers the packets of a path by ones", Clause: "mr0, Packets: one number for each sequenced packet [P]",
			Checks: "a READ of 400 packets; of each path all psns from its first to its last must come",
			run:    senderPSNOrder,
		},
		{
			ID: "sender/first-unflagged", Title: "sets RTX only on what is sent again", Clause: "mr0, RTX",
			Checks: "a READ of 30 packets, all acknowledged at once; no packet whose psn and bytes are new may have RTX",
			run:    senderFirstUnflagged,
		},
	}
}

// responses are the READ_RESPs of a message of stream 1 that have come.
func (x *attempt) responses(msn uint32) []*packet {
	var out []*packet
	for _, p := range x.packets {
		if !p.sent && p.is(mr0.TypeReadResp) && p.DH.StreamID == 1 && p.DH.MSN == msn {
			out = append(out, p)
		}
	}
	return out
}

func senderRead(x *attempt) {
	c := x.withMemory()
	data := pattern(50*c.mtu-100, 4)
	c.deliver(c.writes(0, 1, c.next(1), 300, data)...)
	msn := c.next(1)
	o := c.readRequest(0, 1, msn, 300, len(data))
	c.deliver(o)
	got := c.answer(1, msn, len(data))
	for _, p := range x.responses(msn) {
		switch {
		case p.RSETH.ReadID != o.RRETH.ReadID:
			x.fail(fmt.Sprintf("read_id %d", o.RRETH.ReadID), number(p.RSETH.ReadID), p)
		case int(p.DH.MessageLength) != len(data):
			x.fail(fmt.Sprintf("message_length %d", len(data)), number(p.DH.MessageLength), p)
		}
	}
	if !bytes.Equal(got, data) {
		x.fail("the data that was written", "other data", x.responses(msn)[0])
	}
}

func senderReadEmpty(x *attempt) {
	c := x.withMemory()
	msn := c.next(1)
	c.deliver(c.readRequest(0, 1, msn, 0, 0))
	c.answer(1, msn, 0)
	p := x.responses(msn)[0]
	if want := mr0.FlagFirst | mr0.FlagLast; p.CH.Flags&want != want || p.CH.PayloadLength != 0 || p.DH.MessageLength != 0 {
		x.fail("FIRST and LAST, and no payload", p.text(), p)
	}
}

func senderReadOnce(x *attempt) {
	c := x.withMemory()
	msn := c.next(1)
	o := c.readRequest(0, 1, msn, 0, 3*c.mtu)
	c.deliver(o)
	c.answer(1, msn, 3*c.mtu)
	for range 2 {
		c.mustACK(c.send(o, psn(c.paths[0].next-1), flags(mr0.FlagRTX|mr0.FlagAR)), "a duplicate")
	}
	c.control()
	x.calm(x.lull(), x.timeout()/2)
	places := map[uint32]*packet{}
	for _, p := range x.responses(msn) {
		before := places[p.DH.MessageOffset]
		if before != nil && (before.CH.PSN != p.CH.PSN || before.CH.PathID != p.CH.PathID) && p.CH.Flags&mr0.FlagRTX == 0 {
			x.fail("one answer to a READ that came three times", "its bytes again, as if they were new", before, p)
		}
		places[p.DH.MessageOffset] = p
	}
}

func senderCut(x *attempt) {
	c := x.withMemory()
	msn := c.next(1)
	length := 10*c.mtu + 1
	c.deliver(c.readRequest(0, 1, msn, 0, length))
	c.answer(1, msn, length)
	for _, p := range x.responses(msn) {
		offset := int(p.DH.MessageOffset)
		want := min(c.mtu, length-offset)
		var flags mr0.Flags
		if offset == 0 {
			flags |= mr0.FlagFirst
		}
		if offset+want == length {
			flags |= mr0.FlagLast
		}
		if got := p.CH.Flags & (mr0.FlagFirst | mr0.FlagLast); int(p.CH.PayloadLength) != want || got != flags || offset%c.mtu != 0 {
			x.fail(fmt.Sprintf("%s of payload, flags [%s]", plural(want, "byte"), flags), fmt.Sprintf("%s at %d, flags [%s]", plural(int(p.CH.PayloadLength), "byte"), offset, got), p)
		}
	}
}

func senderSpray(x *attempt) {
	c := x.withMemory()
	c.read(1, 0, 200*c.mtu)
	for path, l := range c.inbound {
		if len(l.order) == 0 {
			x.fail("packets on each of "+plural(len(c.inbound), "path"), fmt.Sprintf("none on path %d", path), x.packets[len(x.packets)-1])
		}
	}
}

func senderPSNOrder(x *attempt) {
	c := x.withMemory()
	c.read(1, 0, 400*c.mtu)
	for path, l := range c.inbound {
		last := l.latest
		for _, p := range l.order {
			if mr0.PSNBefore(last.CH.PSN, p.CH.PSN) {
				last = p
			}
		}
		// What the network has lost comes again under its psn.
		if last != nil && !x.until(6*x.timeout(), func() bool { return mr0.PSNBefore(last.CH.PSN, l.cumulative) }) {
			x.fail(fmt.Sprintf("psn %d of path %d", l.cumulative, path), fmt.Sprintf("psn %d, and that never", last.CH.PSN), last)
		}
	}
}

func senderFirstUnflagged(x *attempt) {
	c := x.withMemory()
	c.read(1, 0, 30*c.mtu)
	places := map[uint32]bool{}
	for path, l := range c.inbound {
		highest := l.first
		for _, p := range l.order {
			fresh := !mr0.PSNBefore(p.CH.PSN, highest)
			if fresh {
				highest = p.CH.PSN + 1
			}
			if fresh && p.CH.Flags&mr0.FlagRTX != 0 && (!p.is(mr0.TypeReadResp) || !places[p.DH.MessageOffset]) {
				x.sign("psn %d of path %d may have been lost at first", p.CH.PSN, path)
				x.fail("no RTX on a packet that is sent for the first time", p.text(), p)
			}
			if p.is(mr0.TypeReadResp) {
				places[p.DH.MessageOffset] = true
			}
		}
	}
}

// lull is how long nothing comes when nothing is on its way.
func (x *attempt) lull() time.Duration { return 8*time.Millisecond + 2*x.rtt }

// settle waits until the target has sent all that it may: it answers two PROBEs in turn, and sends nothing new with it.
func (c *conn) settle() {
	x := c.x
	before := -1
	for quiet, end := 0, x.lab.now()+4*x.timeout(); quiet < 2 && x.lab.now() < end; {
		c.control()
		x.calm(time.Millisecond+x.rtt, x.timeout()/10)
		n := 0
		for _, p := range x.packets {
			if !p.sent && fresh(p) {
				n++
			}
		}
		if quiet++; n != before {
			before, quiet = n, 0
		}
	}
}
