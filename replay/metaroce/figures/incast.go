package figures

import (
	"time"

	"github.com/rocelens/rocelens/replay/metaroce"
)

// Incast is what becomes of N senders that begin at once to send to one receiver.
type Incast struct {
	Senders int
	// RoundTrip is that of a full packet behind one packet of every other sender: the least that N to 1 can have.
	RoundTrip time.Duration
	// Settled is when the rates of all senders had come within 10 % of the fair share and stayed there for a
	// millisecond; 0: not while it was watched.
	Settled time.Duration
	Jain    float64 // of the senders' bytes that arrived after that, or in the last half of the time
	Share   float64 // of the receiver's link that they used then, payload
	Dropped uint64  // packets at the receiver's port
	Longest int     // bytes in its queue
}

// RoundTrips is how many round trips it took until the senders were fair, 0: they did not become fair.
func (r Incast) RoundTrips() float64 { return float64(r.Settled) / float64(r.RoundTrip) }

// incastWindow is how long rates must stay fair to have settled.
const incastWindow = time.Millisecond

// watch finds the time from which on all rates are within tolerance of the fair share.
type watch struct {
	senders int
	fair    float64
	since   time.Duration
	good    bool
}

func (w *watch) look(now time.Duration, rate func(i int) float64) {
	for i := range w.senders {
		if r := rate(i); r < 0.9*w.fair || r > 1.1*w.fair {
			w.good = false
			return
		}
	}
	if !w.good {
		w.good, w.since = true, now
	}
}

// roundTrip with N senders.
func (f Fabric) roundTrip(senders int) time.Duration {
	return f.RoundTrip() + time.Duration(senders-1)*f.packet()
}

// MeasureIncast lets N senders begin at once, each having sent to the receiver before while the others were silent.
// The rate of a sender is what its receiver's hint grants, in bit/s.
func (f Fabric) MeasureIncast(senders int, d time.Duration) Incast {
	row := Incast{Senders: senders, RoundTrip: f.roundTrip(senders)}
	n := f.network(3, 1, 0)
	to := f.end(n, 0, nil)
	var from []*end
	var connections []*metaroce.Connection
	for i := range senders {
		x := f.end(n, 1+i, nil)
		c := x.connect(to, uint32(i), 8, 1)
		from, connections = append(from, x), append(connections, c)
		x.greet(n, c, uint32(i))
		n.Run(n.Now+4*f.RoundTrip(), nil)
	}
	begin := n.Now + incastWindow
	n.Run(begin, nil)
	for i, x := range from {
		x.bulk(n, connections[i], uint32(i))
	}
	w := watch{senders: senders, fair: 0.95 * f.Rate / float64(senders)}
	row.finish(f, w, begin, d, func(at time.Duration) { n.Run(at, nil) },
		func(i int) float64 { return float64(connections[i].RateHint()) * 1e6 },
		func(i int) uint64 {
			if i >= len(to.placed) {
				return 0
			}
			return to.placed[i]
		})
	port := to.host.Down[0]
	row.Dropped, row.Longest = port.Dropped, port.Longest
	return row
}

// MeasureIncastGoBackN does the same with RoCEv2 and DCQCN, whose rates are the senders' own.
func (f Fabric) MeasureIncastGoBackN(senders int, d time.Duration) Incast {
	row := Incast{Senders: senders, RoundTrip: f.roundTrip(senders)}
	n := f.network(3, 1, 0)
	to := f.goBackN(n, 0)
	var rates []func() float64
	for i := range senders {
		g := f.goBackN(n, 1+i)
		rates = append(rates, g.Open(uint32(i), 0, uint16(50000+i), to.Address))
	}
	for _, h := range n.Hosts {
		n.Wake(h)
	}
	w := watch{senders: senders, fair: f.Rate / float64(senders)}
	row.finish(f, w, 0, d, func(at time.Duration) { n.Run(at, nil) },
		func(i int) float64 { return rates[i]() }, func(i int) uint64 { return to.Delivered(uint32(i)) })
	port := n.Hosts[0].Down[0]
	row.Dropped, row.Longest = port.Dropped, port.Longest
	return row
}

// finish watches the rates, and the bytes that arrive from when they have settled.
func (r *Incast) finish(f Fabric, w watch, begin, d time.Duration, run func(until time.Duration), rate func(i int) float64, bytes func(i int) uint64) {
	const step = time.Microsecond
	end := begin + d
	half := make([]uint64, w.senders)
	from := begin + d/2
	for at := begin; at < end; at += step {
		run(at)
		w.look(at, rate)
		if at == from {
			for i := range half {
				half[i] = bytes(i)
			}
		}
	}
	if w.good && end-w.since >= incastWindow {
		r.Settled = max(w.since-begin, step)
	}
	shares := make([]float64, w.senders)
	sum := 0.0
	for i := range shares {
		shares[i] = float64(bytes(i) - half[i])
		sum += shares[i]
	}
	r.Jain = Jain(shares)
	r.Share = sum * 8 / (end - from).Seconds() / f.Rate
}
