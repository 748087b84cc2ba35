package merge

import (
	"cmp"
	"math"
	"slices"
)

// maxDrift is how far two clocks are thought to run apart at most: 300 ppm, three times what crystals of network cards do.
const maxDrift = 300e-6

// maxDropped is how many packets are left out at most because they contradict the others.
const maxDropped = 64

// point is one packet that both saw: when by A's clock, and the difference of B's. In ns, from an origin.
type point struct{ t, y float64 }

// corridor is the set of lines y = a + b·t below all upper points and above all lower ones.
type corridor struct {
	upper []point // lower hull of the packets from A to B
	lower []point // upper hull of those from B to A
}

func newCorridor(upper, lower []point) corridor {
	return corridor{hull(upper, 1), hull(lower, -1)}
}

// hull is the lower (side 1) or upper (side -1) convex hull of points that are in order of t.
func hull(points []point, side float64) []point {
	var out []point
	for _, p := range points {
		for len(out) > 0 && out[len(out)-1].t == p.t && side*(out[len(out)-1].y-p.y) >= 0 {
			out = out[:len(out)-1]
		}
		if len(out) > 0 && out[len(out)-1].t == p.t {
			continue
		}
		for len(out) > 1 {
			a, b := out[len(out)-2], out[len(out)-1]
			if side*((b.y-a.y)*(p.t-a.t)-(p.y-a.y)*(b.t-a.t)) < 0 {
				break
			}
			out = out[:len(out)-1]
		}
		out = append(out, p)
	}
	return out
}

// most is the highest value at t of a line with the slope that is below all upper points.
func (c *corridor) most(slope, t float64) float64 {
	least := math.Inf(1)
	for _, p := range c.upper {
		least = min(least, p.y-slope*(p.t-t))
	}
	return least
}

// least is the lowest value at t of a line with the slope that is above all lower points.
func (c *corridor) least(slope, t float64) float64 {
	most := math.Inf(-1)
	for _, p := range c.lower {
		most = max(most, p.y-slope*(p.t-t))
	}
	return most
}

func (c *corridor) width(slope float64) float64 { return c.most(slope, 0) - c.least(slope, 0) }

// peak is where a concave function is largest.
func peak(low, high float64, f func(float64) float64) float64 {
	for range 120 {
		a, b := low+(high-low)/3, high-(high-low)/3
		if f(a) < f(b) {
			low = a
		} else {
			high = b
		}
	}
	return (low + high) / 2
}

// edge is the slope between inside, where f is not negative, and outside, at which it becomes negative.
func edge(inside, outside float64, f func(float64) float64) float64 {
	if f(outside) >= 0 {
		return outside
	}
	for range 80 {
		middle := (inside + outside) / 2
		if f(middle) >= 0 {
			inside = middle
		} else {
			outside = middle
		}
	}
	return inside
}

// line is an estimate of a clock's offset and drift.
type line struct {
	at, slope       float64 // value at t = 0
	slopes          [2]float64
	corridor        corridor
	twoSided        bool
	violation       float64 // ns by which the constraints contradict each other
	upperN, lowerN  int
	dropped         int
	firstT, middleT float64
	lastT           float64
}

// fit finds the line in the middle of the corridor. Points that contradict the others, up to a share of 2 %, are left
// out: a few repetitions are taken for their originals, and a few stamps are late.
func fit(upper, lower []point) line {
	byTime := func(a, b point) int { return cmp.Or(cmp.Compare(a.t, b.t), cmp.Compare(a.y, b.y)) }
	upper, lower = slices.SortedFunc(slices.Values(upper), byTime), slices.SortedFunc(slices.Values(lower), byTime)
	total := len(upper) + len(lower)
	allowed := min(total/50, maxDropped)
	if total >= 10 {
		allowed = max(allowed, 1)
	}
	l := line{upperN: len(upper), lowerN: len(lower)}
	l.solve(upper, lower)
	for l.violation > 0 && l.dropped < allowed {
		upper, lower = l.drop(upper, lower)
	}
	l.span(upper, lower)
	return l
}

