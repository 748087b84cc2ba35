package injector_test

import (
	"os"
	"testing"

	"github.com/rocelens/rocelens/replay/finding"
	"github.com/rocelens/rocelens/replay/metaroce/injector"
	"github.com/rocelens/rocelens/replay/metaroce/scenario"
)

// Each rule of MetaRoCE has a deviation.
func TestEveryRuleHasADeviation(t *testing.T) {
	seen := map[finding.Rule]int{}
	for _, d := range injector.Deviations() {
		seen[d.Rule]++
	}
	for r := range finding.Rule(finding.RuleCount) {
		if r.MetaRoCE() && seen[r] != 1 {
			t.Errorf("%s has %d deviations", r, seen[r])
		}
	}
}

// What deviates is found wherever the capture is made. `make bench-replay` measures more connections, and captures
// that miss packets.
func TestDeviationsAreFound(t *testing.T) {
	for _, d := range injector.Deviations() {
		if os.Getenv("ROCELENS_RACE") != "" && d.Rule%8 != 0 {
			continue // nothing of it is concurrent; `make seeded` looks for all
		}
		t.Run(d.Rule.String(), func(t *testing.T) {
			t.Parallel()
			all, err := d.Measure([]float64{0}, 1, 1)
			if err != nil {
				t.Fatal(err)
			}
			for place, o := range all {
				if o[0].Found != 1 {
					t.Errorf("not found %s", scenario.PlaceNames[place])
				}
			}
		})
	}
}
