//go:build !race

package compliance_test

import (
	"cmp"
	"flag"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rocelens/rocelens/replay/compliance"
	"github.com/rocelens/rocelens/replay/softmetaroce"
)

// variant is a broken target: what is served, with one deviation from the profile.
type variant struct {
	name     string
	hooks    func() (in, out hook)        // of the proxy in front of it
	config   func(c *softmetaroce.Config) // its own
	patience time.Duration                // of the suite; 250 ms if 0
	fails    string                       // the scenarios that fail, in the order in which they run; all others pass
}

var (
	onlyVariant = flag.String("variant", "", "run only the broken variants whose names contain this")
	atOnce      = flag.Int("variants-at-once", 8, "how many broken variants run at the same time")
	matrix      = flag.Bool("matrix", false, "run all scenarios against each broken variant, not only those that must fail and a share of the others")
)

// share is of how many scenarios that must pass one is run, another for the next variant.
const share = 10

// scenarios are those to be run against the variant of that number.
func (v *variant) scenarios(number int) []compliance.Scenario {
	must := strings.Fields(v.fails)
	var out []compliance.Scenario
	for i, s := range compliance.Scenarios() {
		if *matrix || slices.Contains(must, s.ID) || (i+number)%share == 0 {
			out = append(out, s)
		}
	}
	return out
}

// tries are how often scenarios run that were not decided: on a busy machine the suite rather says nothing.
const tries = 6

// Each broken variant fails exactly the scenarios that it should.
func TestBrokenVariantsFailTheirScenarios(t *testing.T) {
	t.Parallel()
	all := slices.Concat(handshakeVariants(), sentVariants(), heardVariants(), ackVariants(), refusalVariants(), senderVariants(), configuredVariants())
	if len(all) < 40 {
		t.Errorf("%d variants, want 40 or more", len(all))
	}
	left := make([][]compliance.Scenario, len(all))
	slots := make(chan struct{}, *atOnce)
	var running sync.WaitGroup
	for i := range all {
		if strings.Contains(all[i].name, *onlyVariant) {
			running.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				left[i] = all[i].examine(t, all[i].scenarios(i), 1)
			})
		}
	}
	running.Wait()
	for i := range all {
		for try := 2; try <= tries && len(left[i]) > 0; try++ {
			left[i] = all[i].examine(t, left[i], try)
		}
	}
}

// examine runs scenarios against the variant, and returns those that were not decided as they must be. One that fails
// and must not is an error once the variant is alone, since others beside it make timers late, which adds to what is
// broken; at the last try so is one that must fail and does not.
func (v *variant) examine(t *testing.T, scenarios []compliance.Scenario, try int) (left []compliance.Scenario) {
	t.Helper()
	n := network()
	serve(t, host(n, targetBehind), func(c *softmetaroce.Config) {
		c.Paths = 4
		c.RTOInitial = 20 * time.Millisecond
		if v.config != nil {
			v.config(c)
		}
	})
	var in, out hook
	if v.hooks != nil {
		in, out = v.hooks()
	}
	interpose(t, n, in, out)
	report := examine(t, host(n, placeOfTarget), host(n, placeOfSuite), func(c *compliance.Config) {
		c.Timeout = cmp.Or(v.patience, 250*time.Millisecond)
		c.Scenarios = scenarios
	})
	must := strings.Fields(v.fails)
	for i := range report.Results {
		r := &report.Results[i]
		want := compliance.Pass
		if slices.Contains(must, r.ID) {
			want = compliance.Fail
		}
		say := t.Logf
		switch {
		case r.Verdict == want:
			continue
		case r.Verdict == compliance.Fail && try > 1, want == compliance.Fail && try == tries:
			say = t.Errorf
		}
		say("%s: %s: %s in %d runs, want %s; expected %s; seen: %s; %v", v.name, r.ID, r.Verdict, r.Runs, want, r.Expected, r.Seen, r.Signs)
		left = append(left, scenarios[i])
	}
	return left
}
