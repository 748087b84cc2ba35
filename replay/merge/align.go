package merge

import (
	"cmp"
	"errors"
	"math"
	"slices"
)

// ErrNothingInCommon says that no packet is in both captures, and what that may come of.
var ErrNothingInCommon = errors.New("no packet in common: they are not of the same traffic or time, addresses are rewritten between them, " +
	"or one is cut before the headers of the transport")

// couple is a sampled packet that both saw.
type couple struct {
	numbers [2]uint64
	t, y    float64 // time by the first clock, and what the second shows more, from an origin
	time    int64
	diff    int64
	route   route
	order   Order
}

const maxPieces = 16

// Align relates the clocks of two captures. [ErrNothingInCommon] when no packet is in both.
func Align(a, b *Sample) (*Clocks, error) {
	couples := common(a, b)
	if len(couples) == 0 {
		return nil, ErrNothingInCommon
	}
	c := &Clocks{
		Grain: [2]int64{a.grain, b.grain}, orders: map[route]Order{}, partners: map[uint64]uint64{}, counting: map[lane]bool{},
		extent: [2][2]int64{{a.began, a.ended}, {b.began, b.ended}},
	}
	for _, s := range [...]*Sample{a, b} {
		for flow, partner := range s.pairs {
			c.partners[flow], c.partners[partner] = partner, flow
		}
		for at, l := range s.lanes {
			if l.partner != 0 {
				c.partners[at.flow] = l.partner
				c.partners[l.partner] = at.flow
			}
			counts, known := c.counting[at]
			c.counting[at] = l.counts() && (counts || !known)
		}
	}
	c.order(couples)
	c.split(couples, maxPieces)
	c.rest(couples)
	return c, nil
}

// common finds the packets that both samples have just once, in the order of the first capture.
func common(a, b *Sample) []couple {
	var out []couple
	limit := min(a.limit, b.limit)
	for key, x := range a.entries {
		y, both := b.entries[key]
		if !both || key > limit || x.seen != 1 || y.seen != 1 || x.again || y.again || (x.hasICRC && y.hasICRC && x.icrc != y.icrc) {
			continue
		}
		out = append(out, couple{numbers: [2]uint64{x.number, y.number}, time: x.time, diff: y.time - x.time, route: x.route})
	}
	slices.SortFunc(out, func(x, y couple) int { return cmp.Compare(x.numbers[0], y.numbers[0]) })
	return out
}

// rebase expresses times from an origin, so that floating-point numbers hold them to the nanosecond.
func rebase(couples []couple) (origin, shift int64) {
	middle := &couples[len(couples)/2]
	origin, shift = middle.time, middle.diff
	for i := range couples {
		couples[i].t, couples[i].y = float64(couples[i].time-origin), float64(couples[i].diff-shift)
	}
	return origin, shift
}

// roughDrift is a first estimate of the drift: the median of slopes between packets of one route that lie an eighth
// of the capture apart, so that a clock that was set spoils few of them.
func roughDrift(couples []couple) float64 {
	by := map[route][]*couple{}
	for i := range couples {
		by[couples[i].route] = append(by[couples[i].route], &couples[i])
	}
	var slopes []float64
	for _, all := range by {
		lag := max(1, len(all)/8)
		for i := lag; i < len(all); i++ {
			if dt := all[i].t - all[i-lag].t; dt > 0 {
				slopes = append(slopes, (all[i].y-all[i-lag].y)/dt)
			}
		}
	}
	if len(slopes) == 0 {
		return 0
	}
	slices.Sort(slopes)
	return max(-maxDrift, min(maxDrift, slopes[len(slopes)/2]))
}

// order finds for each route which point comes first: a packet there shows more of the second clock than one back at
// about the same time, by the round trip between the points.
func (c *Clocks) order(couples []couple) {
	rebase(couples)
	drift := roughDrift(couples)
	const near = 1e9 // ns
	type score struct{ more, less, same int }
	scores := map[route]*score{}
	latest := map[route]*couple{}
	grain := float64(max(c.Grain[0], c.Grain[1]))
	for i := range couples {
		x := &couples[i]
		latest[x.route] = x
		y := latest[x.route.back()]
		if y == nil || math.Abs(x.t-y.t) > near {
			continue
		}
		there, back := scores[x.route], scores[y.route]
		if there == nil {
			there, back = &score{}, &score{}
			scores[x.route], scores[y.route] = there, back
		}
		switch d := (x.y - drift*x.t) - (y.y - drift*y.t); {
		case math.Abs(d) < 2*grain || d == 0:
			there.same++
			back.same++
		case d > 0:
			there.more++
			back.less++
		default:
			there.less++
			back.more++
		}
	}
	for r, s := range scores {
		switch all := s.more + s.less + s.same; {
		case 10*s.more >= 9*all && all > 0:
			c.orders[r] = FirstPoint
		case 10*s.less >= 9*all && all > 0:
			c.orders[r] = SecondPoint
		case 10*s.same >= 9*all && all > 0:
			c.orders[r] = SamePoint
		}
	}
	for i := range couples {
		couples[i].order = c.orders[couples[i].route]
	}
}

