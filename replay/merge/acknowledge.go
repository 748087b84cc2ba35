package merge

import "github.com/rocelens/rocelens/dissector/metaroce/mr0"

// acknowledge takes an ACK of MetaRoCE. It names the transmission that it answers, so that one that was seen once is
// known to have arrived; what it covers may have arrived by a repetition; and what it leaves out behind what has
// arrived is missing, since a path keeps its order.
func (d *dialogue) acknowledge(ack *mr0.ACKH, e *event) {
	next := d.extend(ack.CumulativePSN)
	if next > d.highest+maxJump || next < d.highest-maxJump {
		return
	}
	top := next - 1
	for i := mr0.SACKBits - 1; i >= 0; i-- {
		if ack.SACK.Has(i) {
			top = next + 1 + position(i)
			break
		}
	}
	arrived := func(p position) bool { return p < next || (p > next && p <= top && ack.SACK.Has(int(p-next-1))) }
	d.answered(ack.EchoTimestamp, max(next-mr0.SACKBits, d.highest-maxSlots), min(top, d.highest), e)
	for i := 0; i < len(d.open); {
		o := &d.open[i]
		s := d.slot(o.pos)
		switch {
		case !arrived(o.pos):
			i++
		case s != nil && o.stamp == ack.EchoTimestamp && d.named(o):
			d.close(i, FateMissed)
		case s != nil && s.copies == 1 && o.first && d.prompt(o, e):
			d.close(i, FateMissed)
		default:
			d.close(i, FateUndetermined)
		}
	}
	for p := next; p < top; p++ {
		if !arrived(p) {
			d.refused(p, e)
		}
	}
	d.covered = max(d.covered, min(next-1, d.highest))
}

// answered measures the time from the transmission that an ACK answers to the ACK, at each point.
func (d *dialogue) answered(echo uint32, from, to position, e *event) {
	for p := to; p >= from; p-- {
		if s := d.slot(p); s != nil && s.stamp == echo && s.copies == 1 {
			d.trip(p, e)
			return
		}
	}
}

// named tells whether the timestamp of a packet is that of no other nearby: some clocks are coarse.
func (d *dialogue) named(o *open) bool {
	for k := position(-16); k <= 16; k++ {
		if s := d.slot(o.pos + k); k != 0 && s != nil && s.stamp == o.stamp {
			return false
		}
	}
	return true
}

// unready takes a NAK, which tells that a packet has arrived and was not taken: that it is missing from ACKs does not
// mean that it was lost.
func (d *dialogue) unready(p position) {
	s := d.slot(p)
	if s == nil {
		return
	}
	if s.asked = true; s.copies != 1 {
		return
	}
	for i := range d.open {
		if d.open[i].pos == p {
			d.close(i, FateMissed)
			return
		}
	}
}
