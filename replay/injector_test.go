package replay_test

import (
	"testing"

	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/injector"
	"github.com/rocelens/rocelens/replay/roce/scenario"
)

// Each rule of RoCE has a deviation.
func TestEveryRuleHasADeviation(t *testing.T) {
	seen := map[finding.Rule]int{}
	for _, d := range injector.Deviations() {
		seen[d.Rule]++
	}
	for r := range finding.Rule(finding.RoCERuleCount) {
		if seen[r] != 1 {
			t.Errorf("%s has %d deviations", r, seen[r])
		}
	}
}

// What deviates is found from wherever it can be seen. `make bench-replay` measures more connections, and captures
// that miss packets.
func TestDeviationsAreFound(t *testing.T) {
	runs := 2
	if underRace() {
		runs = 1
	}
	for _, d := range injector.Deviations() {
		if underRace() && d.Rule%8 != 0 {
			continue // nothing of it is concurrent; `make seeded` looks for all
		}
		t.Run(d.Rule.String(), func(t *testing.T) {
			t.Parallel()
			for _, v := range []scenario.Vantage{scenario.NearRequester, scenario.Middle, scenario.NearResponder} {
				all, err := d.Measure(v, []float64{0}, 1, runs)
				if err != nil {
					t.Fatal(err)
				}
				if o := all[0]; !d.Blind[v] && (o.Connections == 0 || o.Found < o.Connections) {
					t.Errorf("%v: %d of %d found", v, o.Found, o.Connections)
				}
			}
		})
	}
}
