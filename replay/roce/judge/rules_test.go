package judge_test

import (
	"slices"
	"testing"

	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/replay/finding"
)

// example is a rule in three small captures: one that shows it, one that nearly does, and one in which what the capture
// missed, cut or damaged, or the network lost or doubled, imitates it.
type example struct {
	rule           finding.Rule
	shows          func(w *wire)
	nearly         func(w *wire)
	imitated       func(w *wire)
	undetermined   bool // the imitation is called so; otherwise it conforms
	nearlyUnproved bool // what nearly shows it is undetermined; otherwise it conforms
}

func TestRulesByHand(t *testing.T) {
	written := map[finding.Rule]int{}
	for _, x := range slices.Concat(packetExamples, requesterExamples, recoveryExamples, responderExamples, answerExamples) {
		written[x.rule]++
		t.Run(x.rule.String(), func(t *testing.T) {
			if x.shows == nil || x.nearly == nil || x.imitated == nil {
				t.Fatal("not three captures")
			}
			w := newWire(t)
			x.shows(w)
			if v := w.verdict(x.rule); v != finding.Diverges {
				t.Errorf("what shows it: %s; %+v", v, w.report.Tallies[x.rule])
			}
			told := false
			for i := range w.findings {
				f := &w.findings[i]
				if f.Verdict != finding.Diverges {
					continue
				}
				if f.ProofCount == 0 || f.Expected == "" || f.Seen == "" || f.Sentence == "" || f.Endpoint.Address == (dissector.Address{}) {
					t.Errorf("incomplete: %+v", f)
				}
				if f.Rule != x.rule {
					t.Errorf("%s is accused as well: %s", f.Rule, f.Sentence)
				}
				told = told || f.Rule == x.rule
			}
			if !told {
				t.Error("counted, but not told")
			}
			innocent(t, &x, "what nearly shows it", x.nearly, x.nearlyUnproved)
			innocent(t, &x, "the imitation", x.imitated, x.undetermined)
		})
	}
	for r := range finding.Rule(finding.RoCERuleCount) {
		if written[r] != 1 {
			t.Errorf("%s: %d examples", r, written[r])
		}
	}
}

func innocent(t *testing.T, x *example, what string, do func(w *wire), undetermined bool) {
	t.Helper()
	w := newWire(t)
	do(w)
	want := finding.Conforms
	if undetermined {
		want = finding.Undetermined
	}
	if v := w.verdict(x.rule); v != want {
		t.Errorf("%s: %s, want %s; %+v", what, v, want, w.report.Tallies[x.rule])
	}
	for i := range w.findings {
		if f := &w.findings[i]; f.Verdict == finding.Diverges && f.Rule == x.rule {
			t.Errorf("%s: %s", what, f.Sentence)
		}
	}
}
