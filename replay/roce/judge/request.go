package judge

import (
	"fmt"

	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/replay/finding"
)

// request takes a packet of the requester.
func (d *dialogue) request(e *event) {
	d.sent++
	if d.started {
		if p := extend(e.psn, d.next); p-d.next > maxJump || d.next-p > maxBack {
			d.restart()
		}
	}
	if !d.started {
		d.begin(e)
	}
	p := extend(e.psn, d.next)
	d.learnMTU(p, e)
	if d.resending {
		d.goesOn(p)
	}
	if p >= d.next {
		d.advance(p, e)
		d.going = p
	} else if d.repeat(p, e) {
		d.going = p
	}
	d.lengths(p, e)
	d.observeData(p, e)
}

// goesOn tells what a requester sends behind what a NAK asked for.
func (d *dialogue) goesOn(p position) {
	switch {
	case p == d.resent+1 && p < d.next:
		d.goBack++
	case p > d.resent+1:
		d.selective++
	}
	d.resending = false
}

// begin takes the first request, of which nothing before it is known.
func (d *dialogue) begin(e *event) {
	d.started = true
	d.next = base + position(e.psn)
	d.first, d.going = d.next, d.next
	if a := d.agreed; a != nil && a.Known {
		d.startingPSN(e, a)
	}
}

func (d *dialogue) startingPSN(e *event, a *Agreement) {
	ahead := infiniband.PSNDiff(e.psn, a.StartingPSN)
	if ahead == 0 {
		d.c.conforms(finding.RoCEStartingPSN)
		return
	}
	verdict := finding.Undetermined
	if ahead < 0 {
		verdict = finding.Diverges
	}
	d.c.find(d.lane, finding.RoCEStartingPSN, verdict, e, packets(e.number), func(f *finding.Finding) {
		f.Expected, f.Seen = fmt.Sprintf("PSN %d", a.StartingPSN), fmt.Sprintf("PSN %d", e.psn)
		f.Sentence = fmt.Sprintf("The first request that was seen, packet %d, has PSN %d; the connection manager announced %d.", e.number, e.psn, a.StartingPSN)
	})
}

// learnMTU takes the payload of a FIRST or MIDDLE packet at a position for the path MTU.
func (d *dialogue) learnMTU(p position, e *event) {
	if !e.opcode.IsFirst() && !e.opcode.IsMiddle() || !e.whole {
		return
	}
	if s := d.ring.find(p); s != nil && s.copies > 0 {
		return // the first copy was held against it, and this one is against the first
	}
	d.checkMTU(e, d.lane)
}

// checkMTU holds a full packet, of the requester or of an answer, against the path MTU.
func (d *dialogue) checkMTU(e *event, lane int) {
	switch {
	case d.mtu == e.length:
		d.c.conforms(finding.RoCEPathMTU)
		return
	case d.mtu == 0 && validMTU(e.length):
		d.settle(e.length, e.number)
		d.c.conforms(finding.RoCEPathMTU)
		return
	}
	expected, told := "a path MTU: 256, 512, 1024, 2048 or 4096 bytes", d.mtuFrom
	if d.mtu != 0 {
		expected = fmt.Sprintf("%d bytes", d.mtu)
	}
	d.c.find(lane, finding.RoCEPathMTU, finding.Diverges, e, packets(told, e.number), func(f *finding.Finding) {
		f.Expected, f.Seen = expected, fmt.Sprintf("%d bytes in %s", e.length, e.opcode)
		f.Sentence = fmt.Sprintf("Packet %d, %s, carries %d bytes; expected %s.", e.number, e.opcode, e.length, expected)
	})
}

// advance takes a PSN beyond all that were seen.
func (d *dialogue) advance(p position, e *event) {
	d.skip(p, e)
	d.open = false
	if id := e.packet.Network.ID; e.packet.Network.Version == 4 && id != d.lastID {
		d.idSteps++
		d.lastID = id
	} else {
		d.idSteps = 0
	}
	if d.ahead.pending {
		d.sentAfterAck(p, e)
	}
	d.episode.active = false
	s := d.ring.put(p, d.floor(p))
	d.fill(s, e)
	d.sampled++
	d.follows(p, s, e)
	span := position(1)
	if e.opcode.IsReadRequest() || e.opcode.IsAtomic() {
		span = d.ask(p, e)
	}
	d.next = p + span
	if d.nak.pending && e.hasTime {
		d.nak.newest = e.time
	}
	if d.fatal.pending {
		d.afterFatal(e)
	}
}

// floor is the lowest position that the ring should keep while p is added.
func (d *dialogue) floor(p position) position {
	if d.ackSeen && d.acked < p {
		return max(d.acked, p-maxRing+1)
	}
	return p - minRing + 1
}

// skip notes the PSNs between the highest that was seen and p.
func (d *dialogue) skip(p position, e *event) {
	gap := p - d.next
	if gap == 0 || d.open || gap > maxRing/2 {
		return
	}
	for q := d.next; q < p; q++ {
		if d.ackSeen && q <= d.acked {
			d.missed++
			d.sampled++
			d.losses.Capture++
			continue
		}
		s := d.ring.put(q, d.floor(p))
		s.number, s.time = e.number, e.time
		if e.hasTime {
			s.flags |= slotTimed
		}
		d.holes++
	}
}

