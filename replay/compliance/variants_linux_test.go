package compliance_test

import (
	"flag"
	"fmt"
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
	name   string
	hooks  func() (in, out hook)        // of the proxy in front of it
	config func(c *softmetaroce.Config) // its own
	fails  string                       // the scenarios that fail, in the order in which they run; all others pass
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

// Each broken variant fails exactly the scenarios that it should.
func TestBrokenVariantsFailTheirScenarios(t *testing.T) {
	t.Parallel()
	all := slices.Concat(handshakeVariants(), sentVariants(), heardVariants(), ackVariants(), refusalVariants(), senderVariants(), configuredVariants())
	if len(all) < 40 {
		t.Errorf("%d variants, want 40 or more", len(all))
	}
	got := make([]string, len(all))
	slots := make(chan struct{}, *atOnce)
	var running sync.WaitGroup
	for i := range all {
		if !strings.Contains(all[i].name, *onlyVariant) {
			got[i] = all[i].fails
			continue
		}
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			got[i] = examineVariant(t, &all[i], i)
		})
	}
	running.Wait()
	for i := range all {
		if got[i] != all[i].fails {
			t.Errorf("%s\n  fails %s\n  want  %s", all[i].name, got[i], all[i].fails)
		}
	}
}

// examineVariant is what fails of a variant, one blank between.
func examineVariant(t *testing.T, v *variant, number int) string {
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
		c.Timeout = 250 * time.Millisecond
		c.Scenarios = v.scenarios(number)
	})
	var failed []string
	for i := range report.Results {
		r := &report.Results[i]
		if r.Verdict != compliance.Pass {
			failed = append(failed, r.ID)
		}
		switch {
		case r.Verdict == compliance.Undetermined:
			t.Errorf("%s: %s is undetermined: %s", v.name, r.ID, r.Seen)
		case r.Verdict == compliance.Fail && testing.Verbose():
			t.Logf("%s: %s expected %s; seen: %s (%d runs)", v.name, r.ID, r.Expected, r.Seen, r.Runs)
		}
	}
	if testing.Verbose() {
		fmt.Fprintln(t.Output(), v.name, time.Duration(report.Took))
	}
	return strings.Join(failed, " ")
}
