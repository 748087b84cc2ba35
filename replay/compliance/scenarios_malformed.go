package compliance

import (
	"fmt"

	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
)

func malformedScenarios() []Scenario {
	const clause = "mr0, Packets: a decoder calls a packet malformed"
	probe := func(id, title, what string, how ...as) Scenario {
		return Scenario{
			ID: "packets/" + id, Title: title, Clause: clause,
			Checks: "a PROBE with the path's next psn, " + what + ", its ICRC right, three times; then a proper one with that psn, which must be acknowledged as the first that has arrived",
			run:    func(x *attempt) { malformed(x, what, how...) },
		}
	}
	raw := func(f func(b []byte)) as { return mutated(func(b []byte) []byte { f(b); return b }) }
	return []Scenario{
		{
			ID: "packets/icrc", Title: "drops packets whose ICRC is wrong", Clause: "mr0, Packets: ICRC [P]",
			Checks: "PROBEs with one bit of the ICRC flipped, each byte once, then a proper one with that psn, which must be acknowledged as the first that has arrived",
			run: func(x *attempt) {
				malformed(x, "whose ICRC is wrong", func(o *outgoing) { o.spoil = 1 << (x.lab.random.UintN(4) * 8) })
			},
		},
		{
			ID: "packets/icrc-covers", Title: "computes the ICRC over addresses and ports, too", Clause: "mr0, Packets: ICRC [P]",
			Checks: "PROBEs whose ICRC was computed for another source port, then a proper one with that psn, which must be acknowledged as the first that has arrived",
			run:    packetsICRCCovers,
		},
		probe("version", "drops packets of another version", "of version 1", raw(func(b []byte) { b[0] = b[0]&0xf | 1<<4 })),
		{
			ID: "packets/type-reserved", Title: "drops packets of reserved types", Clause: clause,
			Checks: "packets of types 0xD, 0xE and 0xF with the path's next psn; then a PROBE with it, which must be acknowledged as the first that has arrived",
			run: func(x *attempt) {
				for _, t := range []byte{0xd, 0xe, 0xf} {
					malformed(x, fmt.Sprintf("of type 0x%X", t), raw(func(b []byte) { b[0] = b[0]&0xf0 | t }))
				}
			},
		},
		{
			ID: "packets/truncated", Title: "drops packets that are cut anywhere", Clause: clause,
			Checks: "a PROBE cut to each length from 0 bytes on, the ICRC right; then a proper one with that psn, which must be acknowledged as the first that has arrived",
			run:    packetsTruncated,
		},
		probe("payload-length", "drops packets whose payload_length is not what is there", "with payload_length 4 and no payload", raw(func(b []byte) { b[3] = 4 })),
		probe("payload-unexpected", "drops payload behind a type that has none", "with 4 bytes of payload", mutated(func(b []byte) []byte { b[3] = 4; return append(b, 1, 2, 3, 4) })),
		probe("first-missing", "drops a packet at offset 0 without FIRST", "without FIRST", without(mr0.FlagFirst)),
		probe("first-unfounded", "drops a packet behind offset 0 with FIRST", "with FIRST, message_offset 8 and message_length 8", func(o *outgoing) { o.DH.MessageOffset, o.DH.MessageLength = 8, 8 }),
		probe("last-missing", "drops a packet at the end without LAST", "without LAST", without(mr0.FlagLast)),
		probe("last-unfounded", "drops a packet before the end with LAST", "with LAST and message_length 8", func(o *outgoing) { o.DH.MessageLength = 8 }),
		probe("offset-beyond", "drops a packet whose offset passes the length", "with message_offset 9 and message_length 8", without(mr0.FlagFirst), func(o *outgoing) { o.DH.MessageOffset, o.DH.MessageLength = 9, 8 }),
		probe("immediate-misplaced", "drops IMM on a type that may not bear it", "with IMM", flags(mr0.FlagIMM)),
		{
			ID: "packets/immediate-early", Title: "drops IMM on a packet that is not the last", Clause: clause,
			Checks: "the first packet of a WRITE with IMM; then the same without, which must be acknowledged as the first that has arrived",
			run:    packetsImmediateEarly,
		},
		{
			ID: "packets/reserved-ignored", Title: "ignores reserved fields and flags", Clause: "mr0, layout: reserved fields are sent as zero and ignored on receipt",
			Checks: "PROBEs with each reserved flag and the reserved field of DH set; each must be acknowledged as any other",
			run:    packetsReservedIgnored,
		},
		{
			ID: "packets/not-metaroce", Title: "outlives what is no MetaRoCE", Clause: "mr0, Packets: not MetaRoCE",
			Checks: "200 datagrams of random bytes, of 0 to 1400; PROBEs must be acknowledged as before, and nothing else may come",
			run:    packetsGarbage,
		},
	}
}

// malformed sends something that must be dropped and then a proper PROBE with the same psn.
func malformed(x *attempt, what string, how ...as) {
	c := x.connect()
	c.control()
	n := c.paths[0].next
	var odd *packet
	for range 3 {
		odd = c.probe(0, append([]as{flags(mr0.FlagAR), undone}, how...)...)
		odd.note("a PROBE " + what + ", which must be dropped")
	}
	unspoilt(x, c, n, what, odd)
}

