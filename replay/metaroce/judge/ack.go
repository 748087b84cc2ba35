package judge

import (
	"github.com/rocelens/rocelens/dissector/metaroce"
	"github.com/rocelens/rocelens/dissector/metaroce/mr0"
	"github.com/rocelens/rocelens/replay/finding"
)

// answer is what the latest ACK of a path, by its number, has told.
type answer struct {
	coverage
	number   uint32
	number64 uint64 // of its packet
	seen     uint64 // ACKs of the path
	header   mr0.ACKH
	step     int32 // from the number before
	numbers  uint64
	steady   bool // between it and the one before, which was seen, marks did not change
	marks    bool // and all packets were marked; else none
	back     bool // it took back what one before it had told: the next one tells it anew
}

// interval is what lies between two ACKs of a path whose numbers follow each other.
type interval struct {
	fresh      int32 // psns newly acknowledged
	arrived    int32 // packets that arrived, by packet_count
	marked     int32 // of these marked, by ce_count
	seen       int32 // of the fresh psns
	asked      bool  // one of them, not the last, had AR in all of its transmissions
	askedEver  bool  // one of them had AR in any
	ended      bool  // one of them, not the last, ended its message
	seenMarked int32 // of them sent once, and marked when they were seen
	newGap     bool  // a psn is missing that no earlier ACK could have shown
	behindGap  int   // how many arrived behind it
	proof      uint64
}

// acknowledge takes an ACK of r for data of d.
func (c *Connection) acknowledge(d, r *lane, e *event) {
	m := e.m
	r.left.count(c, r, e)
	if !c.inRange(d, r, e) {
		return
	}
	p := d.path(m.CH.PathID)
	if p == nil {
		return
	}
	c.answerPort(d, r, e)
	c.hint(d, r, e)
	v := coverageOf(&m.ACKH)
	if !p.acked {
		p.acked = true
		p.ack = answer{coverage: v, number: m.CH.PSN, number64: e.number, seen: p.ack.seen + 1, header: m.ACKH, numbers: 1, step: 1}
		d.ackSpan++
		d.ackSeen++
		c.cover(d, p, nil, &v, e, nil)
		return
	}
	step := metaroce.Distance(p.ack.number, m.CH.PSN)
	switch {
	case step == 0:
		c.sameNumber(d, r, p, e)
		return
	case step < 0:
		c.lateACK(d, r, p, &v, step, e)
		return
	}
	d.ackSpan += uint64(min(step, 1<<16))
	d.ackSeen++
	c.weigh(d, clueAckNumber, int(p.id), e, step > 1 && step == p.ack.step && d.missedAtMost() < 0.3, 0, p.ack.number64, e.number)
	c.sample(d, p, &v, e)
	before := p.ack
	if !c.grows(r, p, &before, &v, &m.ACKH, before.number64, e) {
		c.replace(p, &v, step, e)
		p.ack.back = true
		return
	}
	var i *interval
	var between interval
	if step == 1 {
		i = &between
	}
	c.replace(p, &v, step, e)
	c.cover(d, p, &before.coverage, &v, e, i)
	if i != nil {
		c.between(d, p, &before, i, e)
	} else {
		p.overWindow, p.overSACK = 0, 0
	}
	c.congestionACK(p, &before, e)
	c.showMissing(d, p, &v, e)
	c.blameOlder(p, &v, e)
}

// replace makes the ACK the latest of its path.
func (c *Connection) replace(p *path, v *coverage, step int32, e *event) {
	a := &p.ack
	a.coverage, a.number, a.number64, a.header, a.step = *v, e.m.CH.PSN, e.number, e.m.ACKH, step
	a.seen++
	a.steady, a.back = false, false
	if step < 64 {
		a.numbers = a.numbers<<step | 1
	} else {
		a.numbers = 1
	}
}

// sameNumber takes an ACK with the number of the latest: a copy of it.
func (c *Connection) sameNumber(d, r *lane, p *path, e *event) {
	if e.m.ACKH == p.ack.header {
		return
	}
	_ = d
	c.diverges(finding.MetaRoCEAckNumber, r, int(p.id), e, p.ack.number64, "numbers that rise by 1", "one number twice",
		"Two ACKs of path %d have the number %d and say different things.", p.id, e.m.CH.PSN)
}

// lateACK takes an ACK that a later one has overtaken.
func (c *Connection) lateACK(d, r *lane, p *path, v *coverage, step int32, e *event) {
	if -step < 64 {
		if bit := uint64(1) << -step; p.ack.numbers&bit == 0 {
			p.ack.numbers |= bit
			d.ackSeen++
		} else {
			return
		}
	}
	if -step > 1<<16 {
		return // of another connection with the same ids
	}
	d.ackSeen = min(d.ackSeen, d.ackSpan)
	late := answer{coverage: *v, header: e.m.ACKH, number: e.m.CH.PSN, number64: e.number}
	c.grows(r, p, &late, &p.ack.coverage, &p.ack.header, late.number64, e)
}

