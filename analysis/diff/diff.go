package diff

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rocelens/rocelens/replay/finding"
)

// Figure is one figure of both sides.
type Figure struct {
	Name, Title string
	Group       Group
	Unit        Unit
	Better      Better
	A, B        Value
	Unknown     string // why a side cannot tell, in a sentence; empty when both can
}

// Change is B less A; unknown unless both are known.
func (f *Figure) Change() Value {
	if !f.A.Known || !f.B.Known {
		return Value{}
	}
	return Value{f.B.N - f.A.N, true}
}

// ChangeShare is the change by A: 0.1 is 10 % more. It is unknown when A is 0, too.
func (f *Figure) ChangeShare() Value { return f.Change().share(f.A.N) }

// Rule is what came of a rule on both sides; nil where it did not apply.
type Rule struct {
	Rule finding.Rule
	A, B *RuleTally
}

// Differs tells whether more or less was found on one side. That a rule applied to one alone, and was kept, is no difference.
func (r *Rule) Differs() bool {
	found := func(t *RuleTally) (diverges, undetermined uint32) {
		if t == nil {
			return 0, 0
		}
		return t.Diverges, t.Undetermined
	}
	ad, au := found(r.A)
	bd, bu := found(r.B)
	return ad != bd || au != bu
}

// gravity is what puts a rule in front of others: that it is broken, then that it cannot be told, more on either side.
func (r *Rule) gravity() (diverges, undetermined uint64) {
	for _, t := range []*RuleTally{r.A, r.B} {
		if t != nil {
			diverges, undetermined = max(diverges, uint64(t.Diverges)), max(undetermined, uint64(t.Undetermined))
		}
	}
	return diverges, undetermined
}

// Result is two sides held against each other.
type Result struct {
	Figures []Figure // always the same ones, in the same order
	Rules   []Rule   // that applied to a side; those in which they differ first, then the gravest
	Notes   []string // sentences on what keeps the sides from being compared
}

// Compare sets two sides side by side.
func Compare(a, b *Side) Result {
	r := Result{Figures: make([]Figure, len(kinds)), Notes: notes(a, b)}
	for i := range kinds {
		k := &kinds[i]
		f := Figure{Name: k.name, Title: k.title, Group: k.group, Unit: k.unit, Better: k.better, A: k.read(a), B: k.read(b)}
		if !f.A.Known || !f.B.Known {
			f.Unknown = k.unknown
		}
		r.Figures[i] = f
	}
	for rule := range finding.Rule(finding.RuleCount) {
		one := Rule{Rule: rule}
		if t, ok := a.Rules[rule]; ok {
			one.A = &t
		}
		if t, ok := b.Rules[rule]; ok {
			one.B = &t
		}
		if one.A != nil || one.B != nil {
			r.Rules = append(r.Rules, one)
		}
	}
	slices.SortStableFunc(r.Rules, func(x, y Rule) int {
		if x.Differs() != y.Differs() {
			if x.Differs() {
				return -1
			}
			return 1
		}
		xd, xu := x.gravity()
		yd, yu := y.gravity()
		return cmp.Or(cmp.Compare(yd, xd), cmp.Compare(yu, xu))
	})
	return r
}

// uneven is how much longer one side may last before counts are called incomparable.
const uneven = 1.25

// notes are sentences on what keeps the sides from being compared.
func notes(a, b *Side) []string {
	var out []string
	if a.Lasting.Known && b.Lasting.Known {
		if longer, shorter := max(a.Lasting.N, b.Lasting.N), min(a.Lasting.N, b.Lasting.N); longer > uneven*shorter {
			out = append(out, "One side lasts longer than the other: compare rates and shares, not counts.")
		}
	}
	if a.MetaRoCE != b.MetaRoCE || a.RoCE != b.RoCE {
		out = append(out, "The sides are not of the same transports, so that some figures and rules are of one alone.")
	}
	for i, s := range []*Side{a, b} {
		name := [2]string{"A", "B"}[i]
		if s.Flows == 0 {
			out = append(out, fmt.Sprintf("Side %s has no RDMA traffic.", name))
		}
		if s.Partial {
			out = append(out, fmt.Sprintf("The capture of side %s ended early: what came after is not in its figures.", name))
		}
		if s.CaptureDropped.Known && s.CaptureDropped.N > 0 {
			out = append(out, fmt.Sprintf("The capture of side %s says that it lost %.0f packets, which its figures lack.", name, s.CaptureDropped.N))
		}
	}
	return out
}
