package figures

import (
	"time"

	"github.com/rocelens/rocelens/replay/metaroce/simulation"
)

// Failover is what a connection does when one of its planes dies.
type Failover struct {
	Planes int
	Before float64 // bit/s of payload
	After  float64 // once it has recovered
	// Recovered is how long after the plane's death the throughput was back at 95 % of what the planes left had
	// before, for good; 0: not while it was watched.
	Recovered time.Duration
	// Longest is the longest time without a completed message.
	Longest time.Duration
	// PathsFailed is how many paths were given up; all on the dead plane, if all is well.
	PathsFailed uint64
	Errors      int // that an application saw
	GoBackN     struct {
		Before, After float64
		Dead          int // of 8 connections, those that delivered nothing in the last quarter of the time
	}
}

// MeasureFailover takes a plane down while a connection sends, and watches for the time.
func (f Fabric) MeasureFailover(planes int, d time.Duration) Failover {
	const settle, slot = 5 * time.Millisecond, 100 * time.Microsecond
	row := Failover{Planes: planes}
	n := f.network(7, planes, 0)
	a, b := f.end(n, 1, nil), f.end(n, 2, nil)
	c := a.connect(b, 0, 4*planes, planes)
	a.bulk(n, c, 0)
	n.Run(settle/2, nil)
	before := b.total()
	n.Run(settle, nil)
	row.Before = rate(b.total()-before, settle/2)
	goal := 0.95 * row.Before * float64(planes-1) / float64(planes)
	a.longest = 0
	f.kill(n, planes-1)
	var slots []float64
	for at := settle + slot; at <= settle+d; at += slot {
		before = b.total()
		n.Run(at, nil)
		slots = append(slots, rate(b.total()-before, slot))
	}
	// Smoothed over five slots, so that the beat of ACKs does not count as a fault.
	last := -1
	for i := range slots {
		sum := 0.0
		from := max(0, i-4)
		for _, s := range slots[from : i+1] {
			sum += s
		}
		if sum/float64(i+1-from) < goal {
			last = i
		}
	}
	if last+1 < len(slots) {
		row.Recovered = time.Duration(last+2) * slot
	}
	tail := slots[3*len(slots)/4:]
	for _, s := range tail {
		row.After += s / float64(len(tail))
	}
	row.Longest = max(a.longest, n.Now-a.latest[c])
	row.PathsFailed = c.Statistics().PathFailures
	row.Errors = a.errors
	f.failoverGoBackN(&row, planes, settle, d)
	return row
}

// kill takes a plane down.
func (f Fabric) kill(n *simulation.Network, plane int) {
	for _, l := range n.Planes[plane].Routes {
		l.Down = true
	}
}

// failoverGoBackN has eight connections, spread over the planes.
func (f Fabric) failoverGoBackN(row *Failover, planes int, settle, d time.Duration) {
	const connections = 8
	n := f.network(7, planes, 0)
	g, h := f.goBackN(n, 1), f.goBackN(n, 2)
	for key := range uint32(connections) {
		g.Open(key, uint8(int(key)%planes), uint16(50000+key), h.Address)
	}
	n.Wake(n.Hosts[0])
	total := func() (sum uint64) {
		for key := range uint32(connections) {
			sum += h.Delivered(key)
		}
		return sum
	}
	n.Run(settle/2, nil)
	before := total()
	n.Run(settle, nil)
	row.GoBackN.Before = rate(total()-before, settle/2)
	f.kill(n, planes-1)
	n.Run(settle+3*d/4, nil)
	before = total()
	var each [connections]uint64
	for key := range each {
		each[key] = h.Delivered(uint32(key))
	}
	n.Run(settle+d, nil)
	row.GoBackN.After = rate(total()-before, d/4)
	for key := range each {
		if h.Delivered(uint32(key)) == each[key] {
			row.GoBackN.Dead++
		}
	}
}
