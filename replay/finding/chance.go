package finding

import "math"

// Evidence counts how often something happened that a conforming transport shows only when a packet was lost or
// missed, of how many times it could have.
type Evidence struct {
	Cases, Suspicious uint32
}

// Add counts one case.
func (e *Evidence) Add(suspicious bool) {
	if e.Cases == math.MaxUint32 {
		return
	}
	e.Cases++
	if suspicious {
		e.Suspicious++
	}
}

// certainty is -ln of the probability below which chance is no explanation: 1e-9 for a rule and connection.
const certainty = 20.7

// Convicts tells whether chance cannot explain the evidence, if one case is innocently suspicious with at most the
// probability q: the tail of a binomial distribution, bounded as Chernoff did, is below 1e-9.
func (e Evidence) Convicts(q float64) bool {
	n, s := float64(e.Cases), float64(e.Suspicious)
	if s < 2 || q <= 0 || s <= n*q {
		return false
	}
	share := s / n
	information := share * math.Log(share/q)
	if share < 1 {
		information += (1 - share) * math.Log((1-share)/(1-q))
	}
	return n*information > certainty
}

// Verdict is Diverges when chance cannot explain the evidence, else Undetermined.
func (e Evidence) Verdict(q float64) Verdict {
	if e.Convicts(q) {
		return Diverges
	}
	return Undetermined
}

// ShareAtMost is an upper bound of the true share when k of n were observed: the share itself and four standard
// deviations, and never less than 5 of n, which leaves 1 % of doubt where nothing at all was observed.
func ShareAtMost(k, n uint64) float64 {
	if n == 0 {
		return 1
	}
	x, total := float64(k), float64(n)
	return min(1, (x+5+4*math.Sqrt(x))/total)
}
