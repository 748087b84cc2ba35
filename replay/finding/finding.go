package finding

import "github.com/rocelens/rocelens/dissector"

// MaxProof is how many packets a finding names.
const MaxProof = 8

// ConnectionID names a connection within one run: the smaller of the IDs of its two flows, as the tracker of flows
// numbers them, or the ID of the only one.
type ConnectionID uint64

// Finding is one place where the wire diverged from the reference, or may have.
type Finding struct {
	Rule       Rule
	Verdict    Verdict // never Conforms: what conforms is only counted
	Connection ConnectionID
	Endpoint   Endpoint // who did it
	Path       int16    // of MetaRoCE; -1 where a path has no part in it

	HasTime bool
	Time    int64 // ns since the Unix epoch, of the packet at which the verdict was reached

	Proof      [MaxProof]uint64 // numbers of the packets that prove it, in the order in which they make the point
	ProofCount int

	Expected string // what the reference would have done
	Seen     string // what the wire shows
	Sentence string // for a network engineer, with the numbers
}

// Packets are the numbers of the packets that prove it.
func (f *Finding) Packets() []uint64 { return f.Proof[:f.ProofCount] }

// Endpoint is one end of a connection.
type Endpoint struct {
	Address dissector.Address
	QP      uint32 // QPN of 24 bits, or the connection id of MetaRoCE, 32 bits
	HasQP   bool   // false when nothing names it
}

// Tally counts verdicts of one rule.
type Tally struct {
	Conforms, Diverges, Undetermined uint32 // each stops at the largest number
}

// Add counts one verdict.
func (t *Tally) Add(v Verdict) {
	n := &t.Conforms
	switch v {
	case Conforms:
	case Diverges:
		n = &t.Diverges
	case Undetermined:
		n = &t.Undetermined
	}
	if *n != ^uint32(0) {
		*n++
	}
}

// Merge adds another tally.
func (t *Tally) Merge(o Tally) {
	add := func(a *uint32, b uint32) {
		if *a+b < *a {
			*a = ^uint32(0)
			return
		}
		*a += b
	}
	add(&t.Conforms, o.Conforms)
	add(&t.Diverges, o.Diverges)
	add(&t.Undetermined, o.Undetermined)
}
