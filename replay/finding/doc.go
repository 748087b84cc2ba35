// Package finding holds what replay says: the catalogue of rules, and the verdicts reached by them about
// connections that a capture shows.
//
// A rule is one thing that the reference transport does or never does. Whatever touches it in a capture is one of
// three: it conforms, it diverges, or the capture cannot tell. Only what no packet missed by the capture, lost, late
// or duplicated on the way can explain is called a divergence; each rule says what it has to rule out.
package finding

//go:generate go run ./document

// Verdict is the judgement about one place where a rule applies.
type Verdict uint8

// Verdicts.
const (
	Conforms     Verdict = iota // the wire did what the reference would
	Diverges                    // it did not, and nothing that the capture may have missed explains it
	Undetermined                // it seems so, but the capture, or the network, may be the reason
)

// String is the verdict's word, as in every output.
func (v Verdict) String() string {
	switch v {
	case Conforms:
		return "conforms"
	case Diverges:
		return "diverges"
	case Undetermined:
	}
	return "undetermined"
}

// Severity is how much a divergence hurts.
type Severity uint8

// Severities, rising.
const (
	Notice  Severity = iota // allowed or harmless; worth to know
	Warning                 // costs throughput or latency, or breaks a SHOULD
	Error                   // breaks a MUST: data, order or the connection are at risk
)

// String is the severity's word, as in every output.
func (s Severity) String() string {
	switch s {
	case Notice:
		return "notice"
	case Warning:
		return "warning"
	case Error:
	}
	return "error"
}

// ParseSeverity is the severity of a word; ok is false for any other.
func ParseSeverity(word string) (s Severity, ok bool) {
	for s := Notice; s <= Error; s++ {
		if s.String() == word {
			return s, true
		}
	}
	return Notice, false
}
