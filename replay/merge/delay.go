package merge

import "math/bits"

// Delays are the times between the points, ns. The quantiles are right to 2 %. All share the error of the offset.
type Delays struct {
	Packets            uint64
	Min, P50, P99, Max int64
}

const (
	subBits  = 5
	maxBands = 64 - subBits
)

// delays counts times in bands of which each is 1/32 of its value wide.
type delays struct {
	n        uint64
	min, max int64
	bands    [maxBands << subBits]uint32
}

func bandOf(ns int64) int {
	v := uint64(max(ns, 0))
	if v < 1<<subBits {
		return int(v)
	}
	e := bits.Len64(v) - 1 - subBits
	return (e+1)<<subBits | int(v>>e&(1<<subBits-1))
}

// middle is a time in the middle of a band.
func middle(band int) int64 {
	if band < 1<<subBits {
		return int64(band)
	}
	e := band>>subBits - 1
	return (int64(band&(1<<subBits-1))|1<<subBits)<<e + int64(1)<<e/2
}

func (d *delays) add(ns int64) {
	if d.n == 0 {
		d.min, d.max = ns, ns
	}
	d.n++
	d.min, d.max = min(d.min, ns), max(d.max, ns)
	if band := &d.bands[bandOf(ns)]; *band != ^uint32(0) {
		*band++
	}
}

// slow is how many took a quarter longer than the fastest and more. Of packets that all look alike, one may have been
// lost between the points, and what came there for it be the next one, which the first capture missed.
func (d *delays) slow() (n uint64) {
	limit := bandOf(d.min + d.min/4)
	for _, k := range d.bands[limit:] {
		n += uint64(k)
	}
	return n
}

func (d *delays) quantile(q float64) int64 {
	rank := uint64(q * float64(d.n-1))
	var sum uint64
	for band, n := range d.bands {
		if sum += uint64(n); sum > rank {
			return max(d.min, min(d.max, middle(band)))
		}
	}
	return d.max
}

func (d *delays) report() Delays {
	if d.n == 0 {
		return Delays{}
	}
	return Delays{Packets: d.n, Min: d.min, P50: d.quantile(0.5), P99: d.quantile(0.99), Max: d.max}
}