// undone keeps a packet from being counted as sent: it must not take effect.
func undone(o *outgoing) {
	if o.mutate == nil {
		o.mutate = func(b []byte) []byte { return b }
	}
}

// unspoilt sends a proper PROBE with a psn that must not have been taken yet.
func unspoilt(x *attempt, c *conn, n uint32, what string, odd *packet) {
	if a := c.quiet(odd, func(q *packet) bool { return (c.isACK(q, 0) && covers(&q.ACKH, n)) || q.is(mr0.TypeNAK) }); a != nil {
		x.fail("no answer to a packet "+what, a.text(), odd, a)
	}
	count := c.paths[0].count
	c.paths[0].next = n
	p := c.probe(0, flags(mr0.FlagAR))
	a := c.mustACK(p, "AR, on a path on which packets were dropped")
	if a.ACKH.Trigger == mr0.ACKTriggerDuplicate || a.ACKH.PacketCount != count+1 || a.ACKH.CumulativePSN != n+1 {
		x.fail(fmt.Sprintf("cumulative_psn %d, packet_count %d: a packet %s counts for nothing", n+1, count+1, what),
			fmt.Sprintf("cumulative_psn %d, packet_count %d, trigger %s", a.ACKH.CumulativePSN, a.ACKH.PacketCount, a.ACKH.Trigger), odd, a)
	}
	a.note("the first with psn " + number(n))
}

func packetsICRCCovers(x *attempt) {
	c := x.connect()
	c.control()
	n := c.paths[0].next
	o := &outgoing{Packet: mr0.Packet{CH: c.header(mr0.TypeProbe, 0)}}
	o.CH.Flags, o.CH.PSN, o.DH.Timestamp = mr0.FlagFirst|mr0.FlagLast|mr0.FlagAR, n, x.lab.timestamp()
	one, err := x.lab.sender(0)
	x.must(err)
	data, err := o.build(one.local, x.lab.config.Target)
	x.must(err)
	var odd *packet
	for range 3 {
		odd = x.send(&outgoing{anything: data, sender: 1})
		odd.note("a PROBE whose ICRC is that of source port " + number(one.local.Port()) + ", which must be dropped")
	}
	unspoilt(x, c, n, "whose ICRC is that of another source port", odd)
}

func packetsTruncated(x *attempt) {
	c := x.connect()
	c.control()
	n := c.paths[0].next
	var odd *packet
	const whole = mr0.CHLength + mr0.DHLength
	for length := range whole {
		odd = c.probe(0, flags(mr0.FlagAR), mutated(func(b []byte) []byte { return b[:length] }))
		odd.note(fmt.Sprintf("a PROBE cut behind %d of %d bytes, which must be dropped", length, whole))
	}
	unspoilt(x, c, n, "that is cut", odd)
}

func packetsImmediateEarly(x *attempt) {
	c := x.withMemory()
	n := c.paths[0].next
	msn := c.next(1)
	early := c.writes(0, 1, msn, 0, pattern(2*c.mtu, 1))[0]
	var odd *packet
	for range 3 {
		o := *early
		odd = c.send(&o, flags(mr0.FlagAR), mutated(func(b []byte) []byte {
			b[1] |= byte(mr0.FlagIMM)
			const headers = mr0.CHLength + mr0.DHLength + mr0.WETHLength
			return append(append(append([]byte(nil), b[:headers]...), 1, 2, 3, 4), b[headers:]...)
		}))
		odd.note("the first packet of a WRITE with IMM, which must be dropped")
	}
	unspoilt(x, c, n, "with IMM that is not the last", odd)
}

func packetsReservedIgnored(x *attempt) {
	c := x.connect()
	for _, how := range []as{
		func(o *outgoing) { o.CH.Flags |= 1 },
		func(o *outgoing) { o.CH.Flags |= 2 },
		func(o *outgoing) { o.DH.Reserved = 0xffff },
	} {
		p := c.probe(0, flags(mr0.FlagAR), how)
		a := c.mustACK(p, "reserved bits are ignored")
		if a.ACKH.CumulativePSN != p.CH.PSN+1 {
			x.fail(fmt.Sprintf("cumulative_psn %d", p.CH.PSN+1), number(a.ACKH.CumulativePSN), p, a)
		}
	}
}

func packetsGarbage(x *attempt) {
	c := x.connect()
	c.control()
	var first *packet
	for range 200 {
		b := make([]byte, x.lab.random.IntN(1400))
		for i := range b {
			b[i] = byte(x.lab.random.Uint32())
		}
		p := x.send(&outgoing{anything: b, sender: int(x.lab.random.UintN(ownPaths))})
		if first == nil {
			first = p
			p.note("random bytes, from here on")
		}
	}
	if p := c.quiet(first, func(p *packet) bool { return !c.isACK(p, controlPath) }); p != nil {
		x.fail("no answer to random bytes", p.text(), p)
	}
}
