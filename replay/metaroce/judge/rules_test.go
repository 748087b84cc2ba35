package judge_test

import (
	"testing"

	"github.com/rocelens/rocelens/replay/finding"
)

// example is a rule in three small captures: one that shows it, one that nearly does, and one in which packets that
// the capture missed, or that were lost or doubled, imitate it.
type example struct {
	rule                   finding.Rule
	shows, nearly, imitate func(w *wire)
	// alone: what packets say of themselves or against each other; no missing packet makes it look so.
	alone bool
}

func TestRulesByHand(t *testing.T) {
	done := map[finding.Rule]bool{}
	for _, list := range [][]example{packetExamples, senderExamples, messageExamples, ackExamples, answerExamples} {
		for _, x := range list {
			done[x.rule] = true
			t.Run(x.rule.String(), func(t *testing.T) {
				w := newWire(t)
				x.shows(w)
				if v := w.verdict(x.rule); v != finding.Diverges {
					t.Errorf("what shows it: %s; %v", v, w.report.Tallies[x.rule])
				}
				found := false
				for _, f := range w.findings {
					if f.Rule == x.rule && f.Verdict == finding.Diverges {
						found = true
						if f.ProofCount == 0 || f.Expected == "" || f.Seen == "" || f.Sentence == "" || !f.Endpoint.HasQP {
							t.Errorf("incomplete: %+v", f)
						}
					}
				}
				if !found {
					t.Error("counted, but not told")
				}
				w = newWire(t)
				x.nearly(w)
				if v := w.verdict(x.rule); v == finding.Diverges {
					t.Errorf("what nearly shows it: %s", w.findings[0].Sentence)
				}
				if x.alone != (x.imitate == nil) {
					t.Fatal("an imitation is missing, or one too many")
				}
				if x.imitate == nil {
					return
				}
				w = newWire(t)
				x.imitate(w)
				if v := w.verdict(x.rule); v == finding.Diverges {
					t.Errorf("what missing packets imitate: %s; %v", v, w.report.Tallies[x.rule])
				}
			})
		}
	}
	for r := range finding.Rule(finding.RuleCount) {
		if r.MetaRoCE() && !done[r] {
			t.Errorf("%s: no example", r)
		}
	}
}
