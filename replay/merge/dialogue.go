package merge

import "github.com/rocelens/rocelens/dissector/infiniband"

// position is a PSN without wrap.
type position int64

const (
	minSlots = 64
	maxSlots = 4096
	maxJump  = 1 << 18 // a PSN further away begins a new life of the QP
	maxOpen  = 512
	base     = position(1) << 32
)

// slot is what was seen of one PSN.
type slot struct {
	used    bool
	first   bool // it was ahead of all others when it came
	asked   bool // a NAK has asked for it
	damaged bool // behind the second point
	copies  uint8
	seen    [2]bool
	stamp   uint32
	pos     position
	at      [2]int64
}

// open is a packet that one capture has and whose fate is not known.
type open struct {
	strand   *strand
	pos      position
	follower position // sent before anybody could have asked for a repetition; 0: none
	at       int64
	number   uint64
	sequence uint32
	stamp    uint32
	point    int
	first    bool
	read     bool
}

// dialogue is what one end asks for and the other answers, as both captures show it.
type dialogue struct {
	wide    bool // of MetaRoCE: PSNs have 32 bits
	started bool
	highest position
	covered position // all up to it is acknowledged
	slots   []slot
	open    []open
	trips   [2]int64 // least time to the responder and back from each point, ns; 0: unknown
	strand  *strand  // of the requests
}

func (d *dialogue) slot(p position) *slot {
	s := &d.slots[uint64(p)%uint64(len(d.slots))]
	if s.used && s.pos == p {
		return s
	}
	return nil
}

// place makes room for a PSN. What is acknowledged makes way first.
func (d *dialogue) place(p position) *slot {
	for {
		s := &d.slots[uint64(p)%uint64(len(d.slots))]
		if !s.used || s.pos <= d.covered || len(d.slots) >= maxSlots {
			return s
		}
		old := d.slots
		d.slots = make([]slot, 2*len(old))
		for i := range old {
			if x := &old[i]; x.used {
				d.slots[uint64(x.pos)%uint64(len(d.slots))] = *x
			}
		}
	}
}

func (d *dialogue) extend(psn uint32) position {
	if d.wide {
		return d.highest + position(int32(psn-uint32(uint64(d.highest))))
	}
	return d.highest + position(infiniband.PSNDiff(psn, uint32(uint64(d.highest)&0xffffff)))
}

// request takes a request packet. opened: one capture has it alone, and the dialogue is to find out why.
func (d *dialogue) request(e *event, opened bool) {
	h := e.any()
	if d.slots == nil {
		d.slots = make([]slot, minSlots)
		d.strand = e.strand
	}
	if !d.started {
		d.started, d.highest = true, base+position(h.sequence)-1
		d.covered = d.highest
	}
	p := d.extend(h.sequence)
	if p > d.highest+maxJump || p < d.highest-maxJump {
		d.end()
		clear(d.slots)
		d.highest = base + position(h.sequence) - 1
		d.covered = d.highest
		p = d.highest + 1
	}
	s := d.slot(p)
	if s == nil {
		s = d.place(p)
		*s = slot{used: true, pos: p, stamp: h.stamp, first: p > d.highest && h.state != stateAmbiguous}
	}
	if s.copies < 255 {
		s.copies++
	}
	for point, x := range e.seen {
		if x != nil && s.copies == 1 {
			s.seen[point], s.at[point] = true, x.at
		}
	}
	if up, known := e.strand.report.upstream(); known && e.seen[1-up] != nil && e.seen[1-up].flags&heldDamaged != 0 {
		s.damaged = true
	}
	if p > d.highest {
		d.follow(p, s)
		d.highest = p
	}
	if !opened {
		return
	}
	if len(d.open) >= maxOpen {
		d.close(0, FateUndetermined)
	}
	d.open = append(d.open, open{
		strand: e.strand, pos: p, at: h.at, number: h.number, sequence: h.sequence, stamp: h.stamp, point: e.point(), first: s.first && s.copies == 1,
		read: h.kind == kindRead,
	})
}

// follow notes for packets in doubt that another was sent soon after.
func (d *dialogue) follow(p position, s *slot) {
	for i := range d.open {
		o := &d.open[i]
		if o.follower == 0 && s.seen[o.point] && 10*(s.at[o.point]-o.at) < 9*d.trips[o.point] {
			o.follower = p
		}
	}
}

