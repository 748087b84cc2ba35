package compliance_test

import (
	"testing"

	"github.com/rocelens/rocelens/replay/compliance"
)

// What this project serves passes all.
func TestServePassesAll(t *testing.T) {
	t.Parallel()
	n := network()
	serve(t, host(n, 1), nil)
	report := examine(t, host(n, 1), host(n, 2), nil)
	for i := range report.Results {
		r := &report.Results[i]
		if r.Verdict != compliance.Pass {
			t.Errorf("%s: %s after %d runs: expected %s; seen: %s; %v", r.ID, r.Verdict, r.Runs, r.Expected, r.Seen, r.Signs)
		} else if r.Runs > 1 {
			t.Logf("%s: passed in run %d", r.ID, r.Runs)
		}
		if testing.Verbose() {
			t.Logf("%s %v", r.ID, r.Took)
		}
	}
	if len(report.Results) != len(compliance.Scenarios()) {
		t.Errorf("%d results of %d scenarios", len(report.Results), len(compliance.Scenarios()))
	}
}
