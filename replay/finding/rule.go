package finding

// Rule is an index into the catalogue. The numbers may change between versions; the ID does not.
type Rule uint8

// Description is what the catalogue says of a rule.
type Description struct {
	ID           string // stable, "roce." or "metaroce." and a name
	Title        string // what the reference does, one clause
	Severity     Severity
	Diverges     string // when this is the verdict
	Undetermined string // when this is; empty: it is decided by what is in the packet
	Source       string // IBTA section, RFC, mr0 rule or paper
	Next         string // what to look at next
}

// RuleCount is the number of rules of the catalogue.
const RuleCount = RoCERuleCount + MetaRoCERuleCount

// Describe is the catalogue's entry.
func (r Rule) Describe() *Description {
	if r < RoCERuleCount {
		return &roceRules[r]
	}
	return &metaroceRules[r-RoCERuleCount]
}

// String is the rule's ID.
func (r Rule) String() string { return r.Describe().ID }

// MetaRoCE tells whether it is a rule of MetaRoCE; all others are of RoCE.
func (r Rule) MetaRoCE() bool { return r >= RoCERuleCount }

// Find is the rule with an ID.
func Find(id string) (Rule, bool) {
	for r := range Rule(RuleCount) {
		if r.Describe().ID == id {
			return r, true
		}
	}
	return 0, false
}
