package merge

import "github.com/rocelens/rocelens/dissector"

// event is one packet as both captures showed it, or one of them.
type event struct {
	strand *strand
	at     int64    // the earlier of its times
	seen   [2]*held // by capture
}

// any is one of the sightings: what both have in common.
func (e *event) any() *held {
	if e.seen[0] != nil {
		return e.seen[0]
	}
	return e.seen[1]
}

// judge counts a packet, and lets it bear witness of others.
func (m *Merger) judge(c *conversation, e *event) {
	h, d := e.any(), e.strand.report
	opened := false
	switch {
	case e.seen[0] != nil && e.seen[1] != nil:
		m.both(e)
	case h.flags&heldOutside != 0:
		d.Only[e.point()].Outside++
	case h.state == stateAmbiguous || m.hurried(e.at):
		d.Only[e.point()].Ambiguous++
	case h.state == stateDoubled:
		d.Only[e.point()].Undetermined++
	default:
		opened = m.alone(e)
	}
	switch h.kind {
	case kindRequest, kindRead, kindSequenced:
		c.dialogue(e.strand.lane).request(e, opened)
	case kindCover, kindNAK, kindRefuse, kindSACK, kindUnready:
		if d.Partner != 0 {
			c.dialogue(lane{flow: d.Partner, path: e.strand.lane.path}).answer(e)
		}
	case kindOther, kindCNP:
	}
}

// hurried tells whether a packet may be alone because it, or its counterpart, was settled before the other came.
func (m *Merger) hurried(at int64) bool {
	return m.cut != minTime && at > m.cut-m.config.Window && at < m.cut+m.config.Window
}

func (e *event) point() int {
	if e.seen[0] != nil {
		return 0
	}
	return 1
}

// both takes a packet that both captures have.
func (m *Merger) both(e *event) {
	d := e.strand.report
	d.Both++
	up, _ := d.upstream()
	first, second := e.seen[up], e.seen[1-up]
	e.strand.sums.delays.add(second.at - first.at)
	if first.state == stateReordered {
		d.Reordered++
	}
	if d.Order == OrderUnknown {
		return
	}
	if second.ecn == dissector.ECNCE && first.ecn != dissector.ECNCE && first.ecn != dissector.ECNNotECT {
		d.Marked++
	}
	if second.flags&heldDamaged != 0 && first.flags&heldDamaged == 0 {
		d.Damaged++
	}
}

// alone takes a packet that one capture has. true: what became of it is for the dialogue to find out.
func (m *Merger) alone(e *event) bool {
	d, point := e.strand.report, e.point()
	if up, known := d.upstream(); known && point != up {
		d.Only[point].Missed++ // it was seen further on
		d.example(point, e.any(), FateMissed)
		return false
	}
	if k := e.any().kind; (k == kindRequest || k == kindRead || k == kindSequenced) && d.Partner != 0 {
		return true
	}
	d.Only[point].Undetermined++
	d.example(point, e.any(), FateUndetermined)
	return false
}

func (d *Direction) example(point int, h *held, f Fate) {
	d.name(Example{Point: point, Number: h.number, Sequence: h.sequence, Fate: f})
}

func (c *conversation) dialogue(at lane) *dialogue {
	at.cnp = false
	d := c.dialogues[at]
	if d == nil {
		d = &dialogue{wide: at.path >= 0}
		c.dialogues[at] = d
	}
	return d
}

// roundTrip is the least time between a request and its answer at the point that requests of a lane pass first, ns; 0:
// unknown.
func (c *conversation) roundTrip(at lane) int64 {
	d := c.dialogues[at]
	if d == nil {
		return 0
	}
	return max(d.trips[0], d.trips[1])
}