// fill writes what was seen of a PSN for the first time.
func (d *dialogue) fill(s *slot, e *event) {
	s.number, s.last, s.firstTime, s.time = e.number, e.number, e.time, e.time
	s.opcode, s.length, s.copies = e.opcode, e.length, 1
	s.ipID = e.packet.Network.ID
	s.flags &^= slotTimed
	if e.hasTime {
		s.flags |= slotTimed
	}
	if e.packet.BTH.AckRequest {
		s.flags |= slotAckRequest
	}
	if e.marked {
		s.flags |= slotMarked
	}
	if e.has(infiniband.HasRETH) {
		s.dma = e.packet.RETH.DMALength
		s.flags |= slotSized
	}
}

// before is what stands right before a position: whether it was seen, and whether it leaves a message open.
func (d *dialogue) before(p position) (s *slot, number uint64, seen, unfinished bool) {
	if s := d.ring.find(p - 1); s != nil && s.copies > 0 {
		return s, s.number, true, s.opcode.IsFirst() || s.opcode.IsMiddle()
	}
	if r := d.reads.find(p - 1); r != nil && r.sure {
		return nil, r.number, true, false
	}
	return nil, 0, false, false
}

// follows holds a packet against its neighbours.
func (d *dialogue) follows(p position, s *slot, e *event) {
	prev, number, seen, unfinished := d.before(p)
	switch {
	case e.opcode.StartsMessage():
		s.back = 1
	case prev != nil && prev.back != 0:
		s.back = prev.back + 1
	}
	if seen {
		d.neighbours(number, prev, unfinished, e)
	}
}

func (d *dialogue) neighbours(number uint64, prev *slot, unfinished bool, e *event) {
	ok := e.opcode.StartsMessage()
	if unfinished {
		ok = !e.opcode.StartsMessage() && e.opcode.IsSend() == prev.opcode.IsSend() && e.opcode.IsWrite() == prev.opcode.IsWrite()
	}
	if ok {
		d.c.conforms(finding.RoCEOpcodeSequence)
		return
	}
	name := "the end of a READ"
	if prev != nil {
		name = prev.opcode.String()
	}
	d.c.find(d.lane, finding.RoCEOpcodeSequence, finding.Diverges, e, packets(number, e.number), func(f *finding.Finding) {
		f.Expected = "the beginning of a message"
		if unfinished {
			f.Expected = "MIDDLE or LAST of the same operation"
		}
		f.Seen = e.opcode.String()
		f.Sentence = fmt.Sprintf("PSN %d, packet %d, is %s right behind PSN %d, packet %d, which is %s.",
			e.psn, e.number, e.opcode, infiniband.PSNAdd(e.psn, -1), number, name)
	})
}

// lengths holds the payload of a packet against MTU and RETH.
func (d *dialogue) lengths(p position, e *event) {
	if !e.whole || !e.opcode.CarriesPayload() {
		return
	}
	switch {
	case e.opcode.IsLast():
		d.lastLength(e)
		d.total(p, e)
	case e.opcode.IsOnly():
		d.onlyLength(e)
		if e.opcode.IsWrite() {
			d.writeLength(e, uint64(e.length), e.packet.RETH.DMALength, e.number)
		}
	}
}

func (d *dialogue) lastLength(e *event) {
	if e.length > 0 && (d.mtu == 0 || e.length <= d.mtu) {
		d.c.conforms(finding.RoCELastLength)
		return
	}
	d.c.find(d.lane, finding.RoCELastLength, finding.Diverges, e, packets(d.mtuFrom, e.number), func(f *finding.Finding) {
		f.Expected, f.Seen = "1 byte up to the path MTU", fmt.Sprintf("%d bytes", e.length)
		f.Sentence = fmt.Sprintf("Packet %d, %s, carries %d bytes.", e.number, e.opcode, e.length)
		if d.mtu != 0 {
			f.Expected = fmt.Sprintf("1 to %d bytes", d.mtu)
		}
	})
}

func (d *dialogue) onlyLength(e *event) {
	switch {
	case d.mtu == 0:
		return
	case e.length <= d.mtu:
		d.c.conforms(finding.RoCEOnlyLength)
		return
	}
	d.c.find(d.lane, finding.RoCEOnlyLength, finding.Diverges, e, packets(d.mtuFrom, e.number), func(f *finding.Finding) {
		f.Expected, f.Seen = fmt.Sprintf("at most %d bytes", d.mtu), fmt.Sprintf("%d bytes", e.length)
		f.Sentence = fmt.Sprintf("Packet %d, %s, carries %d bytes; the path MTU is %d.", e.number, e.opcode, e.length, d.mtu)
	})
}

// total holds the last packet of a WRITE against the RETH of its first.
func (d *dialogue) total(p position, e *event) {
	s := d.ring.find(p)
	if !e.opcode.IsWrite() || s == nil || s.back < 2 || d.mtu == 0 {
		return
	}
	first := d.ring.find(p - position(s.back) + 1)
	if first == nil || first.copies == 0 || !first.opcode.IsFirst() || first.flags&slotSized == 0 {
		return
	}
	d.writeLength(e, uint64(s.back-1)*uint64(d.mtu)+uint64(e.length), first.dma, first.number)
}

func (d *dialogue) writeLength(e *event, sent uint64, announced uint32, first uint64) {
	if sent == uint64(announced) {
		d.c.conforms(finding.RoCERETHLength)
		return
	}
	d.c.find(d.lane, finding.RoCERETHLength, finding.Diverges, e, packets(first, e.number), func(f *finding.Finding) {
		f.Expected, f.Seen = fmt.Sprintf("%d bytes", announced), fmt.Sprintf("%d bytes", sent)
		f.Sentence = fmt.Sprintf("The WRITE that begins with packet %d announces %d bytes and carries %d up to its last packet, %d.", first, announced, sent, e.number)
	})
}
