package merge

import (
	"cmp"
	"slices"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/replay/finding"
)

// Fate is what became of a packet that only one capture has.
type Fate uint8

// Fates.
const (
	FateUndetermined Fate = iota
	FateLost              // between the points
	FateMissed            // by the other capture: it passed that point
)

// String is a word, as in every output.
func (f Fate) String() string {
	switch f {
	case FateLost:
		return "lost"
	case FateMissed:
		return "missed"
	case FateUndetermined:
	}
	return "undetermined"
}

// Example is a packet that only one capture has.
type Example struct {
	Point    int    // of the capture that has it, 0 or 1
	Number   uint64 // there
	Sequence uint32 // PSN
	Fate     Fate
}

// Only counts packets that one capture has alone, by their fate.
type Only struct {
	Lost         uint64 // between the points
	Missed       uint64 // by the other capture
	Undetermined uint64
	Ambiguous    uint64 // it cannot be told which packet of the other capture it is, if any
	Outside      uint64 // the other capture may not have been running, or a clock was being set
}

// Sum is all of them.
func (o *Only) Sum() uint64 { return o.Lost + o.Missed + o.Undetermined + o.Ambiguous + o.Outside }

// Direction is what goes from one end of a connection to the other, of MetaRoCE on one path.
type Direction struct {
	Flow, Partner       uint64
	Source, Destination dissector.Address
	DestinationQP       uint32 // QPN, or the connection id of MetaRoCE
	Path                int16  // -1: not of MetaRoCE
	CNPs                bool   // congestion notifications, which are of another class of traffic
	Order               Order

	Both uint64 // packets that both captures have
	Only [2]Only
	// Lost is the least and the most that was lost between the points. The least is more than the sum of Only.Lost where
	// single packets may have been missed and lost behind the second point, but not so many of them. Where packets look
	// alike, one that was lost and one that the first capture missed can look like one that both have: it is not counted.
	Lost       [2]uint64
	LostBefore uint64 // asked for again, and seen by neither capture
	LostBehind uint64 // asked for again, though they passed both points: lost or late behind the second
	Reordered  uint64 // packets that left the order between the points
	Marked     uint64 // CE marks that were set between the points
	Damaged    uint64 // ICRC right at the first point and wrong at the second
	Delays     Delays
	Examples   []Example

	claims, before uint64
	naming         *naming
}

// naming bounds how many packets are named.
type naming struct{ each, left int }

// name adds a packet to the examples.
func (d *Direction) name(e Example) {
	if len(d.Examples) < d.naming.each && d.naming.left > 0 {
		d.naming.left--
		d.Examples = append(d.Examples, e)
	}
}

// upstream is the index of the capture whose point comes first.
func (d *Direction) upstream() (int, bool) {
	switch d.Order {
	case FirstPoint:
		return 0, true
	case SecondPoint:
		return 1, true
	case OrderUnknown, SamePoint:
	}
	return 0, false
}

// Result is what two captures together tell.
type Result struct {
	Packets    [2]uint64 // that belong to connections
	Left       uint64    // packets of directions that were too many
	Window     int64     // ns that packets waited for their counterpart; less than asked for when there were too many
	Both       uint64
	Missed     [2]uint64 // by each capture, as is proved
	Directions []Direction
	Apart      int // of Directions: seen at one point only
}

// sums is what a direction gathers beside its report.
type sums struct {
	delays delays
}

func (m *Merger) finish() {
	r := &m.result
	for _, c := range m.all {
		for _, d := range c.dialogues {
			d.end()
		}
	}
	var passed, behind [2]uint64
	for _, t := range m.strands {
		d := t.report
		d.Delays = t.sums.delays.report()
		if d.Both == 0 {
			d.apart()
			continue
		}
		r.Both += d.Both
		for point := range d.Only {
			passed[point] += d.Both + d.Only[1-point].Missed
			r.Missed[point] += d.Only[1-point].Missed
		}
		if up, known := d.upstream(); known {
			behind[1-up] += d.LostBehind + d.Reordered
		}
	}
	for _, t := range m.strands {
		d := t.report
		if d.Both == 0 {
			r.Apart++
		}
		if up, known := d.upstream(); known {
			d.decide(up, t.mixed, r.Missed, passed[1-up], behind[1-up])
			if d.CNPs && !t.counts {
				d.Lost[1] += t.sums.delays.slow()
			}
		}
		r.Directions = append(r.Directions, *d)
	}
	slices.SortFunc(r.Directions, func(a, b Direction) int {
		return cmp.Or(cmp.Compare(min(a.Flow, nonzero(a.Partner, a.Flow)), min(b.Flow, nonzero(b.Partner, b.Flow))),
			cmp.Compare(a.Flow, b.Flow), cmp.Compare(a.Path, b.Path), cmp.Compare(bit(a.CNPs), bit(b.CNPs)))
	})
}

func nonzero(a, b uint64) uint64 {
	if a != 0 {
		return a
	}
	return b
}

// apart takes back what was said of a direction that only one capture has: it may go another way.
func (d *Direction) apart() {
	for point := range d.Only {
		o := &d.Only[point]
		*o = Only{Undetermined: o.Sum(), Outside: 0}
		if point == 0 {
			o.Undetermined += d.claims
		}
	}
	d.claims, d.before, d.LostBehind = 0, 0, 0
	for i := range d.Examples {
		d.Examples[i].Fate = FateUndetermined
	}
}

// decide says which packets were lost between the points that the receiver asked for again. Where packets are lost behind
// the second point, too, or come late, its capture may have missed one of these: their number is bounded. behind counts
// both for all directions that pass this point second.
func (d *Direction) decide(up int, mixed bool, missed [2]uint64, passed, behind uint64) {
	o := &d.Only[up]
	switch {
	case !mixed && behind == 0:
		o.Lost = d.claims
		d.Lost[0] = d.claims
	default:
		o.Undetermined += d.claims
		d.doubt()
		if mixed {
			break
		}
		all := d.Both + o.Sum()
		q := finding.ShareAtMost(missed[1-up], passed) * finding.ShareAtMost(d.LostBehind+d.Reordered, d.Both)
		both := uint64(0)
		for both < d.claims && !(finding.Evidence{Cases: uint32(all), Suspicious: uint32(both + 1)}).Convicts(q) {
			both++
		}
		d.Lost[0] = d.claims - both
	}
	d.Lost[1] = o.Lost + o.Undetermined + o.Ambiguous + o.Outside
	if missed[0] == 0 || missed[1] == 0 {
		d.LostBefore = d.before
	}
}

// doubt takes back which packets were lost between the points.
func (d *Direction) doubt() {
	for i := range d.Examples {
		if d.Examples[i].Fate == FateLost {
			d.Examples[i].Fate = FateUndetermined
		}
	}
}