// grows judges that a later ACK tells all that an earlier one has told.
func (c *Connection) grows(r *lane, p *path, earlier *answer, v *coverage, later *mr0.ACKH, proof uint64, e *event) bool {
	ok := true
	if psn, back := earlier.takenBack(v); back {
		ok = false
		if mr0.PSNDistance(earlier.next, v.next) < 0 {
			c.diverges(finding.MetaRoCEAckBackwards, r, int(p.id), e, proof, "cumulative_psn that rises", "a lower one",
				"cumulative_psn of path %d went back from %d to %d.", p.id, earlier.next, v.next)
		} else {
			c.diverges(finding.MetaRoCEAckReneged, r, int(p.id), e, proof, "SACK bits that stay", "one taken back",
				"psn %d of path %d was acknowledged, and a later ACK shows it missing.", psn, p.id)
		}
	} else {
		c.conforms(finding.MetaRoCEAckBackwards)
		c.conforms(finding.MetaRoCEAckReneged)
	}
	packets := metaroce.Distance(earlier.header.PacketCount, later.PacketCount)
	marks := metaroce.Distance(earlier.header.CECount, later.CECount)
	fresh := int32(v.count() - earlier.count())
	if packets < 0 || ok && !earlier.back && packets < fresh {
		c.diverges(finding.MetaRoCEPacketCount, r, int(p.id), e, proof, "packet_count to grow by each packet that arrives", "less",
			"packet_count of path %d changed by %d while %d packets were newly acknowledged.", p.id, packets, fresh)
	} else {
		c.conforms(finding.MetaRoCEPacketCount)
	}
	if marks < 0 || packets >= 0 && marks > packets {
		c.diverges(finding.MetaRoCECECount, r, int(p.id), e, proof, "ce_count to grow by the marked ones of the packets that arrive", "another change",
			"ce_count of path %d changed by %d while packet_count changed by %d.", p.id, marks, packets)
	} else {
		c.conforms(finding.MetaRoCECECount)
	}
	return ok
}

// cover notes what is newly acknowledged, and fills in what lies between the two ACKs.
func (c *Connection) cover(d *lane, p *path, before, v *coverage, e *event, i *interval) {
	if !p.begun {
		return
	}
	if beyond := mr0.PSNDistance(p.next, v.end); beyond > mostSlots/2 {
		p.unsent, p.unsentEnd = true, v.end
		return
	} else if beyond > 0 {
		p.extend(d, v.end)
	}
	from := p.base
	if before != nil && mr0.PSNDistance(from, before.next) > 0 {
		from = before.next
	}
	if mr0.PSNDistance(from, p.next) > mostSlots {
		from = p.next - mostSlots
	}
	for psn := from; mr0.PSNDistance(psn, v.end) > 0; psn++ {
		has := v.has(psn)
		if i != nil && !has && mr0.PSNDistance(before.end, psn) >= 0 {
			i.newGap = true
		}
		s := p.find(psn)
		if s == nil || !has || s.state&covered != 0 {
			continue
		}
		s.state |= covered
		d.covered++
		if s.state&seen == 0 {
			d.missed++
			s.last = e.number
		}
		if i != nil {
			if i.newGap {
				i.behindGap++
			}
			i.add(s, psn+1 == v.end)
		}
	}
}

// add takes a psn that is newly acknowledged.
func (i *interval) add(s *slot, last bool) {
	if s.state&seen == 0 {
		return
	}
	i.seen++
	i.askedEver = i.askedEver || s.any&mr0.FlagAR != 0
	if !last && s.all&mr0.FlagAR != 0 {
		i.asked, i.proof = true, s.last
	}
	if !last && s.kind != mr0.TypeProbe && s.all&mr0.FlagLast != 0 {
		i.ended, i.proof = true, s.last
	}
	if s.state&(seenAgain|marked) == marked {
		i.seenMarked++
		i.proof = s.last
	}
}

// sample measures the way to the receiver and back, and judges the echoed timestamp.
func (c *Connection) sample(d *lane, p *path, v *coverage, e *event) {
	a := &e.m.ACKH
	if p.settled < enough || mr0.PSNDistance(p.sightTS, a.EchoTimestamp) <= 0 {
		return
	}
	var from *slot
	unsure := true
	if s := p.find(v.end - 1); s != nil && s.bore(a.EchoTimestamp) {
		from = s
	} else if s := p.find(v.next - 1); s != nil && s.bore(a.EchoTimestamp) {
		from = s
	} else {
		from, unsure = p.bore(a.EchoTimestamp)
	}
	if from == nil {
		if !unsure {
			c.weigh(d, clueEchoUnsent, int(p.id), e, true, uint64(a.EchoTimestamp)|1<<32, e.number)
		}
		return
	}
	c.weigh(d, clueEchoUnsent, int(p.id), e, false, 0)
	if e.timed && from.state&timed != 0 && from.lastTS == a.EchoTimestamp && a.Trigger != mr0.ACKTriggerWindowUpdate && a.Trigger != mr0.ACKTriggerDuplicate {
		d.toReceiver.add(e.time - from.time - int64(a.ACKDelay))
	}
}

// bore finds the packet of the path with a timestamp, among all that are within sight. It is unsure that there was
// none when the timestamp is older than these.
func (p *path) bore(timestamp uint32) (s *slot, unsure bool) {
	older := true
	n := 0
	for i := range p.slots {
		s := &p.slots[i]
		if s.state&seen == 0 {
			continue
		}
		if s.bore(timestamp) {
			return s, false
		}
		if s.state&several != 0 {
			unsure = true
		}
		n++
		if mr0.PSNDistance(s.firstTS, timestamp) >= 0 {
			older = false
		}
	}
	return nil, unsure || older || n < 4
}