// solve fits the line to points in order of t.
func (l *line) solve(upper, lower []point) {
	l.corridor = newCorridor(upper, lower)
	c := &l.corridor
	l.twoSided = len(upper) > 0 && len(lower) > 0
	l.violation = 0
	if !l.twoSided {
		l.oneSided()
		return
	}
	l.slope = peak(-maxDrift, maxDrift, c.width)
	most, least := c.most(l.slope, 0), c.least(l.slope, 0)
	l.at = (most + least) / 2
	if least > most {
		l.violation = least - most
		l.slopes = [2]float64{l.slope, l.slope}
		return
	}
	l.slopes = [2]float64{edge(l.slope, -maxDrift, c.width), edge(l.slope, maxDrift, c.width)}
}

// oneSided takes the edge of the hull below or above the middle: there is no bound on the other side.
func (l *line) oneSided() {
	c := &l.corridor
	points := c.upper
	if len(points) == 0 {
		points = c.lower
	}
	l.slopes = [2]float64{-maxDrift, maxDrift}
	l.slope = 0
	middle := (points[0].t + points[len(points)-1].t) / 2
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		if a.t <= middle && middle <= b.t {
			l.slope = max(-maxDrift, min(maxDrift, (b.y-a.y)/(b.t-a.t)))
		}
	}
	if len(c.upper) > 0 {
		l.at = c.most(l.slope, 0)
	} else {
		l.at = c.least(l.slope, 0)
	}
}

// drop leaves out the point without which the contradiction is smallest: one of those that hold the line.
func (l *line) drop(upper, lower []point) (restUpper, restLower []point) {
	best := math.Inf(1)
	restUpper, restLower = upper, lower
	var chosen line
	try := func(u, o []point) {
		if len(u) == 0 || len(o) == 0 {
			return
		}
		x := *l
		x.solve(u, o)
		x.dropped++
		if x.violation < best {
			best, chosen, restUpper, restLower = x.violation, x, u, o
		}
	}
	for _, i := range l.holding(upper, 1) {
		try(slices.Concat(upper[:i], upper[i+1:]), lower)
	}
	for _, i := range l.holding(lower, -1) {
		try(upper, slices.Concat(lower[:i], lower[i+1:]))
	}
	if math.IsInf(best, 1) {
		l.dropped = maxDropped // nothing can be left out
		return upper, lower
	}
	*l = chosen
	return restUpper, restLower
}

// holding are the points that violate the line most, two at most.
func (l *line) holding(points []point, side float64) []int {
	worst, second := -1, -1
	excess := func(i int) float64 { return side * (l.value(points[i].t) - points[i].y) }
	for i := range points {
		switch {
		case worst < 0 || excess(i) > excess(worst):
			worst, second = i, worst
		case second < 0 || excess(i) > excess(second):
			second = i
		}
	}
	if second < 0 {
		return []int{worst}
	}
	return []int{worst, second}
}

func (l *line) span(upper, lower []point) {
	l.firstT, l.lastT = math.Inf(1), math.Inf(-1)
	for _, points := range [...][]point{upper, lower} {
		if len(points) > 0 {
			l.firstT, l.lastT = min(l.firstT, points[0].t), max(l.lastT, points[len(points)-1].t)
		}
	}
	l.middleT = (l.firstT + l.lastT) / 2
}

func (l *line) value(t float64) float64 { return l.at + l.slope*t }

// doubt is how far the offset at t may be from the line, in ns; infinite when one side is not bounded.
func (l *line) doubt(t float64) float64 {
	if !l.twoSided {
		return math.Inf(1)
	}
	c, v := &l.corridor, l.value(t)
	high := c.most(peak(l.slopes[0], l.slopes[1], func(b float64) float64 { return c.most(b, t) }), t)
	low := c.least(peak(l.slopes[0], l.slopes[1], func(b float64) float64 { return -c.least(b, t) }), t)
	return max(high-v, v-low, 0) + l.violation
}