// split fits a line, or two where a clock was set, and so on.
func (c *Clocks) split(couples []couple, pieces int) {
	p := c.fit(couples)
	if p.line.violation > 0 && pieces > 1 {
		if at := jump(couples); at > 0 {
			c.split(couples[:at], pieces/2)
			c.split(couples[at:], pieces/2)
			return
		}
	}
	c.Pieces = append(c.Pieces, p)
}

// fit relates the clocks over a run of packets.
func (c *Clocks) fit(couples []couple) Piece {
	first, last := &couples[0], &couples[len(couples)-1]
	p := Piece{FirstNumbers: first.numbers, LastNumbers: last.numbers}
	p.origin, p.shift = rebase(couples)
	var upper, lower []point
	for i := range couples {
		x := &couples[i]
		p.FirstNumbers[1] = min(p.FirstNumbers[1], x.numbers[1])
		p.LastNumbers[1] = max(p.LastNumbers[1], x.numbers[1])
		// A stamp is cut to its unit: the truth lies up to a unit later.
		late, early := point{x.t, x.y + float64(c.Grain[1])}, point{x.t, x.y - float64(c.Grain[0])}
		if x.order == FirstPoint || x.order == SamePoint {
			upper = append(upper, late)
		}
		if x.order == SecondPoint || x.order == SamePoint {
			lower = append(lower, early)
		}
	}
	if len(upper)+len(lower) == 0 { // nothing tells the points' order: the smallest difference is the best guess
		for i := range couples {
			upper = append(upper, point{couples[i].t, couples[i].y})
		}
	}
	p.line = fit(upper, lower)
	p.publish(len(couples))
	return p
}

// jump finds where the difference of the clocks changes at once, and for good: the index of the first packet
// behind it; 0 when there is no such place.
func jump(couples []couple) int {
	const side = 8
	if len(couples) < 2*side {
		return 0
	}
	rebase(couples)
	drift := roughDrift(couples)
	level := func(part []couple) float64 {
		values := make([]float64, len(part))
		for i := range part {
			values[i] = part[i].y - drift*part[i].t
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	best, at, sizes := 0.0, 0, make([]float64, 0, len(couples))
	for i := side; i+side <= len(couples); i++ {
		size := math.Abs(level(couples[i-side:i]) - level(couples[i:i+side]))
		sizes = append(sizes, size)
		if size > best {
			best, at = size, i
		}
	}
	slices.Sort(sizes)
	if usual := sizes[len(sizes)*9/10]; best < 4*usual && len(sizes) > 4*side {
		return 0
	}
	before, after := level(couples[at-side:at]), level(couples[at:at+side])
	boundary, fewest := at, side*2+1
	for i := at - side; i <= at+side; i++ {
		wrong := 0
		for k := at - side; k < at+side; k++ {
			v := couples[k].y - drift*couples[k].t
			if (math.Abs(v-before) < math.Abs(v-after)) != (k < i) {
				wrong++
			}
		}
		if wrong < fewest {
			boundary, fewest = i, wrong
		}
	}
	if boundary < 2 || len(couples)-boundary < 2 {
		return 0
	}
	return boundary
}

// rest finds the order of routes that have packets one way only, from the clocks as they are known now, and the
// largest time between the points.
func (c *Clocks) rest(couples []couple) {
	type score struct{ more, less, all int }
	scores := map[route]*score{}
	var delays []int64
	for i := range couples {
		x := &couples[i]
		k, _ := c.piece(0, x.numbers[0])
		p := &c.Pieces[k]
		delay := p.common(1, x.time+x.diff) - x.time
		delays = append(delays, max(delay, -delay))
		if !p.DoubtKnown || x.order != OrderUnknown {
			continue
		}
		s := scores[x.route]
		if s == nil {
			s = &score{}
			scores[x.route] = s
		}
		s.all++
		switch doubt := p.OffsetDoubt + c.Grain[0] + c.Grain[1]; {
		case delay > doubt:
			s.more++
		case delay < -doubt:
			s.less++
		}
	}
	for r, s := range scores {
		if _, known := c.orders[r]; known || s.all < 3 {
			continue
		}
		switch {
		case 20*s.more >= 19*s.all:
			c.orders[r] = FirstPoint
		case 20*s.less >= 19*s.all:
			c.orders[r] = SecondPoint
		}
	}
	slices.Sort(delays)
	c.slack = delays[(len(delays)-1)*999/1000]
}
