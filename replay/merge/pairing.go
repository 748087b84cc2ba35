package merge

import "sort"

// pairing finds which packet of the one capture is which of the other, in one strand.
//
// Packets that each capture has once are anchors. Those that keep their order (the longest increasing run) hold
// the rest in place: a packet and its repetition, which look alike, are told apart by the anchors between which they
// lie. What does not keep its order has been overtaken, or is a repetition whose original the other capture saw: only
// where the sender numbers its IP packets can that be told.
type pairing struct {
	first, second map[uint64]group
	tails         []int
	before        []int
	anchors       []int // of the first list, in order
}

// group is where a key stands in a list.
type group struct{ index, count int }

func index(list []held, into map[uint64]group) map[uint64]group {
	if into == nil {
		into = map[uint64]group{}
	}
	clear(into)
	for i := range list {
		g, known := into[list[i].key]
		if !known {
			g.index = i
		}
		g.count++
		into[list[i].key] = g
	}
	return into
}

// pair sets mates and states of what waits in a strand. tolerance: ns that a packet may seem to be early; window: ns
// between the two at most; roundTrip: the least time in which a sender could repeat a packet, ns, 0: unknown.
func (p *pairing) pair(t *strand, tolerance, window, roundTrip int64) {
	a, b := t.waiting[0], t.waiting[1]
	if len(a) == 0 || len(b) == 0 {
		return // what comes twice in one capture alone was sent twice
	}
	p.first, p.second = index(a, p.first), index(b, p.second)
	p.anchors = p.anchors[:0]
	for i := range a {
		x, y := p.first[a[i].key], p.second[a[i].key]
		if x.count != 1 || y.count != 1 {
			continue
		}
		if !near(t.order, &a[i], &b[y.index], tolerance, window) {
			a[i].state, b[y.index].state = stateAmbiguous, stateAmbiguous
			if apart(&a[i], &b[y.index], window) {
				a[i].state, b[y.index].state = stateAlone, stateAlone
			}
			continue
		}
		a[i].mate, b[y.index].mate = y.index, i
		p.anchors = append(p.anchors, i)
	}
	p.straighten(t)
	p.doubtful(t, roundTrip)
	p.repeated(t, tolerance, window)
}

// near tells whether two packets that look alike can be one: neither too far apart, nor in the wrong order.
func near(o Order, x, y *held, tolerance, window int64) bool {
	if x.flags&y.flags&heldICRC != 0 && x.icrc != y.icrc {
		return false
	}
	d := y.at - x.at
	switch o {
	case FirstPoint:
		return d >= -tolerance && d <= window
	case SecondPoint:
		return -d >= -tolerance && -d <= window
	case SamePoint, OrderUnknown:
	}
	return d >= -window && d <= window
}

// apart tells that two packets are so far from each other that they surely are two.
func apart(x, y *held, window int64) bool {
	d := y.at - x.at
	return d > window || d < -window
}

// straighten takes the anchors that keep their order for pairs, and says of the others what can be said.
func (p *pairing) straighten(t *strand) {
	a, b := t.waiting[0], t.waiting[1]
	p.tails, p.before = p.tails[:0], append(p.before[:0], make([]int, len(p.anchors))...)
	for k, i := range p.anchors {
		at := sort.Search(len(p.tails), func(n int) bool { return a[p.anchors[p.tails[n]]].mate >= a[i].mate })
		p.before[k] = -1
		if at > 0 {
			p.before[k] = p.tails[at-1]
		}
		if at == len(p.tails) {
			p.tails = append(p.tails, k)
		} else {
			p.tails[at] = k
		}
	}
	if len(p.tails) > 0 {
		for k := p.tails[len(p.tails)-1]; k >= 0; k = p.before[k] {
			a[p.anchors[k]].state = statePaired
		}
	}
	kept := p.anchors[:0]
	for _, i := range p.anchors {
		mate := a[i].mate
		switch {
		case a[i].state == statePaired:
			b[mate].state = statePaired
			kept = append(kept, i)
		case t.counts:
			a[i].state, b[mate].state = stateReordered, stateReordered
		default:
			split(a, b, i)
			t.mixed = true
		}
	}
	p.anchors = kept
}

// split undoes a pair that may be two packets.
func split(a, b []held, i int) {
	mate := a[i].mate
	a[i].mate, b[mate].mate = -1, -1
	a[i].state, b[mate].state = stateAmbiguous, stateAmbiguous
}

