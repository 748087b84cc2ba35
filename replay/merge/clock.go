package merge

import (
	"math"
	"sort"
)

// Order is which of two points packets pass first.
type Order uint8

// Orders.
const (
	OrderUnknown Order = iota
	FirstPoint         // packets pass the first capture's point before the second's
	SecondPoint        // the other way round
	SamePoint          // no time passes between the points
)

// String is a phrase for people.
func (o Order) String() string {
	switch o {
	case FirstPoint:
		return "first, then second"
	case SecondPoint:
		return "second, then first"
	case SamePoint:
		return "the same point"
	case OrderUnknown:
	}
	return "unknown"
}

// Piece is a stretch of both captures in which neither clock was set.
type Piece struct {
	FirstNumbers [2]uint64 // of the first packet that both saw, in each capture
	LastNumbers  [2]uint64 // of the last
	Time         int64     // by the first capture's clock, in the middle of what both saw, ns
	Offset       int64     // of the second clock at that time: what it shows more, ns
	Drift        float64   // of the second clock against the first, 1e-6 is 1 ppm
	// OffsetDoubt and DriftDoubt are how far the truth may be from the estimate either way. OffsetDoubt is that of the
	// worst moment of the piece. Both are unknown, and Offset only an upper or lower bound, when all packets that both
	// saw went the same way.
	OffsetDoubt   int64
	DriftDoubt    float64
	DoubtKnown    bool
	Packets       uint64 // that the estimate rests on
	Contradicting uint64 // of these: left out
	Consistent    bool   // the rest leaves room for a line; otherwise the doubt is widened by what is missing

	line   line
	origin int64 // time of the first clock at t = 0
	shift  int64 // offset at y = 0
}

// Clocks relate the clock of a second capture to that of a first.
type Clocks struct {
	Pieces []Piece // more than one when a clock was set between
	// Grain is the unit of the time stamps of each capture, ns, as far as the stamps tell.
	Grain [2]int64

	orders   map[route]Order
	partners map[uint64]uint64
	counting map[lane]bool
	extent   [2][2]int64 // times of the first and last packet of each capture
	slack    int64       // ns: largest time between the points, of the packets that were sampled
}

// Set tells whether a clock was set while both captured.
func (c *Clocks) Set() bool { return len(c.Pieces) > 1 }

// piece is the index of the piece that a packet belongs to; between is true when it lies between two pieces, so that
// its time is in doubt.
func (c *Clocks) piece(point int, number uint64) (index int, between bool) {
	i := sort.Search(len(c.Pieces), func(i int) bool { return c.Pieces[i].FirstNumbers[point] > number }) - 1
	if i < 0 {
		return 0, false
	}
	return i, i+1 < len(c.Pieces) && number > c.Pieces[i].LastNumbers[point]
}

// common is a packet's time by the first capture's clock.
func (p *Piece) common(point int, time int64) int64 {
	if point == 0 {
		return time
	}
	at := float64(time - p.origin - p.shift)
	return p.origin + int64(math.Round((at-p.line.at)/(1+p.line.slope)))
}

func (p *Piece) publish(upper int) {
	l := &p.line
	p.Time = p.origin + int64(l.middleT)
	p.Offset = p.shift + int64(math.Round(l.value(l.middleT)))
	p.Drift = l.slope
	p.Packets, p.Contradicting = uint64(upper), uint64(l.dropped)
	p.Consistent = l.violation <= 0
	p.DoubtKnown = l.twoSided
	if l.twoSided {
		doubt := max(l.doubt(l.firstT), l.doubt(l.middleT), l.doubt(l.lastT))
		p.OffsetDoubt = int64(math.Ceil(doubt)) + 1
		p.DriftDoubt = max(l.slopes[1]-l.slope, l.slope-l.slopes[0])
		if l.violation > 0 && l.lastT > l.firstT {
			p.DriftDoubt += l.violation / (l.lastT - l.firstT)
		}
	}
}
