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
	expectAll(t, report)
}

// expectAll expects that everything passes.
func expectAll(t *testing.T, report *compliance.Report) {
	t.Helper()
	for i := range report.Results {
		r := &report.Results[i]
		if r.Verdict != compliance.Pass {
			t.Errorf("%s: %s after %d runs: expected %s; seen: %s; %v", r.ID, r.Verdict, r.Runs, r.Expected, r.Seen, r.Signs)
		} else if r.Runs > 1 {
			t.Logf("%s: passed in run %d", r.ID, r.Runs)
		}
	}
	if len(report.Results) != len(compliance.Scenarios()) {
		t.Errorf("%d results of %d scenarios", len(report.Results), len(compliance.Scenarios()))
	}
}

// expectNoFailure expects that nothing fails, and that little is left open.
func expectNoFailure(t *testing.T, report *compliance.Report) {
	t.Helper()
	for i := range report.Results {
		if r := &report.Results[i]; r.Verdict == compliance.Fail {
			t.Errorf("%s fails after %d runs: expected %s; seen: %s; %v", r.ID, r.Runs, r.Expected, r.Seen, r.Signs)
		}
	}
	if report.Passed < len(compliance.Scenarios())*9/10 {
		t.Errorf("%d of %d scenarios pass", report.Passed, len(compliance.Scenarios()))
	}
}