// doubtful undoes pairs that took long, unless packets around them explain it: the first may have been lost between
// the points, and the second capture's be its repetition, which the first missed.
func (p *pairing) doubtful(t *strand, roundTrip int64) {
	if t.counts || roundTrip <= 0 || t.order == OrderUnknown {
		return
	}
	a, b := t.waiting[0], t.waiting[1]
	of := func(k int) (sent, came int64) {
		i := p.anchors[k]
		x, y := a[i].at, b[a[i].mate].at
		if t.order == SecondPoint {
			x, y = y, x
		}
		return x, y
	}
	limit := roundTrip * 9 / 10
	kept := make([]int, 0, len(p.anchors))
	for k, i := range p.anchors {
		sent, came := of(k)
		ok := came-sent < limit
		if !ok && k > 0 { // it queued behind the one before
			_, previous := of(k - 1)
			ok = came-max(previous, sent) < limit
		}
		if !ok && k+1 < len(p.anchors) { // one that was sent after it came after it
			next, _ := of(k + 1)
			ok = next < came
		}
		if ok {
			kept = append(kept, i)
			continue
		}
		split(a, b, i)
	}
	p.anchors = kept
}

// repeated pairs packets that look alike by the anchors between which they lie.
func (p *pairing) repeated(t *strand, tolerance, window int64) {
	alike := map[uint64][2][]int{}
	for point, list := range t.waiting {
		for i := range list {
			key := list[i].key
			x, y := p.first[key], p.second[key]
			if list[i].state != stateAlone || list[i].mate >= 0 || x.count+y.count < 3 || x.count == 0 || y.count == 0 {
				continue
			}
			both := alike[key]
			both[point] = append(both[point], i)
			alike[key] = both
		}
	}
	if len(alike) == 0 {
		return
	}
	a := t.waiting[0]
	ends := make([]int, len(p.anchors)) // of the anchors, in the second list
	for k, i := range p.anchors {
		ends[k] = a[i].mate
	}
	for _, both := range alike {
		byGap := map[int][2][]int{}
		for _, i := range both[0] {
			gap := sort.SearchInts(p.anchors, i)
			g := byGap[gap]
			g[0] = append(g[0], i)
			byGap[gap] = g
		}
		for _, i := range both[1] {
			gap := sort.SearchInts(ends, i)
			g := byGap[gap]
			g[1] = append(g[1], i)
			byGap[gap] = g
		}
		for _, g := range byGap {
			align(t, g, tolerance, window)
		}
	}
	for _, both := range alike {
		leftOver(t, both)
	}
	doubled(t, p.first, p.second)
}

// leftOver has doubts about what looks alike and remains in both captures: it may be one packet that was overtaken.
func leftOver(t *strand, both [2][]int) {
	var left [2]int
	for point, list := range both {
		for _, i := range list {
			if t.waiting[point][i].mate < 0 {
				left[point]++
			}
		}
	}
	if left[0] == 0 || left[1] == 0 {
		return
	}
	t.mixed = t.mixed || !t.counts
	for point, list := range both {
		for _, i := range list {
			if h := &t.waiting[point][i]; h.mate < 0 {
				h.state = stateAmbiguous
			}
		}
	}
}

// doubled marks what is left over behind the point that packets pass second: a network may have doubled it, or the first
// capture missed a repetition.
func doubled(t *strand, first, second map[uint64]group) {
	for point, list := range t.waiting {
		upstream := first
		if point == 0 {
			upstream = second
		}
		if (point == 0) != (t.order == SecondPoint) && t.order != OrderUnknown && t.order != SamePoint {
			continue
		}
		for i := range list {
			if list[i].state == stateAlone && list[i].mate < 0 && upstream[list[i].key].count > 0 {
				list[i].state = stateDoubled
			}
		}
	}
}

// align pairs what looks alike and lies in one gap: one by one when there are as many here as there.
func align(t *strand, g [2][]int, tolerance, window int64) {
	if len(g[0]) == 0 || len(g[1]) == 0 {
		return
	}
	a, b := t.waiting[0], t.waiting[1]
	fits := len(g[0]) == len(g[1])
	for k := 0; fits && k < len(g[0]); k++ {
		fits = near(t.order, &a[g[0][k]], &b[g[1][k]], tolerance, window)
	}
	for k := range g[0] {
		a[g[0][k]].state = stateAmbiguous
		if fits {
			a[g[0][k]].mate, a[g[0][k]].state = g[1][k], statePaired
		}
	}
	for k := range g[1] {
		b[g[1][k]].state = stateAmbiguous
		if fits {
			b[g[1][k]].mate, b[g[1][k]].state = g[0][k], statePaired
		}
	}
}
