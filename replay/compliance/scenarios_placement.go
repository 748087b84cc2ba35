package compliance

import (
	"bytes"
	"fmt"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

func placementScenarios() []Scenario {
	return []Scenario{
		{
			ID: "receiver/placement", Title: "puts each packet of a WRITE where it says", Clause: "mr0, WETH.virtual_address; Packets [M]",
			Checks: "a WRITE of 20 packets, the last not full, to an odd address; what a READ brings back must be it, and nothing around it touched",
			run:    receiverPlacement,
		},
		{
			ID: "receiver/placement-any-order", Title: "places what arrives in any order over any path", Clause: "mr0, Receiver: out-of-order arrival is the normal case [M]",
			Checks: "a WRITE of 40 packets over three paths, in a random order within and across paths; what a READ brings back must be it",
			run:    receiverAnyOrder,
		},
		{
			ID: "receiver/placement-as-it-lands", Title: "places payload as it lands", Clause: "mr0, Receiver: payload is placed as it lands [M]",
			Checks: "all packets of a WRITE but the first; a READ on another stream must bring back what has landed",
			run:    receiverAsItLands,
		},
		{
			ID: "receiver/placement-moved", Title: "takes bytes that come by another path", Clause: "mr0, Sender: bytes of a failed path go out on other paths, RTX set [P]",
			Checks: "a WRITE of four packets, two of them twice, by another path with another psn and RTX; both must be acknowledged, and a READ bring the WRITE back",
			run:    receiverMoved,
		},
		{
			ID: "receiver/duplicate-not-placed", Title: "does not place a duplicate again", Clause: "mr0, Receiver: a duplicate is not placed again [P]",
			Checks: "the first packet of a WRITE, then its psn again with other payload, then the rest; what a READ brings back must be what came first",
			run:    receiverNotPlacedAgain,
		},
		{
			ID: "receiver/write-empty", Title: "takes a WRITE of length 0", Clause: "mr0, Packets: a message of length 0 is one packet with FIRST and LAST [P]",
			Checks: "a WRITE of length 0, with and without an immediate; both must be acknowledged, and a READ behind them answered",
			run:    receiverWriteEmpty,
		},
		{
			ID: "receiver/immediate", Title: "takes an immediate with the last packet of a WRITE", Clause: "mr0, IMMH",
			Checks: "a WRITE of three packets with an immediate; it must be acknowledged, and a READ bring its data back without the immediate",
			run:    receiverImmediate,
		},
		{
			ID: "receiver/atomic-add", Title: "adds, and answers with what was there", Clause: "mr0, AETH.operation 0; ARETH",
			Checks: "FETCH_AND_ADD twice on the same 8 bytes; the answers must be the value before each",
			run:    receiverAtomicAdd,
		},
		{
			ID: "receiver/atomic-swap", Title: "swaps only what compares equal", Clause: "mr0, AETH.operation 1; ARETH",
			Checks: "COMPARE_AND_SWAP with the value that is there, then with another; both answers must be the value before, and only the first may change it",
			run:    receiverAtomicSwap,
		},
		{
			ID: "receiver/atomic-once", Title: "does an atomic once", Clause: "mr0, Receiver: a SEND or ATOMIC takes effect once [P]",
			Checks: "FETCH_AND_ADD three times with the same psn; the next one must find the value increased once",
			run:    receiverAtomicOnce,
		},
	}
}

// expectMemory fails when a READ brings something else.
func expectMemory(c *conn, stream uint16, address uint64, want []byte, what string) {
	got := c.read(stream, address, len(want))
	if bytes.Equal(got, want) {
		return
	}
	i := 0
	for got[i] == want[i] {
		i++
	}
	c.x.fail(fmt.Sprintf("%s: byte %d is 0x%02x", what, address+uint64(i), want[i]), fmt.Sprintf("0x%02x", got[i]), c.received[messageKey{mr0.TypeReadResp, stream, c.msn[stream] - 1}].last)
}

func receiverPlacement(x *attempt) {
	c := x.withMemory()
	around := pattern(8192, 99)
	c.deliver(c.writes(0, 1, c.next(1), 0, around)...)
	data := pattern(20*c.mtu-17, 5)
	c.deliver(c.writes(0, 1, c.next(1), 777, data)...)
	copy(around[777:], data)
	expectMemory(c, 1, 0, around, "what was written")
}

func receiverAnyOrder(x *attempt) {
	c := x.withMemory()
	data := pattern(40*c.mtu, 6)
	packets := c.writes(0, 1, c.next(1), 0, data)
	psns := [controlPath]uint32{}
	for i := range psns {
		psns[i] = c.paths[i].next
	}
	numbers := make([]uint32, len(packets))
	for i, o := range packets {
		path := i % controlPath
		o.CH.PathID = uint8(path)
		numbers[i] = psns[path]
		psns[path]++
	}
	for _, i := range x.lab.random.Perm(len(packets)) {
		c.send(packets[i], psn(numbers[i]))
	}
	for i := range psns {
		c.paths[i].next = psns[i]
		c.deliver(&outgoing{Packet: mr0.Packet{CH: mr0.CH{Type: mr0.TypeProbe, PathID: uint8(i), Flags: mr0.FlagFirst | mr0.FlagLast}}})
	}
	// What was lost on the way is sent again; the ACKs behind the PROBEs have told it.
	for i, o := range packets {
		if !c.covered(int(o.CH.PathID), numbers[i]) {
			x.sign("a packet was not acknowledged at first")
			c.deliver1(o, numbers[i])
		}
	}
	expectMemory(c, 1, 0, data, "what was written")
}

// deliver1 sends a packet again until it is acknowledged.
func (c *conn) deliver1(o *outgoing, n uint32) {
	for range 6 {
		c.send(o, psn(n), flags(mr0.FlagRTX|mr0.FlagAR))
		if c.x.until(c.x.timeout()/4, func() bool { return c.covered(int(o.CH.PathID), n) }) {
			return
		}
	}
}

func receiverAsItLands(x *attempt) {
	c := x.withMemory()
	data := pattern(8*c.mtu, 7)
	c.deliver(c.writes(0, 1, c.next(1), 0, data)[1:]...)
	expectMemory(c, 2, uint64(c.mtu), data[c.mtu:], "what has landed")
}

func receiverMoved(x *attempt) {
	c := x.withMemory()
	data := pattern(4*c.mtu, 8)
	packets := c.writes(0, 1, c.next(1), 0, data)
	c.deliver(packets[0], packets[2])
	for _, i := range []int{2, 1, 0, 3} {
		packets[i].CH.PathID = 1
		p := c.send(packets[i], flags(mr0.FlagRTX|mr0.FlagAR))
		a := c.mustACK(p, "AR, on another path")
		if !covers(&a.ACKH, p.CH.PSN) {
			x.fail(fmt.Sprintf("an ACK of psn %d", p.CH.PSN), a.text(), p, a)
		}
	}
	expectMemory(c, 1, 0, data, "what was written")
}

func receiverNotPlacedAgain(x *attempt) {
	c := x.withMemory()
	data := pattern(4*c.mtu, 9)
	packets := c.writes(0, 1, c.next(1), 0, data)
	c.deliver(packets[0])
	other := *packets[0]
	other.payload = pattern(c.mtu, 200)
	p := c.send(&other, psn(c.paths[0].next-1), flags(mr0.FlagRTX|mr0.FlagAR))
	p.note("the same psn with other payload")
	c.mustACK(p, "a duplicate")
	c.deliver(packets[1:]...)
	expectMemory(c, 1, 0, data, "what came first")
}

func receiverWriteEmpty(x *attempt) {
	c := x.withMemory()
	c.deliver(c.writes(0, 1, c.next(1), 0, nil)...)
	o := c.writes(0, 1, c.next(1), 0, nil)[0]
	o.CH.Flags |= mr0.FlagIMM
	o.IMMH.Immediate = 0xffff0000
	c.deliver(o)
	c.read(1, 0, 16)
}

func receiverImmediate(x *attempt) {
	c := x.withMemory()
	data := pattern(3*c.mtu-50, 10)
	packets := c.writes(0, 1, c.next(1), 64, data)
	packets[2].CH.Flags |= mr0.FlagIMM
	packets[2].IMMH.Immediate = 0xfffffff0
	c.deliver(packets...)
	expectMemory(c, 1, 64, data, "what was written")
}

// found waits for the answer to an atomic and returns what was there.
func (c *conn) found(msn uint32) uint64 {
	var p *packet
	for _, q := range c.x.packets {
		if !q.sent && q.is(mr0.TypeAtomicResp) && q.DH.StreamID == 1 && q.DH.MSN == msn {
			p = q
		}
	}
	if p == nil {
		p = c.x.await(nil, 4*c.x.timeout(), func(q *packet) bool {
			return q.is(mr0.TypeAtomicResp) && q.CH.DestConnID == c.local.SourceConnID && q.DH.StreamID == 1 && q.DH.MSN == msn
		})
	}
	if p == nil {
		c.x.fail("ATOMIC_RESP", "none", c.x.packets[len(c.x.packets)-1])
	}
	return p.ARETH.OriginalValue
}

// word is the address that atomics work on.
const word = 512

func (c *conn) fetchAndAdd(add uint64) uint64 {
	msn := c.next(1)
	c.deliver(c.atomic(0, msn, word, mr0.AtomicOperationFetchAndAdd, add, 0))
	return c.found(msn)
}

func (c *conn) compareAndSwap(compare, swap uint64) uint64 {
	msn := c.next(1)
	c.deliver(c.atomic(0, msn, word, mr0.AtomicOperationCompareAndSwap, swap, compare))
	return c.found(msn)
}

// original fails when the answer to an atomic is another.
func original(c *conn, got, want uint64) {
	if got != want {
		c.x.fail(fmt.Sprintf("original_value %d", want), number(got), c.x.packets[len(c.x.packets)-1])
	}
}

func receiverAtomicAdd(x *attempt) {
	c := x.withMemory()
	before := c.fetchAndAdd(0)
	original(c, c.fetchAndAdd(1<<40+5), before)
	original(c, c.fetchAndAdd(1), before+1<<40+5)
	original(c, c.fetchAndAdd(0), before+1<<40+6)
}

func receiverAtomicSwap(x *attempt) {
	c := x.withMemory()
	before := c.fetchAndAdd(0)
	original(c, c.compareAndSwap(before, before+77), before)
	original(c, c.compareAndSwap(before, before+99), before+77)
	original(c, c.fetchAndAdd(0), before+77)
}

func receiverAtomicOnce(x *attempt) {
	c := x.withMemory()
	before := c.fetchAndAdd(0)
	o := c.atomic(0, c.next(1), 512, mr0.AtomicOperationFetchAndAdd, 1000, 0)
	c.deliver(o)
	for range 2 {
		c.mustACK(c.send(o, psn(c.paths[0].next-1), flags(mr0.FlagRTX|mr0.FlagAR)), "a duplicate")
	}
	original(c, c.fetchAndAdd(0), before+1000)
}
