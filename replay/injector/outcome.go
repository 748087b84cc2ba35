package injector

import "github.com/rocelens/rocelens/replay/finding"

// Outcome is what replay said of connections with one deviation. Found, Other, Undetermined and Missed add up to
// Connections.
type Outcome struct {
	Connections  int // in which the endpoint deviated
	Found        int // the rule diverges
	Other        int // it does not, but another one does
	Undetermined int // none diverges, and the rule is undetermined
	Missed       int // nothing is said of it

	// Decidable counts connections in which the deviation can still be told: it was found, or of some divergence that
	// the capture shows when it misses nothing, it has all packets that prove it.
	Decidable int

	Verdicts  uint64
	Undecided uint64                 // of the verdicts of all rules
	Others    [finding.RuleCount]int // connections in which another rule diverges
}

// Recall is the share of the connections in which the rule diverges.
func (o *Outcome) Recall() float64 { return float64(o.Found) / float64(max(1, o.Connections)) }

// DecidableRecall is that of the connections that can be decided.
func (o *Outcome) DecidableRecall() float64 { return float64(o.Found) / float64(max(1, o.Decidable)) }

// UndecidedShare is the share of undetermined verdicts, in %.
func (o *Outcome) UndecidedShare() float64 {
	return 100 * float64(o.Undecided) / float64(max(1, o.Verdicts))
}

// Seen is what one capture of a connection shows.
type Seen struct {
	Tallies *[finding.RuleCount]finding.Tally
	Missed  map[uint64]bool // numbers of the packets that the capture has not
	proofs  [][]uint64      // of what diverges from the rule
}

// Found takes a finding.
func (s *Seen) Found(rule finding.Rule, f *finding.Finding) {
	if f.Rule == rule && f.Verdict == finding.Diverges {
		s.proofs = append(s.proofs, append([]uint64(nil), f.Packets()...))
	}
}

// has tells whether the capture has all packets of a proof that whole, which misses none, shows. What whole does not
// show either is no fault of what is missing.
func (s *Seen) has(whole *Seen) bool {
	for _, proof := range whole.proofs {
		complete := true
		for _, number := range proof {
			complete = complete && !s.Missed[number]
		}
		if complete {
			return true
		}
	}
	return len(whole.proofs) == 0
}

// Add adds a connection whose endpoint deviates from the rule, as one capture shows it, and one that misses nothing.
func (o *Outcome) Add(rule finding.Rule, whole, seen *Seen) {
	o.Connections++
	found, others := seen.Tallies[rule].Diverges > 0, false
	for r, t := range seen.Tallies {
		o.Undecided += uint64(t.Undetermined)
		o.Verdicts += uint64(t.Undetermined) + uint64(t.Diverges) + uint64(t.Conforms)
		if finding.Rule(r) != rule && t.Diverges > 0 {
			others = true
			o.Others[r]++
		}
	}
	if found || seen.has(whole) {
		o.Decidable++
	}
	switch {
	case found:
		o.Found++
	case others:
		o.Other++
	case seen.Tallies[rule].Undetermined > 0:
		o.Undetermined++
	default:
		o.Missed++
	}
}

// Merge adds another outcome.
func (o *Outcome) Merge(x *Outcome) {
	o.Connections += x.Connections
	o.Found += x.Found
	o.Other += x.Other
	o.Undetermined += x.Undetermined
	o.Missed += x.Missed
	o.Decidable += x.Decidable
	o.Verdicts += x.Verdicts
	o.Undecided += x.Undecided
	for i := range o.Others {
		o.Others[i] += x.Others[i]
	}
}