// close gives a packet in doubt its fate.
func (d *dialogue) close(i int, f Fate) {
	o := &d.open[i]
	r := o.strand.report
	switch f {
	case FateLost:
		r.claims++
	case FateMissed:
		r.Only[o.point].Missed++
	case FateUndetermined:
		r.Only[o.point].Undetermined++
	}
	r.name(Example{Point: o.point, Number: o.number, Sequence: o.sequence, Fate: f})
	d.open = append(d.open[:i], d.open[i+1:]...)
}

// end leaves undetermined what is still in doubt.
func (d *dialogue) end() {
	for len(d.open) > 0 {
		d.close(0, FateUndetermined)
	}
}

// answer takes what the responder says.
func (d *dialogue) answer(e *event) {
	if !d.started {
		return
	}
	h := e.any()
	p := d.extend(h.sequence)
	switch h.kind {
	case kindSACK:
		d.acknowledge(h.ack, e)
	case kindUnready:
		d.unready(p)
	case kindCover:
		d.trip(p, e)
		d.cover(p, e)
	case kindNAK:
		d.cover(p-1, e)
		d.refused(p, e)
	case kindRefuse:
		d.cover(p-1, e)
	case kindOther, kindRequest, kindRead, kindCNP, kindSequenced:
	}
}

// trip measures the time from a request to its own answer, at each point.
func (d *dialogue) trip(p position, e *event) {
	s := d.slot(p)
	if s == nil || s.copies != 1 {
		return
	}
	for point, x := range e.seen {
		if x == nil || !s.seen[point] {
			continue
		}
		if t := x.at - s.at[point]; t > 0 && (d.trips[point] == 0 || t < d.trips[point]) {
			d.trips[point] = t
		}
	}
}

// cover takes an answer that stands for all requests up to p. Those that were sent once have arrived then: had a
// request been lost, it would have been sent again, and those behind it, too. One that was not ahead of all others may
// be a repetition of what was acknowledged long ago.
func (d *dialogue) cover(p position, e *event) {
	defer func() { d.covered = max(d.covered, min(p, d.highest)) }()
	for i := 0; i < len(d.open); {
		o := &d.open[i]
		s := d.slot(o.pos)
		switch {
		case o.pos > p:
			i++
		case s == nil || s.copies != 1 || !o.first || o.read:
			d.close(i, FateUndetermined)
		case o.follower > p && d.prompt(o, e):
			d.close(i, FateMissed)
		case o.follower > p:
			i++ // until the follower is acknowledged, too
		case o.follower != 0 && d.once(o.follower), d.prompt(o, e):
			d.close(i, FateMissed)
		default:
			d.close(i, FateUndetermined)
		}
	}
}

// once tells whether a request was seen just once.
func (d *dialogue) once(p position) bool {
	s := d.slot(p)
	return s != nil && s.copies == 1
}

// prompt tells whether an answer came so soon that nothing can have been sent again before it.
func (d *dialogue) prompt(o *open, e *event) bool {
	x := e.seen[o.point]
	return x != nil && d.trips[o.point] > 0 && 2*(x.at-o.at) < 3*d.trips[o.point]
}

// refused takes a NAK that asks for the request at p: it has not arrived.
func (d *dialogue) refused(p position, e *event) {
	s := d.slot(p)
	if s == nil {
		if p <= d.highest && p > d.covered {
			*d.place(p) = slot{used: true, pos: p, asked: true}
			d.strand.report.before++
		}
		return
	}
	if s.asked || s.copies != 1 || !s.first {
		s.asked = true
		return
	}
	s.asked = true
	for i := range d.open {
		if o := &d.open[i]; o.pos == p {
			if _, known := o.strand.report.upstream(); known && o.first {
				d.close(i, FateLost)
			}
			return
		}
	}
	up, known := d.strand.report.upstream()
	if !known || !s.seen[1-up] || s.damaged || d.late(s, 1-up) {
		return
	}
	if x := e.seen[1-up]; x != nil && x.at < s.at[1-up] {
		return
	}
	d.strand.report.LostBehind++
}

// late tells whether a packet that was sent after s passed the point before it.
func (d *dialogue) late(s *slot, point int) bool {
	for k := position(1); k <= 16; k++ {
		if y := d.slot(s.pos + k); y != nil && y.seen[point] && y.at[point] < s.at[point] {
			return true
		}
	}
	return false
}
